//! Waiting, for people: a spinner on a terminal, else a line each time the place changes.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lease_harness::Waiting;
use lease_harness::claims::Standing;

use super::time::about_minutes;

/// How often the spinner turns.
const TURN_EVERY: Duration = Duration::from_millis(120);

/// Tells on standard error where a waiter stands.
pub(crate) struct WaitReport {
    /// Hidden until there is something to wait for; none where nobody watches a screen.
    spinner: Option<ProgressBar>,
}

impl WaitReport {
    pub(crate) fn on_stderr() -> Self {
        let spinner = io::stderr().is_terminal().then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()));
        Self { spinner }
    }

    /// What is to be called each time the place in the queue changes.
    pub(crate) fn listener(&self) -> impl FnMut(&Waiting) + Send + 'static {
        let spinner = self.spinner.clone();
        move |waiting| match &spinner {
            Some(spinner) => turn(spinner, message(waiting)),
            None if waiting.is_for_turn => {
                tell(&format!("pool {}: waits for a slot of its run, all of them are in use", waiting.pool));
            }
            None => tell_place(waiting.position, waiting.eta.as_secs_f64() * 1e3),
        }
    }

    /// The same for a set of claims.
    pub(crate) fn claims_listener(&self) -> impl FnMut(&Standing<'_>) + Send + 'static {
        let spinner = self.spinner.clone();
        move |standing| match &spinner {
            Some(spinner) => turn(spinner, format!("waiting for claims: {}", claims_place(standing))),
            None => tell_claims_place(standing),
        }
    }

    /// Takes the spinner off the screen; its thread has ended afterwards.
    pub(crate) fn finish(self) {
        if let Some(spinner) = self.spinner {
            spinner.disable_steady_tick();
            spinner.finish_and_clear();
        }
    }
}

fn turn(spinner: &ProgressBar, message: String) {
    if spinner.is_hidden() {
        spinner.set_style(ProgressStyle::default_spinner());
        spinner.set_draw_target(ProgressDrawTarget::stderr());
        spinner.enable_steady_tick(TURN_EVERY);
    }
    spinner.set_message(message);
}

fn message(waiting: &Waiting) -> String {
    if waiting.is_for_turn {
        return format!("waiting for a slot of pool {} that this run holds", waiting.pool);
    }
    let eta = about_minutes(waiting.eta.as_secs_f64() * 1e3);
    format!("waiting for a slot of pool {}: place {}, {eta}", waiting.pool, waiting.position)
}

/// Tells on standard error at which place a waiter stands, and about how many milliseconds it will take.
pub(crate) fn tell_place(position: usize, eta_ms: f64) {
    tell(&format!("pool saturated — queue position {position}, eta {}", about_minutes(eta_ms)));
}

fn tell(line: &str) {
    // Where standard error is gone there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "… {line}");
}

/// Tells on standard error where a waiter for claims stands.
pub(crate) fn tell_claims_place(standing: &Standing<'_>) {
    let _ = writeln!(io::stderr().lock(), "… {}", claims_place(standing));
}

fn claims_place(standing: &Standing<'_>) -> String {
    let in_the_way = standing.blockers.first().map(ToString::to_string).unwrap_or_default();
    format!("queue position {}: {in_the_way}", standing.position)
}
