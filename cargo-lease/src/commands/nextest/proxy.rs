//! Slots that this process holds for the tests of its run, one for each while it lives, so that nothing of ours has to stay
//! beside a test.

use std::process::Command;

use lease_harness::SlotError;
use lease_harness::harness::{Asker, Ended, Ending, RunFolder, SlotProxy, Worktrees};

use super::super::cargo::{AskAt, Holder, Plan, PoolAt};
use super::super::held::run_unless_asked;
use super::super::hold::Guard;
use super::small_runner::SmallRunner;
use crate::exit::{self, Failure};
use crate::resolve::{Surroundings, Wrap};

/// Begins to hold slots for tests, and what their runners are told of that, if that can be done: otherwise each has a process of
/// ours around it.
///
/// A pool's commands run in the surroundings of the test and speak in its output, so that the process around the test starts
/// them; in a slot that belongs to somebody around this run nothing is held at all.
pub(super) fn start(plan: &Plan, folder: &RunFolder, around: &Surroundings) -> Option<(SlotProxy, AskAt)> {
    let Holder::Tests(Some(PoolAt { file, info })) = &plan.holder else { return None };
    if plan.wrap == Wrap::Annotated || info.makes_clean || is_under_grants(around) || !SlotProxy::is_possible() {
        return None;
    }
    // Cargo's configuration takes only text.
    let socket = SlotProxy::socket(folder).into_os_string().into_string().ok()?;
    let (settings, file, worktrees) = (plan.settings.clone(), file.clone(), Worktrees::default());
    let request = move |asker: &Asker| {
        let request = settings.request(&file);
        match settings.session {
            Some(_) => request,
            None => request.session(worktrees.session_text(&asker.folder, asker.package.as_deref(), Some(&asker.what))),
        }
    };
    let proxy = SlotProxy::start(folder, request).ok()?;
    Some((proxy, AskAt { socket, small_runner: SmallRunner::provide() }))
}

/// Whether somebody around us holds slots: who may join them, or keeps them while it waits, does so itself.
pub(in crate::commands) fn is_under_grants(around: &Surroundings) -> bool {
    around.var_os("LEASE_GRANTS").is_some()
}

/// Runs the tests to their end, and gives back what is still held then. A further signal that asks to end makes that faster, and
/// no more, as long as `signals` is there.
///
/// # Errors
///
/// Nextest could not be started, or a slot was lost or could not be given back in a run that would have been a success without.
pub(super) fn run(proxy: SlotProxy, command: Command, signals: &Ending) -> Result<Ended, Failure> {
    let guard = Guard::start(&proxy.told_to_guard())?;
    let ended = run_unless_asked(command, signals);
    // What came meanwhile was for nextest.
    signals.forget();
    let given_back = proxy.end(ended.as_ref().ok(), signals);
    guard.dismiss();
    verdict(ended?, given_back)
}

/// A test that lost its lease has failed by that. Should one have been faster than we were, the run fails.
fn verdict(ended: Ended, given_back: Result<(), Vec<SlotError>>) -> Result<Ended, Failure> {
    let Err(mut failures) = given_back else { return Ok(ended) };
    let first = (ended == Ended::Exited(0)).then(|| failures.remove(0));
    failures.iter().for_each(|failure| exit::report(failure));
    first.map_or(Ok(ended), |failure| Err(failure.into()))
}
