//! Commands that are bound to this process: they see what they would see without it, and die with it.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, getpid, kill_process};

use super::witness::{Pending, Witness};
use super::{Process, named, origin};
use crate::sys::signal::{self, Caught, Mask, SignalSet};

/// A running command that dies when this process dies, or is dropped.
///
/// On Linux it dies with the thread that started it, which therefore has to stay until the command has ended. Elsewhere
/// the death of this process leaves it alive.
#[derive(Debug)]
pub(crate) struct Bound {
    child: Child,
    process: Process,
    has_ended: bool,
}

impl Bound {
    /// Starts `command` while `caught` holds signals back from ending this process.
    ///
    /// The calling thread must hold all signals back; `mask` is what the command gets instead.
    pub(crate) fn spawn(mut command: Command, mask: Mask, caught: &Caught, witness: &Witness) -> io::Result<Self> {
        origin::keep_child_status();
        let setup = Setup { parent: getpid(), mask, caught: caught.signals(), missed: witness.pending() };
        // SAFETY: what runs between fork and exec makes system calls on data that exists already, and nothing else: it
        // allocates nothing and takes no lock.
        unsafe { command.pre_exec(move || setup.apply()) };
        let child = command.spawn()?;
        let mut bound = Self { process: Process { pid: Pid::from_child(&child), fd: None }, child, has_ended: false };
        // Until it is reaped its number is its own.
        bound.process = Process::open(bound.process.pid)?;
        Ok(bound)
    }

    /// How it ended, if it did.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.has_ended |= status.is_some();
        Ok(status)
    }

    /// Readable when it has ended; none means that one has to look.
    pub(crate) fn end_fd(&self) -> Option<BorrowedFd<'_>> {
        self.process.end_fd()
    }

    /// Sends it a signal.
    pub(crate) fn send(&self, signal: i32) -> io::Result<()> {
        self.process.send(named(signal)?)
    }

    /// Whether a signal to our process group reaches it.
    pub(crate) fn is_in_our_group(&self) -> bool {
        let process = self.process.pid.as_raw_pid();
        // SAFETY: the calls take numbers and change nothing. (rustix cannot be asked: it takes a group outside of our process
        // namespace, which is 0, for impossible.)
        let (its, ours) = unsafe { (libc::getpgid(process), libc::getpgid(0)) };
        // If it has ended, nothing can reach it, and nothing has to.
        its == -1 || its == ours
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if !self.has_ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What a command finds, set up in its process between fork and exec, where all signals are held back.
struct Setup {
    parent: Pid,
    mask: Mask,
    /// Signals that have a handler here.
    caught: SignalSet,
    /// Signals to the group that came before the command's process was in it.
    missed: Pending,
}

impl Setup {
    fn apply(&self) -> io::Result<()> {
        die_with(self.parent)?;
        // The witness was there before; what it heard and this process did not is made up for. What both heard is pending
        // here already and does not become more by this.
        for signal in (self.missed.read().unwrap_or_default() & self.caught).iter() {
            kill_process(getpid(), named(signal)?)?;
        }
        for signal in self.caught.iter() {
            signal::reset(signal)?;
        }
        restore_ignored()?;
        self.mask.apply()
    }
}

/// Ignores what was ignored when this process started, and is not any more.
fn restore_ignored() -> io::Result<()> {
    origin::ignored_for_children().iter().try_for_each(signal::ignore)
}

#[cfg(target_os = "linux")]
pub(super) fn die_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // It may have died before.
    if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn die_with(_parent: Pid) -> io::Result<()> {
    Ok(())
}

/// Runs `command` in place of this program, as if this program had never been there. Returns only if that fails.
pub(crate) fn replace_self(mut command: Command) -> io::Error {
    // SAFETY: this process is not a fork of another, so that there is nothing the closure might not do.
    unsafe { command.pre_exec(restore_ignored) };
    command.exec()
}
