//! Processes that keep a lease for somebody who is not there: who waits for a deferred request, and who follows a process.
//!
//! They outlive the command that started them, so they are programs of their own: [`spawn`] starts one, and inside of it
//! [`wait_for_claim`] or [`Keeper::keep`] is all that it does.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ending::Ending;
use super::error::{SlotError, SlotErrorKind};
use super::nextest_run::{NextestRun, ask_run_to_end, end_tests_until_run_is_over};
use super::slot::Survivors;
use super::times;
use crate::json::Json;
use crate::pool::{HELD_RUN, NUDGE_MARK, Outcome, Pool, RUN_TOKEN, Requested, SlotDef, SlotWanted, Tended};
use crate::store::{Found, Kept, LeaseOf, LeaseStore, StoreResult, Tending, Until};
use crate::sys::process::{self, Process};

/// Starts `command` as a process that outlives this one: in a session of its own, without a terminal, and with no file of
/// ours but the three standard streams that the command says. It does not work on the slot of whoever starts it, so it is
/// not ended with what does when that slot is lost, nor with the nudge command that may have started it.
///
/// # Errors
/// When it cannot be started.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    process::spawn_detached(command.env_remove(RUN_TOKEN).env_remove(HELD_RUN).env_remove(NUDGE_MARK))
}

/// Lets everything go that a starter may wait for: the null device takes the place of the three standard streams, and the
/// folder that this process was started in is left.
///
/// # Errors
/// When there is no null device.
pub fn let_go() -> io::Result<()> {
    process::let_go()
}

/// Says the last line that a starter waits for, on standard output, and lets everything go that anybody may wait for: the
/// null device takes the place of the three standard streams, and the folder that this process was started in is left. When
/// the line is heard, only standard output is still held.
///
/// # Errors
/// When the line could not be said, so that the starter does not know of it, or there is no null device.
pub fn say_and_let_go(line: &str) -> io::Result<()> {
    process::say_and_let_go(line)
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
    let limit = claim_within.unwrap_or_else(|| times::of_minutes(held.grant().ttl_minutes()));
    Ok(Deferred::Granted(pool.hold_until_claimed(*held, limit, || ending.is_asked())?))
}

/// Follows a process: as long as that one lives, a lease stays alive.
///
/// The process is watched itself, not its number: another one that gets the number later is not mistaken for it. (Where the
/// system has no such watch, only the number can be looked at.)
#[derive(Debug)]
pub struct Keeper {
    process: Arc<Process>,
    ending: Ending,
}

/// What a keeper keeps, in the hands of this owner with this token.
#[derive(Clone, Copy, Debug)]
pub enum Keepsake<'a> {
    /// A slot of a pool, by its id.
    Slot(&'a Pool, &'a Json),
    /// A lease of a store, by its kind.
    Lease(&'a LeaseStore, &'a str),
    /// A slot of a pool, by its id, that the whole followed run of nextest works in; and the pause between two heartbeats, if
    /// it is not to be a sixth of the lifetime.
    RunSlot(&'a Pool, &'a Json, Option<Duration>),
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
        Ok(Self { process: Arc::new(opened.map_err(no_process)?), ending: Ending::on_signals()? })
    }

    /// The same for a run of nextest, to keep a [`Keepsake::RunSlot`].
    ///
    /// # Errors
    /// When signals cannot be caught.
    pub fn follow_run(run: &NextestRun) -> Result<Self, SlotError> {
        Ok(Self { process: Arc::clone(run.process()), ending: Ending::on_signals()? })
    }

    /// The number of the followed process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.number()
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
    /// A run of nextest is not left running without its lease: if that is lost, or this process is told to end, nextest is
    /// asked to end, with a sentence on its standard error; and when it has ended, whatever still carries the grant's token
    /// is ended before the slot is given back. How it ended cannot be seen from here.
    ///
    /// A lease whose payload is no object has no place for a proof of life: should this process die, it lives to its TTL.
    ///
    /// # Errors
    /// When there is no such slot, or the store cannot be used; `Lost` when a run's lease was lost before it was in our hands.
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
        let until = Until { beat_every: None, news: &news, is_over: &mut is_over };
        match keepsake {
            Keepsake::RunSlot(pool, slot_id, beat_every) => {
                let slot = pool.slot(Some(slot_id))?;
                Ok(self.keep_run(pool, RunLease { slot, owner, token, beat_every }, took_over)?)
            }
            Keepsake::Slot(pool, slot_id) => Ok(pool.hold_while(pool.slot(Some(slot_id))?, owner, token, until, took_over)?),
            Keepsake::Lease(store, kind) => Ok(keep_lease(store, LeaseOf { kind, owner, token }, until, took_over)?),
        }
    }

    fn keep_run(&self, pool: &Pool, lease: RunLease<'_>, took_over: impl FnOnce() -> bool) -> Result<Tended, SlotError> {
        let RunLease { slot, owner, token, beat_every } = lease;
        let (nextest, tests) = (&*self.process, Survivors::of(token));
        let news = [nextest.end_fd()];
        let mut is_asked = false;
        let mut is_over = || {
            if !nextest.is_gone() {
                // The lease is kept until nobody works on the slot any more.
                if self.ending.is_asked() && !std::mem::replace(&mut is_asked, true) {
                    ask_run_to_end(nextest, &format!("the keeper of {} was told to end", named(pool, slot)));
                }
                return None;
            }
            // What cannot be ended now is ended by the next one who is granted the slot, or nobody can.
            let _ = tests.end();
            Some("the run of nextest has ended")
        };
        let mut has_begun = false;
        let begun = || {
            has_begun = took_over();
            has_begun
        };
        let until = Until { beat_every, news: &news, is_over: &mut is_over };
        let tended = pool.hold_while(slot, owner, token, until, begun)?;
        if tended == Tended::Lost {
            let lost = format!("the lease of {} was lost: {}", named(pool, slot), holder_of(pool, slot));
            if !has_begun {
                return Err(SlotError::new(SlotErrorKind::Lost, lost));
            }
            ask_run_to_end(nextest, &lost);
            end_tests_until_run_is_over(nextest, &tests);
        }
        Ok(tended)
    }
}

/// The lease of a slot that a run works in.
struct RunLease<'a> {
    slot: &'a SlotDef,
    owner: &'a str,
    token: &'a str,
    beat_every: Option<Duration>,
}

fn named(pool: &Pool, slot: &SlotDef) -> String {
    format!("slot {} of pool {}", slot.id_text(), pool.file().name())
}

/// Who has the slot now.
fn holder_of(pool: &Pool, slot: &SlotDef) -> String {
    match pool.store().found(slot.kind()) {
        Ok(Found::Lease(record)) => format!("{} has it now", record.owner().unwrap_or("somebody")),
        _ => "nobody has it now".to_owned(),
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
