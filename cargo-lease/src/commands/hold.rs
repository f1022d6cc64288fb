//! Slots that are held for a whole run: taken before it, lent to one test process after the other, given back behind it.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread;

use lease_harness::harness::{BetweenTests, Ended, HeldRun, detached, guard_run, session_text};
use lease_harness::{Slot, SlotError, SlotRequest, Wait};

use super::cargo::{PoolAt, own_program};
use super::held::{StartedBy, acquire, outcome, run_watched};
use crate::cli;
use crate::exit::{self, Failure};
use crate::resolve::{Settings, Surroundings};

/// The slots of a run that is about to begin.
pub(super) struct HeldSlots {
    slots: Vec<Slot>,
}

impl HeldSlots {
    /// Waits for one slot, and takes as many others as are useful and free.
    ///
    /// # Errors
    ///
    /// The first could not be had, or a signal asked us to end; none is held then.
    pub(super) fn take(settings: &Settings, pool: &PoolAt, n_useful: usize) -> Result<Self, Failure> {
        let request = || settings.request(&pool.file);
        let mut slots = vec![acquire(request())?];
        if slots[0].is_joined() {
            return Ok(Self { slots });
        }
        let n_wanted = n_useful.min(pool.info.slots);
        slots.extend(take_free(n_wanted - 1, request)?);
        if slots.len() < n_wanted {
            let (n_held, pool) = (slots.len(), &pool.info.name);
            let which = format!("{n_held} of the {n_wanted} slots of pool {pool} that would be of use");
            exit::note(&format!("this run holds {which}: no more are free"));
        }
        Ok(Self { slots })
    }

    /// How many there are.
    pub(super) fn n_slots(&self) -> usize {
        self.slots.len()
    }

    /// Runs the tests and gives the slots back; how the run ended.
    ///
    /// # Errors
    ///
    /// The command could not be started, or a lease was lost, or a slot could not be given back after a run that succeeded.
    pub(super) fn run(self, mut command: Command, between: BetweenTests) -> Result<Ended, Failure> {
        let run = HeldRun::of(self.slots, between)?;
        command.envs(run.envs());
        let guard = match Guard::start(&run.told_to_guard()) {
            Ok(guard) => guard,
            Err(failure) => {
                run.give_back(None).unwrap_or_else(|error| exit::report(&error));
                return Err(failure);
            }
        };
        let ended = run_watched(command, &run.loss_watches(), StartedBy::Hand);
        let given_back = run.give_back(ended.as_ref().ok());
        guard.dismiss();
        outcome(ended, given_back)
    }
}

/// How a slot is asked for that a whole run holds: it says of which, if nobody said otherwise.
pub(super) fn for_run(settings: &Settings, what: &str, around: &Surroundings) -> Settings {
    let said = settings.session.clone();
    let session = said.unwrap_or_else(|| session_text(Some(&around.cwd), None, Some(&format!("{what}, the whole run"))));
    Settings { session: Some(session), ..settings.clone() }
}

/// Takes up to so many free slots, all at once: each may take a while to be made ready.
///
/// Those that could not be made ready are complained of and left out; the run has one already.
fn take_free(n_slots: usize, request: impl Fn() -> SlotRequest + Sync) -> Result<Vec<Slot>, Failure> {
    let take = || request().leave_on_signals().wait(Wait::No).acquire();
    let taken: Vec<Result<Slot, SlotError>> = thread::scope(|scope| {
        let takers: Vec<_> = (0..n_slots).map(|_| scope.spawn(take)).collect();
        takers.into_iter().map(|taker| taker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let mut slots = Vec::new();
    for taken in taken {
        match taken {
            Ok(slot) => slots.push(slot),
            Err(error) if error.signal().is_some() => return Err(error.into()),
            Err(error) if is_saturated(&error) => {}
            Err(error) => exit::report(&error),
        }
    }
    Ok(slots)
}

fn is_saturated(error: &SlotError) -> bool {
    error.answer().and_then(|answer| answer.get("code")?.as_str()) == Some("saturated")
}

/// A process that sees to the end of the run's tests, should this process be killed. It learns of that by the end of the
/// pipe through which it is told what there is to end.
pub(super) struct Guard {
    process: Child,
    tell: ChildStdin,
}

impl Guard {
    pub(super) fn start(told: &str) -> Result<Self, Failure> {
        let program = own_program()?;
        let mut command = Command::new(&program);
        // It is in nobody's way: no folder is kept busy, no output open.
        command.arg(cli::GUARD).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let cannot = |error: io::Error| Failure::start(program.as_os_str(), error);
        let mut process = detached::spawn(&mut command).map_err(cannot)?;
        let mut tell = process.stdin.take().expect("piped");
        tell.write_all(told.as_bytes()).map_err(cannot)?;
        Ok(Self { process, tell })
    }

    /// Nothing is left to do for it. If it is gone already, that is no trouble of the run's.
    pub(super) fn dismiss(mut self) {
        let _ = self.tell.write_all(HeldRun::last_told_to_guard().as_bytes());
        drop(self.tell);
        let _ = self.process.wait();
    }
}

/// What the process of the guard does.
pub(super) fn guard() -> ExitCode {
    guard_run(io::stdin().lock());
    ExitCode::SUCCESS
}
