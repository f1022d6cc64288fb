//! Processes: this one and what it was given, others that are watched or signalled without mistaking one for another,
//! commands that end with us, the line we descend from, and whoever carries a mark in its environment.

mod ancestry;
mod bound;
mod detach;
mod helper;
mod identity;
mod marked;
mod origin;
mod outcome;
mod own;
mod witness;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid};

pub(crate) use ancestry::who_set;
pub(crate) use bound::{Bound, replace_self};
pub(crate) use detach::{let_go, say_and_let_go, spawn_detached};
pub(crate) use helper::{die_with_parent, host_name, most_descriptors, sleep_until_end, user_name};
pub(crate) use identity::{identity, is_another_alive, kill_known, known_as};
pub(crate) use marked::{Environment, kill_where};
pub use origin::is_output_closed;
pub(crate) use outcome::are_outcomes_told;
pub(crate) use own::own_number;
pub(crate) use witness::Witness;

/// How often the state of a process is looked at where the system cannot tell when it ends.
const FALLBACK_LOOK: Duration = Duration::from_millis(50);

/// How long a process that was killed may take to be gone.
const KILL_LIMIT: Duration = Duration::from_secs(2);

/// Another process, and no later one that got its number.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    /// None where the system has no such thing; then the number is all there is.
    fd: Option<OwnedFd>,
}

impl Process {
    /// The process that has this number now.
    pub(crate) fn with_number(number: u32) -> io::Result<Self> {
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        Self::open(pid)
    }

    /// The process with this number that a descriptor is about.
    #[cfg(target_os = "linux")]
    pub(crate) fn held_by(number: i32, descriptor: OwnedFd) -> io::Result<Self> {
        let pid = Pid::from_raw(number).ok_or(Errno::SRCH)?;
        Ok(Self { pid, fd: Some(descriptor) })
    }

    fn open(pid: Pid) -> io::Result<Self> {
        match pidfd(pid) {
            Ok(fd) => Ok(Self { pid, fd: Some(fd) }),
            Err(Errno::NOSYS | Errno::PERM) => Ok(Self { pid, fd: None }),
            Err(error) => Err(error.into()),
        }
    }

    /// Its number, which is its own as long as it has not ended.
    pub(crate) fn number(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// The words it was started with, where they can be seen.
    pub(crate) fn command_line(&self) -> Option<String> {
        let words = std::fs::read(format!("/proc/{}/cmdline", self.number())).ok()?;
        Some(String::from_utf8_lossy(&words).replace('\0', " ").trim_end().to_owned())
    }

    /// Readable when the process has ended; none means that one has to look.
    pub(crate) fn end_fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// Whether it has ended, reaped or not. Without a descriptor, only whether nobody has the number.
    pub(crate) fn is_gone(&self) -> bool {
        match &self.fd {
            Some(fd) => is_readable(fd.as_fd()),
            None => rustix::process::test_kill_process(self.pid) == Err(Errno::SRCH),
        }
    }

    /// Asks it to end. A stopped one goes on for that.
    pub(crate) fn ask_to_end(&self) -> io::Result<()> {
        self.send(Signal::TERM)?;
        self.send(Signal::CONT)
    }

    /// Kills it, and waits until it is gone.
    ///
    /// # Errors
    /// `TimedOut` when it is not gone after two seconds, as one that waits for a device.
    pub(crate) fn kill(&self) -> io::Result<()> {
        self.send(Signal::KILL)?;
        if self.sleep_until_gone(Instant::now() + KILL_LIMIT)? {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("killed but not gone: {}", self.number())))
    }

    /// Sleeps until it has ended or `until` has come; whether it has ended.
    pub(crate) fn sleep_until_gone(&self, until: Instant) -> io::Result<bool> {
        while !self.is_gone() {
            if until <= Instant::now() {
                return Ok(false);
            }
            sleep_until_readable(&[self.end_fd()], Some(until))?;
        }
        Ok(true)
    }

    /// Writes a line where its own complaints go, if that is a terminal or a pipe: a file has a place of writing that only
    /// its owner moves. Never waits for a reader, and holds nothing open afterwards.
    pub(crate) fn say_for_it(&self, line: &str) -> io::Result<()> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
        let mut options = File::options();
        let mut its = options.write(true).custom_flags(flags).open(format!("/proc/{}/fd/2", self.number()))?;
        if self.is_gone() || its.metadata()?.is_file() {
            return Ok(());
        }
        its.write_all(format!("{line}\n").as_bytes())
    }

    /// Sends a signal; that the process has ended in the meantime is no error.
    fn send(&self, signal: Signal) -> io::Result<()> {
        let sent = match &self.fd {
            Some(fd) => send_by_fd(fd, signal),
            None => rustix::process::kill_process(self.pid, signal),
        };
        match sent {
            Err(Errno::SRCH) => Ok(()),
            sent => Ok(sent?),
        }
    }
}

