//! Keeping a lease alive for somebody who is not there: until a deferred request is claimed, or a process has ended.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::Pool;
use super::error::{PoolError, PoolResult};
use super::grant::{self, Grant};
use super::prepare::HeldSlot;
use super::slot::SlotDef;
use crate::json::Json;
use crate::store::{self, Found, Keeper, ProofOfLife, Refreshed, Released};
use crate::sys::clock::since_boot;
use crate::sys::process;

/// How often it is looked whether somebody else keeps the lease alive by now.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How keeping a lease alive ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tended {
    /// Somebody else does it now.
    HandedOver,
    /// The lease is not ours any more.
    Lost,
    /// We were told to stop, or the time was over; the slot was given back.
    GivenBack,
}

/// Why this process is to stop keeping a lease alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The time is over.
    TimeIsOver,
    /// Somebody wants this process to end.
    Asked,
    /// The process that the lease follows has ended.
    ProcessEnded,
}

/// A lease that follows a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptLease<'a> {
    pub(crate) slot: &'a SlotDef,
    pub(crate) owner: &'a str,
    pub(crate) token: &'a str,
    pub(crate) ttl_minutes: f64,
}

/// What ends the keeping, besides the lease itself: asked a few times a second, and as soon as one of `news` is readable.
pub(crate) struct Until<'a> {
    pub(crate) news: &'a [Option<BorrowedFd<'a>>],
    pub(crate) is_over: &'a mut dyn FnMut() -> Option<Reason>,
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
    pub(crate) fn hold_until_claimed(&self, held: HeldSlot, limit: Duration, until: Until<'_>) -> PoolResult<Tended> {
        let grant = held.grant().clone();
        let Some(proof) = self.store.proof_of_life()? else { return Ok(Tended::HandedOver) };
        let (slot, owner, token) = (grant.slot(), grant.owner(), grant.token());
        let lease = KeptLease { slot, owner, token, ttl_minutes: grant.ttl_minutes() };
        let mut tending = Tending { claims_count: true, ..Tending::new(self, lease, proof) };
        // From here on each heartbeat that is not written below is somebody else's.
        drop(held);
        if !tending.beat()? {
            return Ok(Tended::Lost);
        }
        let end = since_boot() + limit;
        let Until { news, is_over } = until;
        let mut is_over = || is_over().or_else(|| (since_boot() >= end).then_some(Reason::TimeIsOver));
        match tending.keep(Until { news, is_over: &mut is_over })? {
            Kept::Until(reason) => self.give_back_unclaimed(&tending, grant.request_id(), reason, limit),
            Kept::Over(tended) => Ok(tended),
        }
    }

    fn give_back_unclaimed(&self, tending: &Tending<'_>, request_id: &str, why: Reason, limit: Duration) -> PoolResult<Tended> {
        let KeptLease { slot, owner, token, .. } = tending.lease;
        let released = self.store.release_kept_by(slot.kind(), owner, token, tending.proof.id())?;
        if !matches!(released, Released::Released { .. }) {
            return Ok(Tended::HandedOver);
        }
        let reason = match why {
            Reason::TimeIsOver => format!("nobody claimed it within {} s", limit.as_secs_f64()),
            _ => "nobody had claimed it when its waiter was ended".to_owned(),
        };
        let story = [
            ("slot_id", slot.id().clone()),
            ("request_id", Json::from(request_id)),
            ("owner", Json::from(owner)),
            ("reason", Json::from(reason)),
        ];
        self.journal("grant_unclaimed", story);
        self.clear_after(owner);
        Ok(Tended::GivenBack)
    }

    /// Takes over the duty to keep a slot's lease alive, and gives the slot back when `until` says so. `took_over` is told
    /// when the lease is in our hands; if it answers false, the slot is given back at once.
    pub(crate) fn hold_while(
        &self,
        lease: KeptLease<'_>,
        until: Until<'_>,
        took_over: impl FnOnce() -> bool,
    ) -> PoolResult<Tended> {
        let Some(proof) = self.store.proof_of_life()? else { return Ok(Tended::HandedOver) };
        let KeptLease { slot, owner, token, .. } = lease;
        let taken = self.store.hand_over(slot.kind(), owner, token, Keeper::Process(proof.id()))?;
        if !matches!(taken, Refreshed::Refreshed { .. }) {
            return Ok(Tended::Lost);
        }
        let mut tending = Tending::new(self, lease, proof);
        if took_over() {
            match tending.keep(until)? {
                Kept::Over(tended) => return Ok(tended),
                Kept::Until(Reason::ProcessEnded) => {
                    self.journal("kept_process_ended", [("slot_id", slot.id().clone()), ("owner", Json::from(owner))]);
                }
                Kept::Until(_) => {}
            }
        }
        self.release(slot, owner, token)?;
        Ok(Tended::GivenBack)
    }
}

