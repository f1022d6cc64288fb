//! Random bytes, taken from the system some at a time.

use std::io;
use std::sync::Mutex;

use super::process::own_number;

/// The most that every system gives whole (getrandom(2), getentropy(3)).
const TAKEN_AT_ONCE: usize = 256;

struct Supply {
    /// Whose it is: a fork must not give out what its parent gives out.
    process: u32,
    bytes: [u8; TAKEN_AT_ONCE],
    n_used: usize,
}

/// Sixteen bytes that nobody has had. Without random bytes a process cannot tell itself from others, so there is no way on
/// when the system has none.
pub(super) fn sixteen_bytes() -> [u8; 16] {
    static SUPPLY: Mutex<Supply> = Mutex::new(Supply::none());
    // In a fork a thread that is not there may have the supply for ever.
    let mut own = None;
    let mut shared = SUPPLY.try_lock().ok();
    let supply = shared.as_deref_mut().unwrap_or_else(|| own.get_or_insert_with(Supply::none));
    supply.sixteen_bytes().unwrap_or_else(|error| panic!("the system has no random bytes: {error}"))
}

impl Supply {
    const fn none() -> Self {
        Self { process: 0, bytes: [0; TAKEN_AT_ONCE], n_used: TAKEN_AT_ONCE }
    }

    fn sixteen_bytes(&mut self) -> io::Result<[u8; 16]> {
        let process = own_number();
        if self.process != process || self.bytes.len() < self.n_used + 16 {
            fill(&mut self.bytes)?;
            (self.process, self.n_used) = (process, 0);
        }
        let mut taken = [0; 16];
        // What was given out is not kept.
        taken.swap_with_slice(&mut self.bytes[self.n_used..self.n_used + 16]);
        self.n_used += 16;
        Ok(taken)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn fill(bytes: &mut [u8; TAKEN_AT_ONCE]) -> io::Result<()> {
    // So few bytes are given whole (getrandom(2)).
    // SAFETY: the bytes are ours, and as many as we say.
    match unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) } {
        n_given if usize::try_from(n_given) == Ok(bytes.len()) => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn fill(bytes: &mut [u8; TAKEN_AT_ONCE]) -> io::Result<()> {
    // SAFETY: the bytes are ours, and as many as we say.
    match unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nothing_is_given_twice() {
        let given: BTreeSet<_> = (0..1_000).map(|_| sixteen_bytes()).collect();
        assert_eq!(given.len(), 1_000);
    }

    #[test]
    fn a_fork_takes_bytes_of_its_own() {
        let mut ours = Supply { process: own_number(), bytes: [7; TAKEN_AT_ONCE], n_used: 0 };
        assert_eq!(ours.sixteen_bytes().unwrap(), [7; 16]);
        let mut of_another = Supply { process: 0, bytes: [7; TAKEN_AT_ONCE], n_used: 0 };
        assert_ne!(of_another.sixteen_bytes().unwrap(), [7; 16]);
    }
}
