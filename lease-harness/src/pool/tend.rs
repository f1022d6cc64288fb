//! Holding a slot for somebody who is not there: until a deferred request is claimed, or a process has ended.

use std::time::Duration;

use super::Pool;
use super::error::{PoolError, PoolResult};
use super::grant::{self, Grant};
use super::prepare::HeldSlot;
use super::slot::SlotDef;
use crate::json::Json;
use crate::store::{Gone, Keeper, Kept, LeaseOf, Refreshed, Released, Tending, Until};
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
    /// Before this returns the slot is given to the next in line, afterwards nothing changes.
    pub fn leave(&self, held: HeldSlot) -> PoolResult<Grant> {
        let grant = held.grant().clone();
        if self.store.has_additions() {
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
        let why = match tending.keep(Until { news: &[], is_over: &mut is_over })? {
            Kept::Until(why) => why,
            Kept::Gone(gone) => return Ok(gone.into()),
        };
        if !matches!(tending.give_back()?, Released::Released { .. }) {
            return Ok(Tended::HandedOver);
        }
        self.tell_unclaimed(&grant, why, limit);
        self.clear_after(grant.owner());
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
        if took_over() {
            match tending.keep(until)? {
                Kept::Gone(gone) => return Ok(gone.into()),
                Kept::Until(reason) => {
                    let story = [("slot_id", slot.id().clone()), ("owner", owner.into()), ("reason", reason.into())];
                    self.journal("keeping_ended", story);
                }
            }
        }
        self.release(slot, owner, token)?;
        Ok(Tended::GivenBack)
    }
}
