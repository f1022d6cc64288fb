//! Processes that keep a lease for somebody who is not there: who waits for a deferred request, and who follows a process.
//!
//! They outlive the command that started them, so they are programs of their own: [`spawn`] starts one, and inside of it
//! [`wait_for_claim`] or [`Keeper::keep`] is all that it does.

use std::io;
use std::process::{Child, Command};
use std::time::Duration;

use super::error::{SlotError, SlotErrorKind};
use super::request::Ending;
use crate::json::Json;
use crate::pool::{KeptLease, Outcome, Pool, PoolError, Reason, Requested, SlotWanted, Tended, Until};
use crate::store::Found;
use crate::sys::process::{self, Process};

/// Starts `command` as a process that outlives this one: in a session of its own, without a terminal, and with no file of
/// ours but the three standard streams that the command says.
///
/// # Errors
/// When it cannot be started.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    process::spawn_detached(command)
}

/// Puts the null device in the place of this process's standard streams, and leaves the folder it was started in. For a
/// process that has said all that its starter waits for.
///
/// # Errors
/// When there is no null device.
pub fn let_go() -> io::Result<()> {
    process::let_go()
}

/// How waiting for a deferred request ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Deferred {
    /// It was granted; this is what became of the grant.
    Granted(Tended),
    /// It was not: the time to wait was over, its entry was removed, it was cancelled, or this process was told to end.
    NotGranted,
}

/// Queues a request, waits for its turn, has its slot made ready, tells its session by a nudge, and keeps the lease alive
/// until its owner claims it, at most for `claim_within` (default: the lease's lifetime); then it gives the slot back.
///
/// `announce` is told as soon as the request is queued; if it fails, nobody knows of the request, and it leaves the queue.
/// SIGINT, SIGTERM, SIGHUP and SIGQUIT end the wait, or give an unclaimed slot back.
///
/// # Errors
/// When the request could not be queued, or its slot not be made ready; the grant's file tells of the latter.
///
/// # If the process dies
/// Its place in the queue is dropped, or its slot given to the next in line, as soon as another waiter looks.
pub fn wait_for_claim(
    pool: &Pool,
    wanted: &SlotWanted<'_>,
    claim_within: Option<Duration>,
    announce: impl FnOnce(&Requested) -> io::Result<()>,
) -> Result<Deferred, SlotError> {
    let ending = Ending::new(true, None)?;
    let pool = pool.stopped_by(ending.stop());
    let requested = pool.request(wanted)?;
    if let Err(error) = announce(&requested) {
        pool.dequeue(&requested.request_id, wanted.owner)?;
        let message = format!("nobody could be told of request {}: {error}", requested.request_id);
        return Err(SlotError::new(SlotErrorKind::Internal, message));
    }
    let outcome = pool.wait_for(&requested, wanted, &mut |_| !ending.is_asked())?;
    let Outcome::Granted(held) = outcome else {
        pool.tell_not_granted(&requested, &outcome);
        return Ok(Deferred::NotGranted);
    };
    let limit = claim_within.unwrap_or_else(|| minutes(held.grant().ttl_minutes()));
    let mut is_over = || ending.is_asked().then_some(Reason::Asked);
    let until = Until { news: &[], is_over: &mut is_over };
    Ok(Deferred::Granted(pool.hold_until_claimed(*held, limit, until)?))
}

fn minutes(minutes: f64) -> Duration {
    Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX)
}

/// A lease that somebody has, as its grant tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptGrant {
    /// The slot.
    pub slot_id: Json,
    /// Who holds it.
    pub owner: String,
    /// The lease's token.
    pub token: String,
}

/// Follows a process: as long as that one lives, a lease stays alive.
///
/// The process is watched itself, not its number: another one that gets the number later is not mistaken for it. (Where the
/// system has no such watch, only the number can be looked at.)
#[derive(Debug)]
pub struct Keeper {
    process: Process,
}

impl Keeper {
    /// Follows the process that has this number now.
    ///
    /// # Errors
    /// A usage error when there is no such process.
    pub fn follow(process: u32) -> Result<Self, SlotError> {
        let opened = Process::with_number(process).and_then(|process| match process.is_gone() {
            true => Err(io::Error::from(io::ErrorKind::NotFound)),
            false => Ok(process),
        });
        let no_process = |error| SlotError::new(SlotErrorKind::Usage, format!("there is no process {process}: {error}"));
        Ok(Self { process: opened.map_err(no_process)? })
    }

    /// Takes over the duty to keep a lease alive until the process has ended, or the lease is released; gives the slot back
    /// in the first case. `took_over` is told when the lease is in our hands; if it answers false, nobody knows of that, and
    /// the slot is given back at once. SIGINT, SIGTERM, SIGHUP and SIGQUIT give it back, too.
    ///
    /// # Errors
    /// When there is no such slot, or the store cannot be used.
    ///
    /// # If the process dies
    /// This one: the slot is given to the next in line as soon as a waiter looks. The followed one: it is released.
    pub fn keep(self, pool: &Pool, grant: &KeptGrant, took_over: impl FnOnce() -> bool) -> Result<Tended, SlotError> {
        let ending = Ending::new(true, None)?;
        let slot = pool.slot(Some(&grant.slot_id))?;
        let Found::Lease(record) = pool.store().found(slot.kind()).map_err(PoolError::from)? else { return Ok(Tended::Lost) };
        let ttl_minutes = record.ttl_minutes().unwrap_or_default();
        let lease = KeptLease { slot, owner: &grant.owner, token: &grant.token, ttl_minutes };
        let news = [self.process.end_fd()];
        let mut is_over = || match () {
            () if self.process.is_gone() => Some(Reason::ProcessEnded),
            () if ending.is_asked() => Some(Reason::Asked),
            () => None,
        };
        Ok(pool.hold_while(lease, Until { news: &news, is_over: &mut is_over }, took_over)?)
    }
}
