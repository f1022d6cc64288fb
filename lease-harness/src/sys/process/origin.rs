//! What this process was given at its start and cannot find out later.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use rustix::process::{Pid, getppid};
use signal_hook::consts::signal::{SIGCHLD, SIGPIPE};

use crate::sys::signal::{self, Disposition, SignalSet};

static LOADED_AS: AtomicU32 = AtomicU32::new(0);
static PARENT: AtomicI32 = AtomicI32::new(0);
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static CHILD_IGNORED: AtomicBool = AtomicBool::new(false);
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

ctor::declarative::ctor! {
    /// Runs before `main`: there Rust's runtime begins with ignoring `SIGPIPE` and with putting the null device in the place
    /// of standard streams that are closed, and every moment later is one in which the parent may die unnoticed. Early,
    /// because a slot may be taken before `main` too.
    #[ctor(unsafe, priority = early)]
    fn remember() {
        LOADED_AS.store(std::process::id(), Ordering::Relaxed);
        PARENT.store(Pid::as_raw(getppid()), Ordering::Relaxed);
        PIPE_IGNORED.store(is_ignored(SIGPIPE), Ordering::Relaxed);
        OUTPUT_CLOSED.store(rustix::io::fcntl_getfd(std::io::stdout()).is_err(), Ordering::Relaxed);
    }
}

fn is_ignored(signal: i32) -> bool {
    matches!(signal::disposition(signal), Ok(Disposition::Ignored))
}

/// The process that started this one; none if it cannot be seen from here.
pub(super) fn parent() -> Option<Pid> {
    // A process that was forked off and runs no new program remembers what its parent was given.
    if LOADED_AS.load(Ordering::Relaxed) != std::process::id() {
        return getppid();
    }
    Pid::from_raw(PARENT.load(Ordering::Relaxed))
}

/// Whether this process was started with its standard output closed. What is written there is lost without an error, so
/// that whoever is to tell somebody something, such as a token, has to ask first.
#[must_use]
pub fn is_output_closed() -> bool {
    OUTPUT_CLOSED.load(Ordering::Relaxed)
}

/// The signals that a program started by us has to find ignored, although they are not in this process.
pub(super) fn ignored_for_children() -> SignalSet {
    let mut ignored = SignalSet::EMPTY;
    for (signal, was_ignored) in [(SIGPIPE, &PIPE_IGNORED), (SIGCHLD, &CHILD_IGNORED)] {
        if was_ignored.load(Ordering::Relaxed) {
            ignored.insert(signal);
        }
    }
    ignored
}

/// Sees to it that this process can learn how its children end.
///
/// The system forgets that at once for a process that ignores `SIGCHLD`, as some services start theirs.
pub(super) fn keep_child_status() {
    if is_ignored(SIGCHLD) && signal::reset(SIGCHLD).is_ok() {
        CHILD_IGNORED.store(true, Ordering::Relaxed);
    }
}
