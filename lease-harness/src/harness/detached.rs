//! Processes that keep a lease for somebody who is not there: who waits for a deferred request, and who follows a process.
//!
//! They outlive the command that started them, so they are programs of their own: [`spawn`] starts one, and inside of it
//! [`wait_for_claim`] or [`Keeper::keep`] is all that it does.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::ending::Ending;
use super::error::{SlotError, SlotErrorKind};
use crate::json::Json;
use crate::pool::{NUDGE_MARK, Outcome, Pool, RUN_TOKEN, Requested, SlotWanted, Tended};
use crate::store::{Kept, LeaseOf, LeaseStore, StoreResult, Tending, Until};
use crate::sys::process::{self, Process};

/// Starts `command` as a process that outlives this one: in a session of its own, without a terminal, and with no file of
/// ours but the three standard streams that the command says. It does not work on the slot of whoever starts it, so it is
/// not ended with what does when that slot is lost, nor with the nudge command that may have started it.
///
/// # Errors
/// When it cannot be started.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    process::spawn_detached(command.env_remove(RUN_TOKEN).env_remove(NUDGE_MARK))
}

/// Lets everything go that a starter may wait for: the null device takes the place of the three standard streams, and the
/// folder that this process was started in is left.
///
/// # Errors
/// When there is no null device.
pub fn let_go() -> io::Result<()> {
    process::let_go()
}

/// How often it is looked whether a signal has come.
const LOOK_EVERY: Duration = Duration::from_millis(250);

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
    let ending = Ending::on_signals()?;
    let pool = pool.stopped_by(ending.stop());
    let requested = pool.request(wanted)?;
    if let Err(error) = announce(&requested) {
        pool.dequeue(&requested.request_id, wanted.owner)?;
        let message = format!("nobody could be told of request {}: {error}", requested.request_id);
        return Err(SlotError::new(SlotErrorKind::Internal, message));
    }
    let ended = pool.wait_for(&requested, wanted, &mut |_| !ending.is_asked());
    let held = match ended {
        Ok(Outcome::Granted(held)) => held,
        ended => {
            // Nobody hears what we say.
            pool.tell_not_granted(&requested, ended.as_ref());
            return Ok(ended.map(|_| Deferred::NotGranted)?);
        }
    };
    let limit = claim_within.unwrap_or_else(|| minutes(held.grant().ttl_minutes()));
    Ok(Deferred::Granted(pool.hold_until_claimed(*held, limit, || ending.is_asked())?))
}

fn minutes(minutes: f64) -> Duration {
    Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX)
}

/// Follows a process: as long as that one lives, a lease stays alive.
///
/// The process is watched itself, not its number: another one that gets the number later is not mistaken for it. (Where the
/// system has no such watch, only the number can be looked at.)
#[derive(Debug)]
pub struct Keeper {
    process: Process,
    ending: Ending,
}

/// What a keeper keeps, in the hands of this owner with this token.
#[derive(Clone, Copy, Debug)]
pub enum Keepsake<'a> {
    /// A slot of a pool, by its id.
    Slot(&'a Pool, &'a Json),
    /// A lease of a store, by its kind.
    Lease(&'a LeaseStore, &'a str),
}

impl Keeper {
    /// Follows the process that has this number now. From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end this process
    /// but its keeping.
    ///
    /// # Errors
    /// A usage error when there is no such process.
    pub fn follow(process: u32) -> Result<Self, SlotError> {
        let opened = Process::with_number(process).and_then(|process| match process.is_gone() {
            true => Err(io::Error::from(io::ErrorKind::NotFound)),
            false => Ok(process),
        });
        let no_process = |error| SlotError::new(SlotErrorKind::Usage, format!("there is no process {process}: {error}"));
        Ok(Self { process: opened.map_err(no_process)?, ending: Ending::on_signals()? })
    }

    /// Sleeps until there is something to read; false if the followed process, or this one by a signal, is to end before.
    #[must_use]
    pub fn wait_for(&self, input: BorrowedFd<'_>) -> bool {
        loop {
            if self.process.is_gone() || self.ending.is_asked() {
                return false;
            }
            if process::is_readable(input) {
                return true;
            }
            let look = Some(Instant::now() + LOOK_EVERY);
            if process::sleep_until_readable(&[Some(input), self.process.end_fd()], look).is_err() {
                return false;
            }
        }
    }

    /// Takes over the duty to keep a lease alive until the process has ended, and gives it back then; or until somebody else
    /// gives it back or takes it over. `took_over` is told when the lease is in our hands; if it answers false, nobody knows
    /// of that, and it is given back at once.
    ///
    /// A lease whose payload is no object has no place for a proof of life: should this process die, it lives to its TTL.
    ///
    /// # Errors
    /// When there is no such slot, or the store cannot be used.
    ///
    /// # If the process dies
    /// This one: the lease is given to the next in line as soon as a waiter looks. The followed one: it is released.
    pub fn keep(
        self,
        keepsake: Keepsake<'_>,
        owner: &str,
        token: &str,
        took_over: impl FnOnce() -> bool,
    ) -> Result<Tended, SlotError> {
        let news = [self.process.end_fd()];
        let mut is_over = || match () {
            () if self.process.is_gone() => Some("the process that it followed has ended"),
            () if self.ending.is_asked() => Some("its keeper was ended"),
            () => None,
        };
        let until = Until { news: &news, is_over: &mut is_over };
        match keepsake {
            Keepsake::Slot(pool, slot_id) => Ok(pool.hold_while(pool.slot(Some(slot_id))?, owner, token, until, took_over)?),
            Keepsake::Lease(store, kind) => Ok(keep_lease(store, LeaseOf { kind, owner, token }, until, took_over)?),
        }
    }
}

fn keep_lease(
    store: &LeaseStore,
    lease: LeaseOf<'_>,
    until: Until<'_, &str>,
    took_over: impl FnOnce() -> bool,
) -> StoreResult<Tended> {
    let mut tending = match Tending::take_over(store, lease)? {
        Ok(tending) => tending,
        Err(gone) => return Ok(gone.into()),
    };
    if took_over()
        && let Kept::Gone(gone) = tending.keep(until)?
    {
        return Ok(gone.into());
    }
    Ok(match tending.give_back()? {
        Ok(_) => Tended::GivenBack,
        Err(gone) => gone.into(),
    })
}
