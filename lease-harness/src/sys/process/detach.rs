//! Processes that outlive the one that started them: a session of their own, no terminal, no file of ours.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::origin;
use crate::sys::signal::{self, END_REQUESTS};

/// Starts `command` in a session of its own. It inherits its three standard streams, as the command says, and nothing else:
/// whoever waits for the end of a pipe of ours must not wait for it.
pub(crate) fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    // It may end at once, and then it is asked how.
    origin::keep_child_status();
    // SAFETY: between fork and exec it only makes system calls and allocates nothing.
    unsafe { command.pre_exec(detach) };
    command.spawn()
}

fn detach() -> io::Result<()> {
    setsid()?;
    // A background job of a shell ignores some; this process is to be ended by them.
    END_REQUESTS.iter().try_for_each(signal::reset)?;
    close_on_exec_from(3)
}

/// Marks every descriptor from `first` on; they stay usable until the new program starts.
#[cfg(target_os = "linux")]
fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: the call takes numbers, and closes nothing before exec.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    // Linux before 5.11 does not know the call, or the flag.
    if marked == 0 { Ok(()) } else { close_on_exec_one_by_one(first) }
}

#[cfg(not(target_os = "linux"))]
fn close_on_exec_from(first: u32) -> io::Result<()> {
    close_on_exec_one_by_one(first)
}

fn close_on_exec_one_by_one(first: u32) -> io::Result<()> {
    /// More are not open in a process that only starts another.
    const LAST: u32 = 65_536;
    for fd in first..LAST {
        let Ok(fd) = i32::try_from(fd) else { break };
        // SAFETY: the call takes numbers; of a number that is no descriptor it says so, and nothing happens.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// Puts the null device in the place of this process's standard streams, and leaves the folder it was started in.
pub(crate) fn let_go() -> io::Result<()> {
    Ok(dup2_stdout(&leave()?)?)
}

/// Puts the null device in the place of this process's standard streams, leaves the folder it was started in, and writes a
/// line to what was standard output. That is let go of last, so that whoever has the line and waits for the others waits no
/// longer.
pub(crate) fn say_and_let_go(line: &str) -> io::Result<()> {
    let null = leave()?;
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush())?;
    Ok(dup2_stdout(&null)?)
}

fn leave() -> io::Result<File> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    std::env::set_current_dir("/")?;
    dup2_stdin(&null)?;
    dup2_stderr(&null)?;
    Ok(null)
}
