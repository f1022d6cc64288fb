//! Waiting for a set: first come, first served, as far as the sets exclude each other.

use std::time::{Duration, Instant};

use super::error::ClaimsResult;
use super::ledger::Traces;
use super::scope::{Blocker, SetOutcome, SetWanted, Waiter};
use super::store::ClaimStore;
use crate::store::{ProofOfLife, alive_folder};
use crate::sys::watch::{Pauses, Watch};

/// Where a waiter stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing<'a> {
    /// 1 is next: so many, with himself, wait for what excludes his set.
    pub position: usize,
    /// What is in the way.
    pub blockers: &'a [Blocker],
}

/// How long to wait.
pub(crate) struct Patience<'a> {
    /// At most so long, if there is a limit.
    pub(crate) limit: Option<Duration>,
    /// Says that nobody waits any more.
    pub(crate) is_over: &'a dyn Fn() -> bool,
}

impl ClaimStore {
    /// Waits until the set can be granted, at most for `limit` if there is one, and as long as `go_on` says so, which is told
    /// each change of the place.
    ///
    /// Who came first is served first. A waiting writer holds back readers that come later, so nobody waits for ever; sets that
    /// do not exclude each other pass each other by. A waiter whose process is gone is not waited for.
    ///
    /// # Errors
    /// As [`ClaimStore::acquire`]; `LEASE_HOLD_AND_WAIT` when the owner holds something in this scope: two who do that can wait
    /// for each other for ever.
    ///
    /// # If the process dies
    /// While it waits, its place is free at once. Afterwards as [`ClaimStore::acquire`].
    pub fn acquire_within(
        &self,
        wanted: &SetWanted<'_>,
        traces: Traces,
        limit: Option<Duration>,
        go_on: &mut dyn FnMut(&Standing<'_>) -> bool,
    ) -> ClaimsResult<SetOutcome> {
        self.acquire_patiently(wanted, traces, &Patience { limit, is_over: &|| false }, go_on)
    }

    /// The same for a wait that may end by itself as well.
    pub(crate) fn acquire_patiently(
        &self,
        wanted: &SetWanted<'_>,
        traces: Traces,
        patience: &Patience<'_>,
        go_on: &mut dyn FnMut(&Standing<'_>) -> bool,
    ) -> ClaimsResult<SetOutcome> {
        let begun = Instant::now();
        let left = || patience.limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        let mut place = Place { claims: self, proof: self.store().proof_of_life()?, waiter: None };
        let mut told = None;
        let mut watch: Option<(Watch, Pauses)> = None;
        loop {
            // Looking takes no lock: that is for whoever finds the way free, or has no place yet.
            let mut blockers = place.look(wanted)?;
            if blockers.is_empty() {
                blockers = match self.try_in_turn(wanted, traces, &mut place)? {
                    SetOutcome::Blocked(blockers) => blockers,
                    granted => return Ok(granted),
                };
            }
            let position = place.position()?;
            let is_news = told.replace(position) != Some(position);
            let goes_on = !is_news || go_on(&Standing { position, blockers: &blockers });
            if !goes_on || (patience.is_over)() || left().is_some_and(|left| left.is_zero()) {
                return Ok(SetOutcome::Blocked(blockers));
            }
            let (watch, pauses) = watch.get_or_insert_with(|| self.watch());
            pauses.sleep(watch, left());
        }
    }

    /// One try, in the place that the waiter has, or gets if it fails.
    fn try_in_turn(&self, wanted: &SetWanted<'_>, traces: Traces, place: &mut Place<'_>) -> ClaimsResult<SetOutcome> {
        let known = place.waiter.as_ref().map(|waiter| waiter.id.as_str());
        let alive = place.proof.as_ref().map(ProofOfLife::id);
        let mut queued = None;
        let outcome = self.acquire_as(wanted, traces, known, |entered, digest| {
            if known.is_none() {
                queued = Some(entered.enqueue(wanted, digest, alive)?);
            }
            Ok(())
        })?;
        if matches!(outcome, SetOutcome::Granted(_)) {
            place.waiter = None;
        } else if queued.is_some() {
            place.waiter = queued;
        }
        Ok(outcome)
    }

    fn watch(&self) -> (Watch, Pauses) {
        let (owners, alive) = (self.owners(), alive_folder(self.store().dir()));
        let folders: Vec<_> = [self.dir(), &owners, &alive].into_iter().filter(|folder| folder.is_dir()).collect();
        let watch = Watch::new(&folders, vec!["events.jsonl".to_owned()]);
        let pauses = Pauses::new(&watch, None);
        (watch, pauses)
    }
}

/// A place in the queue; given up when dropped.
struct Place<'a> {
    claims: &'a ClaimStore,
    /// Kept as long as somebody may ask whether we live.
    proof: Option<ProofOfLife>,
    waiter: Option<Waiter>,
}

impl Place<'_> {
    /// What is in the way, if the waiter has a place.
    fn look(&self, wanted: &SetWanted<'_>) -> ClaimsResult<Vec<Blocker>> {
        match &self.waiter {
            Some(waiter) => self.claims.look(wanted, &waiter.id),
            None => Ok(Vec::new()),
        }
    }

    /// How many wait for what excludes ours, with us.
    fn position(&self) -> ClaimsResult<usize> {
        let Some(ours) = &self.waiter else { return Ok(1) };
        Ok(position_behind(&self.claims.waiters_before(&ours.id)?, ours))
    }
}

/// The place of a waiter, if these came before him.
pub(super) fn position_behind(before: &[Waiter], ours: &Waiter) -> usize {
    let excludes = |theirs: &&Waiter| {
        let pairs = theirs.claims.iter().flat_map(|theirs| ours.claims.iter().map(move |ours| (theirs, ours)));
        theirs.owner != ours.owner && pairs.into_iter().any(|(theirs, ours)| super::conflicts(theirs, ours))
    };
    before.iter().filter(excludes).count() + 1
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter.take() {
            let _ = self.claims.leave_queue(&waiter.id);
        }
    }
}
