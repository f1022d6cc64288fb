//! Signals: sets of them, what becomes of one, holding them back, catching them, dying of one.

mod caught;

use std::io;
use std::mem::MaybeUninit;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::signal as number;

pub(crate) use caught::Caught;

/// Asks a process to end.
pub(crate) const TERMINATE: i32 = number::SIGTERM;
/// Lets a stopped process go on.
pub(crate) const CONTINUE: i32 = number::SIGCONT;
/// Ends a process.
pub(crate) const KILL: i32 = number::SIGKILL;

/// The signals with which somebody asks a command to end.
pub(crate) const END_REQUESTS: SignalSet = SignalSet::of(&[number::SIGHUP, number::SIGINT, number::SIGQUIT, number::SIGTERM]);

/// The signals that are meant for the command and not for its wrapper.
///
/// All of them would end the wrapper if it did not catch them. `SIGALRM` is one because a timer outlives `exec`, so that a
/// caller may have set it for what it then started. The stop and continue signals are not: they act on the whole group
/// as they should when left alone.
pub(crate) const RELAYED: SignalSet = SignalSet::of(&[
    number::SIGHUP,
    number::SIGINT,
    number::SIGQUIT,
    number::SIGTERM,
    number::SIGUSR1,
    number::SIGUSR2,
    number::SIGALRM,
]);

/// A set of signals by number, 1 to 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SignalSet(u64);

impl SignalSet {
    pub(crate) const EMPTY: Self = Self(0);
    pub(crate) const ALL: Self = Self(u64::MAX);

    pub(crate) const fn of(signals: &[i32]) -> Self {
        let mut bits = 0;
        let mut signal_idx = 0;
        while signal_idx < signals.len() {
            bits |= 1 << (signals[signal_idx] - 1);
            signal_idx += 1;
        }
        Self(bits)
    }

    /// The set that Linux writes as this number: signal 1 is the lowest bit.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) const fn from_mask(mask: u64) -> Self {
        Self(mask)
    }

    pub(crate) fn insert(&mut self, signal: i32) {
        self.0 |= Self::of(&[signal]).0;
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The signals, lowest number first.
    pub(crate) fn iter(self) -> impl Iterator<Item = i32> {
        (1..=64).filter(move |signal| self.0 & (1 << (signal - 1)) != 0)
    }
}

impl BitAnd for SignalSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for SignalSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for SignalSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl Sub for SignalSet {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// What becomes of a signal of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    Default,
    Ignored,
    Handled,
}

/// What becomes of `signal` now.
pub(crate) fn disposition(signal: i32) -> io::Result<Disposition> {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the call only writes to `now`, which is large enough and lives until it returns.
    if unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroes are a valid value of this C structure, and the call filled it in.
    Ok(match unsafe { now.assume_init() }.sa_sigaction {
        libc::SIG_DFL => Disposition::Default,
        libc::SIG_IGN => Disposition::Ignored,
        _ => Disposition::Handled,
    })
}

/// Whether `SIGHUP` is ignored, which `nohup` does for the command that it starts.
pub(crate) fn is_hangup_ignored() -> bool {
    matches!(disposition(number::SIGHUP), Ok(Disposition::Ignored))
}

/// Stops ignoring what a terminal's keys send.
pub(crate) fn heed_keys() -> io::Result<()> {
    for signal in [number::SIGINT, number::SIGQUIT] {
        if disposition(signal)? == Disposition::Ignored {
            reset(signal)?;
        }
    }
    Ok(())
}

/// Lets the system do with `signal` what it does by default. May be called between fork and exec.
pub(crate) fn reset(signal: i32) -> io::Result<()> {
    set_simple(signal, libc::SIG_DFL)
}

/// Ignores `signal`. May be called between fork and exec.
pub(crate) fn ignore(signal: i32) -> io::Result<()> {
    set_simple(signal, libc::SIG_IGN)
}

