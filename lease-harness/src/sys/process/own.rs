//! The number of this process, without asking the system each time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Zero until it is asked for, and again in a fork.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The number of this process, as [`std::process::id`]. Also a fork gets its own.
pub(crate) fn own_number() -> u32 {
    static IS_TOLD_OF_FORKS: OnceLock<bool> = OnceLock::new();
    match NUMBER.load(Ordering::Relaxed) {
        0 => {
            let number = std::process::id();
            if *IS_TOLD_OF_FORKS.get_or_init(tell_of_forks) {
                NUMBER.store(number, Ordering::Relaxed);
            }
            number
        }
        known => known,
    }
}

extern "C" fn forget() {
    NUMBER.store(0, Ordering::Relaxed);
}

fn tell_of_forks() -> bool {
    // SAFETY: what runs in a fork stores one number and does nothing else.
    unsafe { libc::pthread_atfork(None, None, Some(forget)) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_has_its_own() {
        let ours = own_number();
        assert_eq!((ours, own_number()), (std::process::id(), ours));
        // SAFETY: the fork only compares two numbers and ends, without anything of the program it was forked from.
        let fork = unsafe { libc::fork() };
        if fork == 0 {
            let is_right = own_number() == std::process::id() && own_number() != ours;
            // SAFETY: as above.
            unsafe { libc::_exit(i32::from(!is_right)) };
        }
        assert!(0 < fork, "{}", std::io::Error::last_os_error());
        let mut status = -1;
        // SAFETY: `fork` is a child of ours that nobody else waits for, and `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(fork, &raw mut status, 0) }, fork);
        assert_eq!((status, own_number()), (0, ours));
    }
}
