//! A run of nextest that a lease belongs to: found from inside of it, watched, and ended when its lease is lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{SlotError, SlotErrorKind};
use super::slot::Survivors;
use crate::sys::clock::is_uuid;
use crate::sys::process::{self, Process, sleep_until_readable};

/// By which variable nextest tells whatever it starts of which run it is.
const RUN_ID: &str = "NEXTEST_RUN_ID";
/// How often it is looked for processes that work on under a lost lease, until the run has ended.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The run of nextest that started this process, itself or through others.
///
/// The process is watched itself, not its number: another one that gets the number later is not mistaken for it. (Where the
/// system has no such watch, only the number can be looked at.)
#[derive(Clone, Debug)]
pub struct NextestRun {
    id: String,
    process: Arc<Process>,
}

impl NextestRun {
    /// Finds the run with this id, the value of `NEXTEST_RUN_ID`.
    ///
    /// Nextest gives that variable to whatever it starts and does not have it itself, so it is the nearest ancestor without
    /// it; a shell between nextest and this process has it.
    ///
    /// # Errors
    /// A usage error when that is not a run's id, or the ancestor is not nextest: it has ended, or whoever it had started has.
    pub fn find(id: &str) -> Result<Self, SlotError> {
        let usage = |message: String| SlotError::new(SlotErrorKind::Usage, message);
        if !is_uuid(id) {
            return Err(usage(format!("{RUN_ID} '{id}': expected a UUID, as nextest sets it")));
        }
        let process =
            process::who_set(RUN_ID, id).map_err(|error| usage(format!("cannot find the process of nextest: {error}")))?;
        let line = process.command_line();
        if let Some(line) = line.filter(|line| !line.contains("nextest")) {
            let number = process.number();
            return Err(usage(format!(
                "cannot find the process of nextest: above this one is process {number} ({line}); start it in the foreground of a \
                 setup script"
            )));
        }
        Ok(Self { id: id.to_owned(), process: Arc::new(process) })
    }

    /// Its id: another for every run.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.process.is_gone()
    }

    pub(super) fn process(&self) -> &Arc<Process> {
        &self.process
    }
}

/// Ends the run in whose process the lease was lost: asks nextest to end, and says why where nextest speaks to people.
pub(super) fn ask_run_to_end(nextest: &Process, why: &str) {
    // Whoever cannot be told has ended, or belongs to somebody else; then what is left to us is to end the tests.
    let _ = nextest.say_for_it(&format!("error: {why}; this run of nextest is ended"));
    let _ = nextest.ask_to_end();
}

/// Ends whatever works under a lost lease, again and again until the run has ended: it may just be starting a test.
pub(super) fn end_tests_until_run_is_over(nextest: &Process, tests: &Survivors) {
    let mut is_over = false;
    while !is_over {
        // Looked before, so that the last round comes behind its end.
        is_over = nextest.is_gone();
        // A process that would not end now may do so in the next round.
        let _ = tests.end();
        let next = Instant::now() + LOOK_EVERY;
        if !is_over && sleep_until_readable(&[nextest.end_fd()], Some(next)).is_err() {
            std::thread::sleep(LOOK_EVERY);
        }
    }
}
