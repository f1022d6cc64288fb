//! The end of a process.

use std::io;

/// Has `hook` called when the process exits by itself: at the end of `main`, or by `std::process::exit`. Not when it is
/// killed or aborts. Hooks are called in reverse order, so an early one sees the end of all others.
pub(crate) fn at_exit(hook: extern "C" fn()) -> io::Result<()> {
    // SAFETY: `atexit` only keeps the pointer, and a function lives as long as the process.
    match unsafe { libc::atexit(hook) } {
        0 => Ok(()),
        _ => Err(io::Error::other("no room for another exit hook")),
    }
}

/// Ends the process at once: nothing is flushed, no further hook is called.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` does not return and touches nothing of the process.
    unsafe { libc::_exit(code) }
}
