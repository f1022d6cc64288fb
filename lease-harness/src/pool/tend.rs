//! Holding a slot for somebody who is not there: until a deferred request is claimed, or a process has ended.

use std::time::Duration;

use super::Pool;
use super::error::{PoolError, PoolResult};
use super::grant::{self, Grant};
use super::prepare::HeldSlot;
use super::slot::SlotDef;
use crate::json::Json;
use crate::store::{Gone, Keeper, Kept, LeaseOf, Refreshed, Tending, Until};
use crate::sys::clock::since_boot;

/// How holding a slot for somebody else ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tended {
    /// Somebody else keeps its lease alive now.
    HandedOver,
    /// The lease is not ours any more.
    Lost,
    /// The slot was given back.
    GivenBack,
}

impl From<Gone> for Tended {
    fn from(gone: Gone) -> Self {
        match gone {
            Gone::HandedOver => Self::HandedOver,
            Gone::Lost => Self::Lost,
        }
    }
}

/// Why a slot is held no longer for whoever did not come for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unclaimed {
    TimeIsOver,
    Asked,
}

impl Pool {
    /// Lets a slot go on being held without us: our heartbeat ends, and its lease lives by its TTL from now on.
    ///
    /// # Errors
    /// `NotReady` when the lease was lost meanwhile; else when the store cannot be used, and the slot is given back then.
    ///
    /// # If the process dies
    /// Before this returns the slot is given to the next in line, afterwards nothing changes. A slot that was [left from the
    /// beginning](super::Keeping::Nobody) stays in any case.
    pub fn leave(&self, held: HeldSlot) -> PoolResult<Grant> {
        let grant = held.grant().clone();
        if self.store.has_additions() && !held.is_left() {
            let slot = grant.slot();
            let left = self.store.hand_over(slot.kind(), grant.owner(), grant.token(), Keeper::Anybody);
            if left.is_err() {
                let _ = self.store.release(slot.kind(), grant.owner(), grant.token());
            }
            if !matches!(left?, Refreshed::Refreshed { .. }) {
                return Err(self.lost_before_leaving(&grant));
            }
        }
        drop(held);
        Ok(grant)
    }

    fn lost_before_leaving(&self, grant: &Grant) -> PoolError {
        let error = format!("slot {} was lost before it could be handed over", grant.slot().id_text());
        let failure = grant::failure("lease_lost", grant.request_id(), grant.slot(), &error, self.store.now_ms());
        PoolError::not_ready(error, failure)
    }

    /// Keeps the lease of a deferred grant alive until its owner claims it, at most for `limit`; then gives the slot back.
    /// So it is when `is_asked` says that this process is to end.
    pub(crate) fn hold_until_claimed(
        &self,
        held: HeldSlot,
        limit: Duration,
        mut is_asked: impl FnMut() -> bool,
    ) -> PoolResult<Tended> {
        let grant = held.grant().clone();
        // From here on each heartbeat that is not written below is somebody else's.
        drop(held);
        let lease = LeaseOf { kind: grant.slot().kind(), owner: grant.owner(), token: grant.token() };
        let mut tending = match Tending::until_claimed(&self.store, lease)? {
            Ok(tending) => tending,
            Err(gone) => return Ok(gone.into()),
        };
        let end = since_boot().saturating_add(limit);
        let mut is_over = || match () {
            () if is_asked() => Some(Unclaimed::Asked),
            () => (since_boot() >= end).then_some(Unclaimed::TimeIsOver),
        };
        let why = match tending.keep(Until { beat_every: None, news: &[], is_over: &mut is_over })? {
            Kept::Until(why) => why,
            Kept::Gone(gone) => return Ok(gone.into()),
        };
        if let Err(gone) = tending.give_back()? {
            return Ok(gone.into());
        }
        self.tell_unclaimed(&grant, why, limit);
        self.clear_after(grant.owner(), None);
        Ok(Tended::GivenBack)
    }

