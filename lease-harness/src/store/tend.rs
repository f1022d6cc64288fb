//! Keeping a lease alive for somebody who is not there, until somebody else does it or a reason to stop comes up.

use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use super::alive::ProofOfLife;
use super::error::StoreResult;
use super::outcome::{Refreshed, Released};
use super::record::{Found, Record};
use super::{Keeper, LeaseStore, pause_for};
use crate::sys::clock::since_boot;
use crate::sys::process;

/// How often it is looked whether somebody else keeps the lease alive by now.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A lease by what lets one act on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseOf<'a> {
    pub(crate) kind: &'a str,
    pub(crate) owner: &'a str,
    pub(crate) token: &'a str,
}

/// What ends the keeping, besides the lease itself: asked a few times a second, and as soon as one of `news` is readable.
pub(crate) struct Until<'a, R> {
    /// The pause between two heartbeats; a sixth of the lifetime if not given.
    pub(crate) beat_every: Option<Duration>,
    pub(crate) news: &'a [Option<BorrowedFd<'a>>],
    pub(crate) is_over: &'a mut dyn FnMut() -> Option<R>,
}

/// What ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept<R> {
    /// We were to stop; the lease is still ours.
    Until(R),
    /// There is nothing to keep any more.
    Gone(Gone),
}

/// How a lease left our hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// Somebody else keeps it alive now.
    HandedOver,
    /// It is not this lease any more.
    Lost,
}

/// A lease that this process keeps alive, and that names its proof of life if its payload has a place for that.
#[derive(Debug)]
pub(crate) struct Tending<'a> {
    store: &'a LeaseStore,
    lease: LeaseOf<'a>,
    proof: ProofOfLife,
    pause: Duration,
    due: Duration,
    /// Whether the lease names our proof.
    is_named: bool,
    /// The heartbeat that we wrote last, if one of somebody else is a claim.
    written: Option<String>,
}

impl<'a> Tending<'a> {
    /// Goes on with a lease that names this process's proof of life, and is claimed by whoever else sends a heartbeat for it
    /// or takes it over. Nobody else in this process may send one from now on.
    pub(crate) fn until_claimed(store: &'a LeaseStore, lease: LeaseOf<'a>) -> StoreResult<Result<Self, Gone>> {
        let record = match store.heartbeat(lease.kind, lease.owner, lease.token) {
            Ok(Refreshed::Refreshed { record, .. }) => record,
            Ok(_) => return Ok(Err(Gone::Lost)),
            // What cannot be written now can be later; meanwhile the lifetime decides.
            Err(_) => match store.found(lease.kind)? {
                Found::Lease(record) if record.token() == Some(lease.token) => record,
                _ => return Ok(Err(Gone::Lost)),
            },
        };
        let Some(proof) = store.proof_of_life()? else { return Ok(Err(Gone::Lost)) };
        let tending = Self::new(store, lease, proof, &record);
        if !tending.is_named {
            // It was claimed before we came to this.
            return Ok(Err(Gone::HandedOver));
        }
        Ok(Ok(Self { written: record.heartbeat().map(str::to_owned).or_else(|| Some(String::new())), ..tending }))
    }

    /// Takes over a lease that others may send heartbeats for as well.
    pub(crate) fn take_over(store: &'a LeaseStore, lease: LeaseOf<'a>) -> StoreResult<Result<Self, Gone>> {
        let Some(proof) = store.proof_of_life()? else { return Ok(Err(Gone::Lost)) };
        let taken = store.hand_over(lease.kind, lease.owner, lease.token, Keeper::Process(proof.id()))?;
        Ok(match taken {
            Refreshed::Refreshed { record, .. } => Ok(Self::new(store, lease, proof, &record)),
            _ => Err(Gone::Lost),
        })
    }

    fn new(store: &'a LeaseStore, lease: LeaseOf<'a>, proof: ProofOfLife, record: &Record) -> Self {
        let pause = pause_for(record.ttl_minutes().unwrap_or_default());
        let is_named = record.alive() == Some(proof.id());
        Self { store, lease, proof, pause, due: since_boot() + pause, is_named, written: None }
    }

    /// Keeps the lease alive until something ends it.
    pub(crate) fn keep<R>(&mut self, until: Until<'_, R>) -> StoreResult<Kept<R>> {
        if let Some(pause) = until.beat_every {
            self.pause = pause;
            self.due = since_boot();
        }
        loop {
            // What cannot be read now can be later; meanwhile the lifetime decides.
            if let Ok(Some(gone)) = self.look() {
                return Ok(Kept::Gone(gone));
            }
            if let Some(reason) = (until.is_over)() {
                return Ok(Kept::Until(reason));
            }
            if self.due <= since_boot()
                && let Some(gone) = self.beat()
            {
                return Ok(Kept::Gone(gone));
            }
            let next = self.due.saturating_sub(since_boot()).min(LOOK_EVERY);
            if process::sleep_until_readable(until.news, Some(Instant::now() + next)).is_err() {
                thread::sleep(next);
            }
        }
    }

    /// What the lease shows, if it ends the keeping.
    fn look(&self) -> StoreResult<Option<Gone>> {
        let LeaseOf { kind, owner, token } = self.lease;
        let Found::Lease(record) = self.store.found(kind)? else { return Ok(Some(Gone::Lost)) };
        if record.token() != Some(token) {
            return Ok(Some(Gone::Lost));
        }
        if self.is_named && record.alive() != Some(self.proof.id()) {
            return Ok(Some(Gone::HandedOver));
        }
        if self.written.is_some() && record.heartbeat() != self.written.as_deref() {
            // Claimed by a program that does not know proofs of life. Ours would end with this process.
            self.store.hand_over_claimed(kind, owner, token)?;
            return Ok(Some(Gone::HandedOver));
        }
        Ok(None)
    }

    /// One heartbeat, unless somebody else's has come since the last look; what became of the lease if it is not ours any
    /// more. One that could not be written is tried again soon.
    fn beat(&mut self) -> Option<Gone> {
        match self.store.heartbeat_behind(self.lease, self.written.as_deref()) {
            Ok(Refreshed::Refreshed { record, .. }) => {
                if let Some(written) = &mut self.written {
                    record.heartbeat().unwrap_or_default().clone_into(written);
                }
                self.due = since_boot() + self.pause;
                None
            }
            Ok(_) => Some(self.look().ok().flatten().unwrap_or(Gone::Lost)),
            Err(_) => {
                self.due = since_boot() + self.pause / 4;
                None
            }
        }
    }

    /// Gives the lease back unless somebody else keeps it alive by now, even since the last look.
    pub(crate) fn give_back(&self) -> StoreResult<Result<Released, Gone>> {
        let LeaseOf { kind, owner, token } = self.lease;
        let released = match self.is_named {
            true => self.store.release_kept_by(self.lease, self.proof.id(), self.written.as_deref())?,
            false => self.store.release(kind, owner, token)?,
        };
        if let Released::Released { .. } = released {
            return Ok(Ok(released));
        }
        Ok(Err(self.look()?.unwrap_or(Gone::Lost)))
    }
}
