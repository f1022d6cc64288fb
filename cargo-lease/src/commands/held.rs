//! Running a command in a slot that we hold, and ending as it ended.

use std::process::{Command, ExitCode};

use lease_harness::harness::{Child, Ended, LossWatch, exit_like};
use lease_harness::{Slot, SlotError, SlotErrorKind, SlotRequest};

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

/// Who started us, and whether the command may outlive him.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartedBy {
    /// Somebody at a shell, who may have said `nohup`.
    Hand,
    /// Cargo or nextest: a test must not outlive its run.
    TestRunner,
}

/// Runs a command in the slot, gives the slot back, and ends as the command ended.
///
/// In a slot that belongs to an outer `cargo lease` there is nothing to keep alive or to give back: this process becomes
/// the command.
///
/// # Errors
///
/// The command could not be started, or the lease was lost, or the slot could not be given back after a command that
/// succeeded.
pub(super) fn run_in(slot: Slot, command: Command, started_by: StartedBy) -> Result<ExitCode, Failure> {
    run_and_leave(slot, command, started_by, |ended| matches!(ended, Some(Ended::Exited(_))))
}

/// The same for a command that only starts what works in the slot: how it ends says little about that, so nothing may stay.
pub(super) fn run_around(slot: Slot, command: Command, started_by: StartedBy) -> Result<ExitCode, Failure> {
    run_and_leave(slot, command, started_by, |_| false)
}

fn run_and_leave(
    slot: Slot,
    command: Command,
    started_by: StartedBy,
    may_leave_processes: impl FnOnce(Option<&Ended>) -> bool,
) -> Result<ExitCode, Failure> {
    if slot.is_joined() {
        return Err(become_command(command));
    }
    let ended = run_watched(command, &[slot.loss_watch()], started_by);
    if !may_leave_processes(ended.as_ref().ok()) {
        // It was cut off, so what it had started may still work on the slot that the next holder is about to get.
        slot.end_survivors().unwrap_or_else(|error| exit::report(&error));
    }
    let released = slot.release();
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