    fn tell_unclaimed(&self, grant: &Grant, why: Unclaimed, limit: Duration) {
        let reason = match why {
            Unclaimed::TimeIsOver => format!("nobody claimed it within {} s", limit.as_secs_f64()),
            Unclaimed::Asked => "nobody had claimed it when its waiter was ended".to_owned(),
        };
        let story = [
            ("slot_id", grant.slot().id().clone()),
            ("request_id", Json::from(grant.request_id())),
            ("owner", Json::from(grant.owner())),
            ("reason", Json::from(reason)),
        ];
        self.journal("grant_unclaimed", story);
    }

    /// Takes over the duty to keep a slot's lease alive, and gives the slot back when `until` says so, with what the journal
    /// is to say. `took_over` is told when the lease is in our hands; if it answers false, the slot is given back at once.
    pub(crate) fn hold_while(
        &self,
        slot: &SlotDef,
        owner: &str,
        token: &str,
        until: Until<'_, &'static str>,
        took_over: impl FnOnce() -> bool,
    ) -> PoolResult<Tended> {
        let lease = LeaseOf { kind: slot.kind(), owner, token };
        let mut tending = match Tending::take_over(&self.store, lease)? {
            Ok(tending) => tending,
            Err(gone) => return Ok(gone.into()),
        };
        let kept = if took_over() { Some(tending.keep(until)?) } else { None };
        if let Some(Kept::Gone(gone)) = kept {
            return Ok(gone.into());
        }
        let released = match tending.give_back()? {
            Ok(released) => released,
            Err(gone) => return Ok(gone.into()),
        };
        if let Some(Kept::Until(reason)) = kept {
            let story = [("slot_id", slot.id().clone()), ("owner", owner.into()), ("reason", reason.into())];
            self.journal("keeping_ended", story);
        }
        self.after_release(owner, &released);
        Ok(Tended::GivenBack)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::pool::acquire::Request;
    use crate::pool::{Keeping, Mode, Outcome, PoolFile, PoolOptions, SlotWanted};
    use crate::store::{AcquireRequest, LeaseStore, StoreOptions};

    const LONG: Duration = Duration::from_secs(3600);

    fn store(dir: &Path, additions: bool) -> LeaseStore {
        let options = StoreOptions {
            store: Some(dir.join("store")),
            owner_pattern: Some(String::new()),
            additions,
            ..StoreOptions::default()
        };
        LeaseStore::open(&options).expect("a store in a temporary folder opens")
    }

    fn pool(dir: &Path) -> Pool {
        pool_of(dir, r#"{"slots":[{"id":1}]}"#)
    }

    fn pool_of(dir: &Path, text: &str) -> Pool {
        let file = PoolFile::parse(text, &dir.join("pool.json")).expect("the pool file is right");
        Pool::open(file, store(dir, true), PoolOptions::default()).expect("no options")
    }

    fn held(pool: &Pool) -> HeldSlot {
        held_as(pool, Keeping::Here)
    }

    fn held_as(pool: &Pool, keeping: Keeping) -> HeldSlot {
        match pool.acquire(&SlotWanted { keeping, ..SlotWanted::by("acme") }, &mut |_| true).expect("the store is usable") {
            Outcome::Granted(held) => *held,
            other => panic!("it is free: {other:?}"),
        }
    }

    /// Should we die before that, nobody knows of it. What is had at once is left from the beginning, with its grant.
    #[test]
    fn a_slot_that_is_to_be_left_is_ours_as_long_as_it_is_made_ready() {
        let clean = r#"{"slots":[{"id":1}],"provision":"grep -q alive store/slot-1.json || exit 1; :"}"#;
        let at_once = r#"{"slots":[{"id":1}]}"#;
        for (text, keeping, is_ours) in
            [(at_once, Keeping::Here, true), (at_once, Keeping::Nobody, false), (clean, Keeping::Nobody, true)]
        {
            let temp = tempfile::tempdir().unwrap();
            let pool = pool_of(temp.path(), text);
            let alive = || pool.live("slot-1").unwrap().expect("it is held").alive().map(str::to_owned);
            let held = held_as(&pool, keeping);
            let proof = pool.store().proof_of_life().unwrap().expect("this process lives");
            assert_eq!(alive().as_deref() == Some(proof.id()), is_ours, "{text} {keeping:?}");
            let grant = pool.leave(held).unwrap();
            assert_eq!(alive(), None);
            let told = std::fs::read_to_string(pool.grant_path(grant.request_id()).unwrap()).unwrap();
            assert_eq!(Json::parse(&told).unwrap(), grant.to_json());
        }
    }

    /// Behind it there may be something to clear up, and that takes time.
    #[test]
    fn a_slot_of_somebody_who_is_gone_is_not_left_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let pool = pool(temp.path());
        let payload = crate::json::object([("requestId", Json::from("dead"))]);
        let dead = AcquireRequest { kind: "slot-1", owner: "gone", ttl_minutes: 1e-9, payload };
        pool.store().acquire(&dead).unwrap();
        let wanted = SlotWanted { keeping: Keeping::Nobody, ..SlotWanted::by("acme") };
        let request = Request { id: "r".to_owned(), mode: Mode::Blocking, is_queued: false, wanted: &wanted };
        // Its time is over in the next millisecond.
        let take = || pool.take_one_of(&request, pool.file().slots().iter()).unwrap();
        let held = std::iter::repeat_with(take).find_map(|held| held).expect("it is asked until it is had");
        assert!(!held.is_left());
        assert_eq!(pool.leave(held).unwrap().owner(), "acme");
    }

    /// What ends the keeping is asked behind the last look, so whatever it does comes between that look and the release.
    #[test]
    fn a_claim_behind_the_last_look_keeps_the_slot() {
        let temp = tempfile::tempdir().unwrap();
        let (pool, theirs) = (pool(temp.path()), store(temp.path(), false));
        let held = held(&pool);
        let grant = held.grant().clone();
        let mut n_asked = 0;
        let claim_and_end = || {
            n_asked += 1;
            let last = pool.live("slot-1").unwrap().expect("it is held");
            loop {
                match theirs.heartbeat("slot-1", "acme", grant.token()).expect("the store is usable") {
                    // Two heartbeats of one millisecond are the same.
                    Refreshed::Refreshed { record, .. } if record.heartbeat() == last.heartbeat() => {}
                    Refreshed::Refreshed { .. } => break true,
                    other => panic!("{other:?}"),
                }
            }
        };
        assert_eq!(pool.hold_until_claimed(held, LONG, claim_and_end).unwrap(), Tended::HandedOver);
        assert_eq!(n_asked, 1);
        let record = pool.live("slot-1").unwrap().expect("it is still held");
        assert_eq!((record.token(), record.alive()), (Some(grant.token()), None), "it does not end with the waiter");
    }

    #[test]
    fn a_slot_that_another_keeper_took_over_behind_the_last_look_stays_held() {
        let temp = tempfile::tempdir().unwrap();
        let pool = pool(temp.path());
        let grant = pool.leave(held(&pool)).unwrap();
        let slot = pool.slot(Some(&Json::from(1.0))).unwrap();
        let mut is_over = || {
            pool.store().hand_over("slot-1", "acme", grant.token(), Keeper::Anybody).expect("the store is usable");
            Some("the process that it followed has ended")
        };
        let until = Until { beat_every: None, news: &[], is_over: &mut is_over };
        assert_eq!(pool.hold_while(slot, "acme", grant.token(), until, || true).unwrap(), Tended::HandedOver);
        assert_eq!(pool.live("slot-1").unwrap().expect("it is still held").token(), Some(grant.token()));
    }
}