fn set_simple(signal: i32, action: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: zeroes are a valid value of this C structure: no flags, an empty mask.
    let mut new = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    new.sa_sigaction = action;
    // SAFETY: `new` is a whole action without a handler function, so that no code of ours will run in signal context.
    if unsafe { libc::sigaction(signal, &raw const new, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The signals that a thread holds back.
#[derive(Clone, Copy)]
pub(crate) struct Mask(libc::sigset_t);

impl Mask {
    /// Makes this the calling thread's mask. May be called between fork and exec.
    pub(crate) fn apply(&self) -> io::Result<()> {
        change_mask(libc::SIG_SETMASK, &self.0).map(drop)
    }
}

/// As long as it lives, no signal is delivered to the thread that made it.
pub(crate) struct Held {
    before: Mask,
}

impl Held {
    pub(crate) fn all() -> io::Result<Self> {
        let mut all = empty_set();
        // SAFETY: `all` is an initialised set.
        unsafe { libc::sigfillset(&raw mut all) };
        change_mask(libc::SIG_SETMASK, &all).map(|before| Self { before: Mask(before) })
    }

    /// The thread's mask as it was, and will be again.
    pub(crate) fn before(&self) -> Mask {
        self.before
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Putting back a mask that the system gave us cannot fail.
        let _ = self.before.apply();
    }
}

fn empty_set() -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: the call initialises the set; zeroes are a valid value for what it may leave alone.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn change_mask(how: i32, set: &libc::sigset_t) -> io::Result<libc::sigset_t> {
    let mut before = empty_set();
    // SAFETY: both sets are initialised and live until the call returns.
    match unsafe { libc::pthread_sigmask(how, set, &raw mut before) } {
        0 => Ok(before),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Sends a signal to a thread of this process.
#[cfg(test)]
pub(crate) fn send_to_thread(thread: i32, signal: i32) {
    #[cfg(target_os = "linux")]
    // SAFETY: it takes numbers only; what the signal does is up to whoever handles it.
    unsafe {
        libc::syscall(libc::SYS_tgkill, std::process::id(), thread, signal);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (thread, signal);
}

/// Ends this process by `signal`, as if nobody had ever caught, ignored or blocked it, and without a core file: the one
/// who really died of it has left one if there was to be one.
///
/// Returns only if the signal ends nobody.
pub(crate) fn die_of(signal: i32) {
    leave_no_core();
    // `SIGKILL` refuses a new disposition, and needs none.
    let _ = reset(signal);
    let mut only = empty_set();
    // SAFETY: `only` is an initialised set; a number that is no signal is an error without effect.
    unsafe { libc::sigaddset(&raw mut only, signal) };
    let _ = change_mask(libc::SIG_UNBLOCK, &only);
    let _ = signal_hook::low_level::raise(signal);
}

fn leave_no_core() {
    let limit = getrlimit(Resource::Core);
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: limit.maximum });
    // A core pattern that is a pipe starts its program whatever the limit says.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_follow_the_kernels_numbering() {
        let set = SignalSet::of(&[1, 15, 64]);
        assert_eq!(set, SignalSet::from_mask(0x8000_0000_0000_4001));
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 15, 64]);
        assert_eq!((set - SignalSet::of(&[15])).iter().collect::<Vec<_>>(), [1, 64]);
        assert!((set & SignalSet::of(&[2])).is_empty());
        assert_eq!(SignalSet::EMPTY | set, set & SignalSet::ALL);
    }

    #[test]
    fn everything_that_asks_to_end_is_relayed() {
        assert_eq!(END_REQUESTS & RELAYED, END_REQUESTS);
        for left_alone in [number::SIGTSTP, number::SIGCONT, number::SIGCHLD, number::SIGPIPE, number::SIGWINCH] {
            assert!((RELAYED & SignalSet::of(&[left_alone])).is_empty(), "{left_alone}");
        }
    }
}
