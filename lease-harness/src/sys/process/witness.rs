//! Telling a signal to the process group from a signal to this process alone.

pub(crate) use imp::{Pending, Witness};

#[cfg(target_os = "linux")]
mod imp {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    use rustix::fs::{Mode, OFlags};
    use rustix::process::{Pid, Signal, WaitOptions, getpid, setpgid, waitpid};

    use super::super::bound::die_with;
    use super::super::{Process, stat_fields};
    use crate::sys::signal::{Held, SignalSet};

    /// A process of our group that does nothing, and to which every signal stays pending.
    ///
    /// A signal that is pending there went to the group. One that is not went to us alone. The witness has no open
    /// descriptor, dies with the thread that made it, and is not called like us, so that who ends programs by name
    /// does not take it for one of them.
    #[derive(Debug)]
    pub(crate) struct Witness {
        process: Process,
        pending: Pending,
    }

    impl Witness {
        pub(crate) fn start() -> io::Result<Self> {
            let _held = Held::all()?;
            let (parent, arguments) = (getpid(), own_arguments());
            // SAFETY: the child makes system calls only, on data that exists already, and never returns.
            let pid = match unsafe { libc::fork() } {
                -1 => return Err(io::Error::last_os_error()),
                0 => stand_by(parent, arguments),
                pid => Pid::from_raw(pid).expect("a process number is not zero"),
            };
            let process = Process::open(pid);
            let pending = Pending::of(pid);
            let orphan = |error| {
                end(&Process { pid, fd: None });
                error
            };
            Ok(Self { process: process.map_err(orphan)?, pending: pending.map_err(orphan)? })
        }

        /// Where to read what is pending; may be read between fork and exec.
        pub(crate) fn pending(&self) -> Pending {
            self.pending.clone()
        }

        /// The signals that went to the group since the witness was started. All, if that cannot be told.
        pub(crate) fn heard(&self) -> SignalSet {
            wait_for_group_signals();
            if self.process.is_gone() {
                return SignalSet::ALL;
            }
            self.pending.read().unwrap_or(SignalSet::ALL)
        }
    }

    impl Drop for Witness {
        fn drop(&mut self) {
            end(&self.process);
        }
    }

    fn end(witness: &Process) {
        let _ = witness.send(Signal::KILL);
        let _ = waitpid(Some(witness.pid), WaitOptions::empty());
    }

    /// Returns when every signal that is being sent to a group has reached all members.
    ///
    /// The kernel goes through a group's members with its task list locked for reading, so that we may have got a signal which
    /// the witness is still to get. Asking for a group whose number nobody can have changes nothing, but takes that lock
    /// for writing.
    fn wait_for_group_signals() {
        let _ = setpgid(None, Pid::from_raw(i32::MAX));
    }

    /// Reads the signals that are pending to a process.
    #[derive(Clone, Debug)]
    pub(crate) struct Pending {
        status: Arc<File>,
    }

    impl Pending {
        fn of(pid: Pid) -> io::Result<Self> {
            File::open(format!("/proc/{}/status", pid.as_raw_pid())).map(|status| Self { status: Arc::new(status) })
        }

        /// None if it cannot be told. Allocates nothing.
        pub(crate) fn read(&self) -> Option<SignalSet> {
            let mut space = [0; 8192];
            let n_bytes = self.status.read_at(&mut space, 0).ok()?;
            pending_in(&space[..n_bytes])
        }
    }

    /// The line `ShdPnd:` of a process's status, a hexadecimal number.
    fn pending_in(status: &[u8]) -> Option<SignalSet> {
        let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"ShdPnd:"))?;
        let digits = std::str::from_utf8(line.trim_ascii()).ok()?;
        u64::from_str_radix(digits, 16).ok().map(SignalSet::from_mask)
    }

    /// Where this process's arguments begin and end in its memory.
    fn own_arguments() -> Option<(u64, u64)> {
        stat_fields("self", [48, 49]).map(|[start, end]| (start, end))
    }

    const NAME: &std::ffi::CStr = c"lease-witness";

    /// The witness's whole life.
    fn stand_by(parent: Pid, arguments: Option<(u64, u64)>) -> ! {
        if die_with(parent).is_ok() {
            rename(arguments);
            close_everything();
            loop {
                // SAFETY: the call takes nothing and changes nothing.
                unsafe { libc::pause() };
            }
        }
        // SAFETY: ends the process without running anything of the program it was forked from.
        unsafe { libc::_exit(0) }
    }

    /// Puts our own name where people and programs look for the name and the arguments of a process.
    fn rename(arguments: Option<(u64, u64)>) {
        // SAFETY: the call reads a string that ends in a zero byte.
        unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
        let Some((start, end)) = arguments else { return };
        let Ok(memory) = rustix::fs::open(c"/proc/self/mem", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) else { return };
        let mut text = [0; 256];
        text[..NAME.count_bytes()].copy_from_slice(NAME.to_bytes());
        for at in (start..end).step_by(text.len()) {
            let n_bytes = usize::try_from(end - at).unwrap_or(usize::MAX).min(text.len());
            let _ = rustix::io::pwrite(&memory, &text[..n_bytes], at);
            text.fill(0);
        }
    }

    /// Nobody waits for the end of an output that the witness holds, and no lock outlives us in it.
    fn close_everything() {
        // SAFETY: the process uses no descriptor from here on.
        unsafe {
            if libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) != 0 {
                for fd in 0..1024 {
                    libc::close(fd);
                }
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn pending_signals_are_found_in_a_status() {
            let status = b"Name:\tx\nSigQ:\t1/9\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000004002\nSigBlk:\tff\n";
            assert_eq!(pending_in(status), Some(SignalSet::of(&[2, 15])));
            assert_eq!(pending_in(b"Name:\tx\n"), None);
            assert_eq!(pending_in(b"ShdPnd:\tx\n"), None);
        }

        #[test]
        fn only_what_reaches_the_witness_is_heard() {
            let witness = Witness::start().unwrap();
            assert_eq!(witness.heard(), SignalSet::EMPTY);
            witness.process.send(Signal::INT).unwrap();
            witness.process.send(Signal::TSTP).unwrap();
            witness.process.send(Signal::TERM).unwrap();
            assert_eq!(witness.heard(), SignalSet::of(&[Signal::INT.as_raw(), Signal::TSTP.as_raw(), Signal::TERM.as_raw()]));
        }

        #[test]
        fn of_a_witness_that_was_killed_nothing_can_be_told() {
            let witness = Witness::start().unwrap();
            witness.process.send(Signal::KILL).unwrap();
            super::super::super::sleep_until_readable(&[witness.process.end_fd()], None).unwrap();
            assert_eq!(witness.heard(), SignalSet::ALL);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    use crate::sys::signal::SignalSet;

    /// Elsewhere nothing tells the two apart: every signal counts as one to the group.
    #[derive(Debug)]
    pub(crate) struct Witness;

    impl Witness {
        pub(crate) fn start() -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) fn pending(&self) -> Pending {
            Pending
        }

        pub(crate) fn heard(&self) -> SignalSet {
            SignalSet::ALL
        }
    }

    /// Nothing is known to be pending.
    #[derive(Clone, Debug)]
    pub(crate) struct Pending;

    impl Pending {
        pub(crate) fn read(&self) -> Option<SignalSet> {
            None
        }
    }
}
