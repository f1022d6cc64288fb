//! Waiting for something to become true.

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits before it gives up. It decides nothing but when a broken program is called broken: no test
/// passes or fails by how long something took on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// The pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(4);

/// Looks until `look` finds something.
///
/// # Panics
///
/// If nothing was found within [`PATIENCE`]; the message names `what`.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        thread::sleep(LOOK_EVERY);
    }
}

/// Looks until `holds` is true.
///
/// # Panics
///
/// As [`until`].
#[track_caller]
pub fn until_true(what: &str, mut holds: impl FnMut() -> bool) {
    until(what, || holds().then_some(()));
}