/// A lease that this process keeps alive, and that names its proof of life.
struct Tending<'a> {
    pool: &'a Pool,
    lease: KeptLease<'a>,
    proof: ProofOfLife,
    pause: Duration,
    due: Duration,
    /// Whether a heartbeat of somebody else is a claim.
    claims_count: bool,
    /// The heartbeat that we wrote last.
    written: String,
}

/// What ended it.
enum Kept {
    Until(Reason),
    Over(Tended),
}

impl<'a> Tending<'a> {
    fn new(pool: &'a Pool, lease: KeptLease<'a>, proof: ProofOfLife) -> Self {
        let pause = store::pause_for(lease.ttl_minutes);
        Self { pool, lease, proof, pause, due: since_boot() + pause, claims_count: false, written: String::new() }
    }

    fn keep(&mut self, until: Until<'_>) -> PoolResult<Kept> {
        loop {
            if let Some(tended) = self.look()? {
                return Ok(Kept::Over(tended));
            }
            if let Some(reason) = (until.is_over)() {
                return Ok(Kept::Until(reason));
            }
            if self.due <= since_boot() && !self.beat()? {
                return Ok(Kept::Over(Tended::Lost));
            }
            let next = self.due.saturating_sub(since_boot()).min(LOOK_EVERY);
            process::sleep_until_readable(until.news, Some(Instant::now() + next))
                .map_err(|error| PoolError::internal(format!("cannot wait for the end of a process: {error}")))?;
        }
    }

    /// What the lease shows, if it ends the keeping.
    fn look(&self) -> PoolResult<Option<Tended>> {
        let KeptLease { slot, owner, token, .. } = self.lease;
        let Found::Lease(record) = self.pool.store.found(slot.kind())? else { return Ok(Some(Tended::Lost)) };
        if record.token() != Some(token) {
            return Ok(Some(Tended::Lost));
        }
        if record.alive() != Some(self.proof.id()) {
            return Ok(Some(Tended::HandedOver));
        }
        if self.claims_count && record.heartbeat() != Some(&self.written) {
            // A program that does not know proofs of life has claimed it. Ours would end with this process.
            self.pool.store.hand_over_claimed(slot.kind(), owner, token)?;
            return Ok(Some(Tended::HandedOver));
        }
        Ok(None)
    }

    /// One heartbeat; false if the lease is not ours any more. One that could not be written is tried again soon.
    fn beat(&mut self) -> PoolResult<bool> {
        let KeptLease { slot, owner, token, .. } = self.lease;
        match self.pool.store.heartbeat(slot.kind(), owner, token) {
            Ok(Refreshed::Refreshed { record, .. }) => {
                record.heartbeat().unwrap_or_default().clone_into(&mut self.written);
                self.due = since_boot() + self.pause;
                Ok(true)
            }
            Ok(_) => Ok(false),
            Err(_) => {
                self.due = since_boot() + self.pause / 4;
                Ok(true)
            }
        }
    }
}