#[cfg(target_os = "linux")]
fn pidfd(pid: Pid) -> rustix::io::Result<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
}

#[cfg(not(target_os = "linux"))]
fn pidfd(_pid: Pid) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

#[cfg(target_os = "linux")]
fn send_by_fd(fd: &OwnedFd, signal: Signal) -> rustix::io::Result<()> {
    rustix::process::pidfd_send_signal(fd, signal)
}

#[cfg(not(target_os = "linux"))]
fn send_by_fd(_fd: &OwnedFd, _signal: Signal) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

/// Tells whether the process that started this one is gone.
#[derive(Debug)]
pub(crate) struct ParentWatch {
    /// None if it stands outside of what this process can see, or was gone before it could be watched.
    parent: Option<Process>,
    expected: Option<Pid>,
}

/// Watches the process that started this one.
///
/// It is the parent that this process had when it was loaded, so that a parent which died before this call is noticed too.
pub(crate) fn parent_gone_watch() -> ParentWatch {
    let expected = origin::parent();
    // Whoever holds the number after the parent died is not our parent, which `is_gone` finds out by asking again.
    let parent = expected.and_then(|pid| Process::open(pid).ok());
    ParentWatch { parent, expected }
}

impl ParentWatch {
    /// Whether it is gone. It has been if somebody else has adopted this process.
    pub(crate) fn is_gone(&self) -> bool {
        getppid() != self.expected || self.parent.as_ref().is_some_and(Process::is_gone)
    }

    /// Readable when it is gone; none means that one has to look.
    pub(crate) fn end_fd(&self) -> Option<BorrowedFd<'_>> {
        self.parent.as_ref().and_then(Process::end_fd)
    }
}

/// Sleeps until one of `fds` is readable, a signal was handled, or `until` has come. A none among `fds` is something that
/// has to be looked at, so that the sleep is short.
pub(crate) fn sleep_until_readable(fds: &[Option<BorrowedFd<'_>>], until: Option<Instant>) -> io::Result<()> {
    let mut until = until;
    if fds.iter().any(Option::is_none) {
        let look = Instant::now() + FALLBACK_LOOK;
        until = Some(until.map_or(look, |until| until.min(look)));
    }
    let mut entries: Vec<_> = fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    poll_until(&mut entries, until)
}

/// Sleeps until something that is asked for is true of one of these, a signal was handled, or `until` has come.
fn poll_until(entries: &mut [PollFd<'_>], until: Option<Instant>) -> io::Result<()> {
    let limit = until.map(|until| until.saturating_duration_since(Instant::now()));
    // A limit too long for the system is as good as none.
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    match poll(entries, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether one of these has ended, by a single question to the system.
pub(crate) fn is_any_gone<'a>(processes: impl Iterator<Item = &'a Process> + Clone) -> bool {
    let fds = processes.clone().filter_map(Process::end_fd);
    let mut entries: Vec<_> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    is_one_ready(&mut entries) || processes.filter(|process| process.fd.is_none()).any(Process::is_gone)
}

/// Whether there is something to read, or nothing will come any more.
pub(crate) fn is_readable(fd: BorrowedFd<'_>) -> bool {
    is_one_ready(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)])
}

fn is_one_ready(entries: &mut [PollFd<'_>]) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    !entries.is_empty() && matches!(poll(entries, Some(&at_once)), Ok(n_ready) if 0 < n_ready)
}

/// The signal with this number; none if it has no name on this system, as real-time signals have none.
fn named(signal: i32) -> io::Result<Signal> {
    Signal::from_named_raw(signal).ok_or_else(|| Errno::INVAL.into())
}

/// Numeric fields of a process's line of state, counted from 1 as in the system's manual, in ascending order.
#[cfg(target_os = "linux")]
fn stat_fields<const N: usize>(process: &str, fields: [usize; N]) -> Option<[u64; N]> {
    use std::io::Read;

    // The line is much shorter, and read in one go.
    let mut room = [0; 4096];
    let n_bytes = File::open(format!("/proc/{process}/stat")).ok()?.read(&mut room).ok()?;
    // The name, field 2, may hold anything, also a closing parenthesis; the last one ends it.
    let name_ends = room[..n_bytes].iter().rposition(|byte| *byte == b')')?;
    let mut after_name = std::str::from_utf8(&room[name_ends + 1..n_bytes]).ok()?.split_ascii_whitespace();
    let (mut found, mut next) = ([0; N], 3);
    for (found, field) in found.iter_mut().zip(fields) {
        *found = after_name.nth(field.checked_sub(next)?)?.parse().ok()?;
        next = field + 1;
    }
    Some(found)
}
