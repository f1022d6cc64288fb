//! Commands that do something for us and are waited for.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid};

use super::bound::die_with;
use super::{Process, origin, sleep_until_readable};

/// Lets `command` be killed when this process dies, and its end be learned. To be spawned from a thread that outlives it.
pub(crate) fn die_with_parent(command: &mut Command) {
    origin::keep_child_status();
    let parent = getpid();
    // SAFETY: between fork and exec it only makes two system calls and allocates nothing.
    unsafe { command.pre_exec(move || die_with(parent)) };
}

/// Sleeps until a child of ours has ended, at most `limit`.
pub(crate) fn sleep_until_end(child: &Child, limit: Duration) -> io::Result<()> {
    let until = Some(Instant::now() + limit);
    // A child that is not yet waited for keeps its number.
    match i32::try_from(child.id()).ok().and_then(Pid::from_raw).map(Process::open) {
        Some(Ok(process)) if process.end_fd().is_some() => sleep_until_readable(&[process.end_fd()], until),
        _ => sleep_until_readable(&[], until),
    }
}

/// How many descriptors this process may have.
pub(crate) fn most_descriptors() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The machine's name on the network.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The name of the user that this process runs as, or `uid-<number>` for one without.
pub(crate) fn user_name() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(find_user_name).clone()
}

fn find_user_name() -> String {
    let uid = rustix::process::getuid().as_raw().to_string();
    // passwd(5): name, password, number, and more, separated by colons.
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = known.lines().map(|line| line.split(':')).find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| format!("uid-{uid}"))
}
