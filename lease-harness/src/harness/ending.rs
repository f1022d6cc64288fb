//! What ends a wait before its time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::{SlotError, SlotErrorKind};
use crate::pool::Stop;
use crate::sys::process::Process;
use crate::sys::signal::{self, Caught};

/// What ends a wait before its time: a signal, that nobody waits for the slot any more, or that the process for which we wait
/// has ended.
///
/// As long as it lives, the signals do not end the process.
#[derive(Clone, Debug)]
pub struct Ending {
    signals: Option<Arc<Mutex<EndingSignal>>>,
    given_up: Option<Arc<AtomicBool>>,
    process: Option<Arc<Process>>,
}

#[derive(Debug)]
struct EndingSignal {
    caught: Caught,
    first: Option<i32>,
}

impl Ending {
    /// Catches SIGINT, SIGTERM, SIGHUP and SIGQUIT, for a program that only waits and then tells of what it got.
    ///
    /// # Errors
    /// When they cannot be caught.
    pub fn on_signals() -> Result<Self, SlotError> {
        Self::new(true, None)
    }

    pub(super) fn new(wanted: bool, given_up: Option<Arc<AtomicBool>>) -> Result<Self, SlotError> {
        let no_signals = |error| SlotError::new(SlotErrorKind::Internal, format!("cannot catch signals: {error}"));
        let caught = wanted.then(Caught::start).transpose().map_err(no_signals)?;
        let signals = caught.map(|caught| Arc::new(Mutex::new(EndingSignal { caught, first: None })));
        Ok(Self { signals, given_up, process: None })
    }

    /// The same, and the end of a process.
    pub(super) fn or_end_of(self, process: Option<Arc<Process>>) -> Self {
        Self { process, ..self }
    }

    /// For commands that run for the slot, if there is anything that could end them.
    #[must_use]
    pub fn stop(&self) -> Option<Stop> {
        let ending = self.clone();
        let can_end = self.signals.is_some() || self.given_up.is_some() || self.process.is_some();
        can_end.then(|| Arc::new(move || ending.is_asked()) as Stop)
    }

    /// Whether the wait is to end.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.signal().is_some()
            || self.given_up.as_ref().is_some_and(|given_up| given_up.load(Ordering::Acquire))
            || self.process.as_ref().is_some_and(|process| process.is_gone())
    }

    /// Forgets the signals that came so far.
    pub fn forget(&self) {
        if let Some(ending) = &self.signals {
            let mut ending = ending.lock().unwrap_or_else(PoisonError::into_inner);
            ending.caught.drain();
            ending.first = None;
        }
    }

    /// The first signal that came.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        let mut ending = self.signals.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let came = ending.caught.drain();
        ending.first = ending.first.or_else(|| (came & signal::END_REQUESTS).iter().next());
        ending.first
    }
}
