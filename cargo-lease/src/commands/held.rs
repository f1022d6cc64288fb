//! Running a command in a slot or under claims that we hold, and ending as it ended.

use std::process::{Command, ExitCode};

use lease_harness::harness::{Asked, Child, Ended, Ending, LossWatch, Waiting, exit_like};
use lease_harness::{ClaimRequest, ClaimSet, Slot, SlotError, SlotErrorKind, SlotRequest};

use super::cargo::become_command;
use crate::exit::{self, Failure};
use crate::render::WaitReport;

/// Waits for a slot, telling people where it stands. A signal that asks us to end ends the wait.
pub(super) fn acquire(request: SlotRequest) -> Result<Slot, SlotError> {
    let report = WaitReport::on_stderr();
    let slot = request.leave_on_signals().on_wait(report.listener()).acquire();
    report.finish();
    slot
}

/// Asks the process that holds the slots of the run's tests, and waits for the answer, telling people where it stands.
pub(super) fn ask(ask: impl FnOnce(&mut dyn FnMut(&Waiting)) -> Asked) -> Asked {
    let report = WaitReport::on_stderr();
    let asked = ask(&mut report.listener());
    report.finish();
    asked
}

/// Waits for a set of claims, telling people where it stands. A signal that asks us to end ends the wait.
pub(super) fn acquire_claims(request: ClaimRequest) -> Result<ClaimSet, SlotError> {
    let report = WaitReport::on_stderr();
    let set = request.leave_on_signals().on_wait(report.claims_listener()).acquire();
    report.finish();
    set
}

/// What a command works under.
pub(super) struct Held {
    pub(super) slot: Option<Slot>,
    pub(super) claims: Option<ClaimSet>,
}

impl From<Slot> for Held {
    fn from(slot: Slot) -> Self {
        Self { slot: Some(slot), claims: None }
    }
}

impl Held {
    /// Whether all of it belongs to somebody around us.
    fn is_joined(&self) -> bool {
        self.slot.as_ref().is_none_or(Slot::is_joined) && self.claims.as_ref().is_none_or(ClaimSet::is_joined)
    }

    fn loss_watches(&self) -> Vec<LossWatch> {
        let of_slot = self.slot.iter().map(Slot::loss_watch);
        of_slot.chain(self.claims.iter().map(ClaimSet::loss_watch)).collect()
    }

    fn end_survivors(&self) -> Result<(), SlotError> {
        let claims = self.claims.as_ref().map_or(Ok(()), ClaimSet::end_survivors);
        self.slot.as_ref().map_or(Ok(()), Slot::end_survivors).and(claims)
    }

    /// Gives back what is ours: what was taken last, first.
    fn release(self) -> Result<(), SlotError> {
        let claims = self.claims.map_or(Ok(()), ClaimSet::release);
        self.slot.map_or(Ok(()), Slot::release).and(claims)
    }
}

/// Who started us, and whether the command may outlive him.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartedBy {
    /// Somebody at a shell, who may have said `nohup`.
    Hand,
    /// Cargo or nextest: a test must not outlive its run.
    TestRunner,
}

/// Runs a command under what is held, gives that back, and ends as the command ended.
///
/// In a slot and under claims that belong to an outer `cargo lease` there is nothing to keep alive or to give back: this process
/// becomes the command.
///
/// # Errors
///
/// The command could not be started, or the lease was lost, or the slot could not be given back after a command that
/// succeeded.
pub(super) fn run_in(held: impl Into<Held>, command: Command, started_by: StartedBy) -> Result<ExitCode, Failure> {
    run_and_leave(held.into(), command, started_by, |ended| matches!(ended, Some(Ended::Exited(_))))
}

/// The same for a command that only starts what works in the slot: how it ends says little about that, so nothing may stay.
pub(super) fn run_around(slot: Slot, command: Command, started_by: StartedBy) -> Result<ExitCode, Failure> {
    run_and_leave(slot.into(), command, started_by, |_| false)
}

fn run_and_leave(
    held: Held,
    command: Command,
    started_by: StartedBy,
    may_leave_processes: impl FnOnce(Option<&Ended>) -> bool,
) -> Result<ExitCode, Failure> {
    if held.is_joined() {
        return Err(become_command(command));
    }
    let ended = run_watched(command, &held.loss_watches(), started_by);
    if !may_leave_processes(ended.as_ref().ok()) {
        // It was cut off, so what it had started may still work on the slot that the next holder is about to get.
        held.end_survivors().unwrap_or_else(|error| exit::report(&error));
    }
    let released = held.release();
    Ok(exit_like(&outcome(ended, released)?))
}

/// How a command has ended, once its slots are given back. That they could not be is told by an error where nothing else is.
///
/// # Errors
///
/// As of the command; a lease was lost; the slots could not be given back after a command that succeeded.
pub(super) fn outcome(ended: Result<Ended, Failure>, given_back: Result<(), SlotError>) -> Result<Ended, Failure> {
    let ended = ended?;
    if let Ended::Lost(sentence) = &ended {
        return Err(Failure::lost(sentence));
    }
    if let Err(error) = given_back {
        if error.kind() == SlotErrorKind::Lost || ended == Ended::Exited(0) {
            return Err(error.into());
        }
        exit::report(&error);
    }
    Ok(ended)
}

/// Runs a command to its end, which it also meets if one of these leases is lost; with none it is only waited for.
///
/// # Errors
///
/// The command could not be started.
pub(super) fn run_watched(command: Command, watches: &[LossWatch], started_by: StartedBy) -> Result<Ended, Failure> {
    let program = command.get_program().to_owned();
    let child = match started_by {
        StartedBy::Hand => Child::new(command).heed_nohup(),
        StartedBy::TestRunner => Child::new(command),
    };
    child.run(watches).map_err(|error| Failure::start(&program, error))
}

/// The same for a command of somebody at a shell, which is not started if a signal has asked us to end before.
pub(super) fn run_unless_asked(command: Command, ending: &Ending) -> Result<Ended, Failure> {
    let program = command.get_program().to_owned();
    let child = Child::new(command).heed_nohup().unless_asked(ending);
    child.run(&[]).map_err(|error| Failure::start(&program, error))
}
