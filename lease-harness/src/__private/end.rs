//! How a process with leased tests ends: slots given back, and never green after a loss.

use std::io::{self, Write as _};
use std::panic;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;

use super::request::explain;
#[cfg(feature = "claims")]
use crate::harness::ClaimSet;
use crate::harness::{LossWatch, Slot, SlotErrorKind, at_exit, exit_now};

/// The exit code of a process whose lease was lost.
const LOST: i32 = 75;
/// Libtest's exit code when a test failed.
const FAILED: i32 = 101;

/// The code this process ends with whatever else it says; 0 is none.
static FORCED_CODE: AtomicI32 = AtomicI32::new(0);

/// The slots that are given back when the process exits, with the process that holds them: a fork that exits must not give
/// back what belongs to its parent.
static HELD: Mutex<Option<(u32, Vec<Arc<Slot>>)>> = Mutex::new(None);

/// Says something that libtest's capture does not swallow.
pub(crate) fn say(text: &str) {
    // Nobody is left to be told that stderr is gone.
    let _ = writeln!(io::stderr(), "lease-harness: {text}");
}

/// Keeps the slots until the process exits.
pub(super) fn hold_until_exit(slots: Vec<Slot>) {
    let slots = slots.into_iter().map(Arc::new).collect();
    *HELD.lock().unwrap_or_else(PoisonError::into_inner) = Some((std::process::id(), slots));
    finish_at_exit();
}

/// The slots that are kept so. Who still has one of them when the process exits leaves it to the next in line, who finds its
/// holder gone.
pub(super) fn held_until_exit() -> Vec<Arc<Slot>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or_else(Vec::new, |(_, slots)| slots.clone())
}

/// From now on the process cannot end green.
pub(super) fn never_green() {
    let _ = FORCED_CODE.compare_exchange(0, FAILED, Ordering::SeqCst, Ordering::SeqCst);
    finish_at_exit();
}

/// Ends the process, and what it has started on the slot, as soon as the slot's lease is lost.
pub(super) fn stop_when_lost(slot: &Slot) {
    let survivors = slot.survivors();
    stop_on_loss(&slot.loss_watch(), move || survivors.end());
}

/// The same with claims, and what was started under them.
#[cfg(feature = "claims")]
pub(super) fn stop_when_claims_are_lost(set: &ClaimSet) {
    let survivors = set.survivors();
    stop_on_loss(&set.loss_watch(), move || survivors.end());
}

fn stop_on_loss(watch: &LossWatch, end_survivors: impl FnOnce() -> io::Result<()> + Send + 'static) {
    watch.on_loss(move |reason| {
        let reason = reason.to_owned();
        let stop = move || {
            // What was leased is somebody else's; what cannot be ended is no reason to stay.
            let _ = end_survivors();
            lost(&reason)
        };
        // Not on this thread, which is the heartbeat's: giving other slots back at exit may need it.
        let stopping = thread::Builder::new().name("lease-lost".to_owned()).spawn(stop);
        if stopping.is_err() {
            exit_now(LOST);
        }
    });
}

/// Ends the process because a lease was lost, and says so once.
pub(crate) fn lost(reason: &str) -> ! {
    static SAID: Once = Once::new();
    FORCED_CODE.store(LOST, Ordering::SeqCst);
    SAID.call_once(|| say(reason));
    std::process::exit(LOST)
}

/// Ends the process, before anything of it has run, because none of its tests could be right.
pub(super) fn end_before_main(reason: &str) -> ! {
    say(reason);
    exit_now(FAILED)
}

fn finish_at_exit() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        if at_exit(on_exit).is_err() {
            say("cannot give the slot back at exit; it will be taken as this process ends");
        }
    });
}

extern "C" fn on_exit() {
    // A panic must not leave a C function.
    if panic::catch_unwind(give_back).is_err() {
        never_green();
    }
    match FORCED_CODE.load(Ordering::SeqCst) {
        0 => {}
        code => exit_now(code),
    }
}

fn give_back() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some((_, slots)) = held.filter(|(process, _)| *process == std::process::id()) else { return };
    for error in slots.into_iter().filter_map(Arc::into_inner).filter_map(|slot| slot.release().err()) {
        if error.kind() == SlotErrorKind::Lost {
            FORCED_CODE.store(LOST, Ordering::SeqCst);
        }
        say(&explain(&error));
    }
}
