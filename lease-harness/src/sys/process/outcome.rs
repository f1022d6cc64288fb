//! How a process has ended that is not a child of ours.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::{Process, own_number, poll_until};

/// Whether the system tells how a process has ended to somebody who is not its parent (Linux 6.15 and later).
pub(crate) fn are_outcomes_told() -> bool {
    Process::with_number(own_number()).is_ok_and(|own| own.fd.is_some_and(|fd| system::are_outcomes_told(&fd)))
}

impl Process {
    /// How it has ended, once its parent has been told; none if that takes longer than `limit`, or cannot be known.
    pub(crate) fn outcome_within(&self, limit: Duration) -> Option<ExitStatus> {
        let fd = self.fd.as_ref()?;
        let until = Instant::now() + limit;
        loop {
            let outcome = system::outcome(fd);
            if outcome.is_some() || until <= Instant::now() {
                return outcome;
            }
            // Who asks for nothing is told of a hang-up only: a process that has merely ended is readable.
            poll_until(&mut [PollFd::new(fd, PollFlags::empty())], Some(until)).ok()?;
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::os::fd::OwnedFd;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

    /// The first version of the kernel's `struct pidfd_info`.
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        /// What is asked for, and then what was told.
        mask: u64,
        cgroup: u64,
        numbers: [u32; 11],
        wait_status: i32,
    }

    /// `PIDFD_INFO_EXIT`.
    const OUTCOME: u64 = 1 << 3;
    /// `PIDFD_GET_INFO`.
    const GET_INFO: Opcode = opcode::read_write::<Info>(0xff, 11);
    /// Since when the outcome is told.
    const SINCE: (u32, u32) = (6, 15);

    fn ask(process: &OwnedFd) -> Option<Info> {
        let mut info = Info { mask: OUTCOME, ..Info::default() };
        // SAFETY: the kernel writes at most as many bytes as the operation's number says, which is the size of the structure;
        // all of them are plain numbers.
        let asked = unsafe { ioctl(process, Updater::<GET_INFO, Info>::new(&mut info)) };
        asked.is_ok().then_some(info)
    }

    pub(super) fn outcome(process: &OwnedFd) -> Option<ExitStatus> {
        ask(process).filter(|info| info.mask & OUTCOME != 0).map(|info| ExitStatus::from_raw(info.wait_status))
    }

    pub(super) fn are_outcomes_told(own: &OwnedFd) -> bool {
        version().is_some_and(|version| SINCE <= version) && ask(own).is_some()
    }

    fn version() -> Option<(u32, u32)> {
        let name = rustix::system::uname();
        let mut numbers = name.release().to_str().ok()?.split(['.', '-']).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::os::fd::OwnedFd;
    use std::process::ExitStatus;

    pub(super) fn outcome(_process: &OwnedFd) -> Option<ExitStatus> {
        None
    }

    pub(super) fn are_outcomes_told(_own: &OwnedFd) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_outcome_of_a_process_is_told_once_its_parent_knows() {
        if !are_outcomes_told() {
            return;
        }
        for (script, code, signal) in [("read line; exit 7", Some(7), None), ("read line; kill -9 $$", None, Some(9))] {
            let mut child = Command::new("sh").args(["-c", script]).stdin(std::process::Stdio::piped()).spawn().unwrap();
            let process = Process::with_number(child.id()).unwrap();
            let soon = Duration::from_millis(1);
            assert_eq!(process.outcome_within(soon), None);
            drop(child.stdin.take());
            while !process.is_gone() {
                super::super::sleep_until_readable(&[process.end_fd()], None).unwrap();
            }
            assert_eq!(process.outcome_within(soon), None);
            child.wait().unwrap();
            let outcome = process.outcome_within(Duration::from_secs(60)).unwrap();
            assert_eq!((outcome.code(), outcome.signal()), (code, signal));
        }
    }
}
