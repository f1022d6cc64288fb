//! What can be learned about a process by its id.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The parent of a process, while it lives.
///
/// # Panics
///
/// If there is no such process.
#[track_caller]
pub fn parent_of(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_else(|error| panic!("process {pid}: {error}"));
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("a status names the parent");
    parent.trim().parse().expect("a process id is a number")
}

/// The arguments of a process, while it lives.
pub fn arguments_of(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let parts = bytes.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// Whether a process handles a signal itself, while it lives.
pub fn catches(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    caught >> (signal.as_raw() - 1) & 1 == 1
}

/// The nearest ancestor of `pid` that has `argument` among its arguments.
///
/// # Panics
///
/// If there is none.
#[track_caller]
pub fn ancestor_with(pid: u32, argument: &str) -> u32 {
    let mut ancestor = parent_of(pid);
    while ancestor > 1 {
        if arguments_of(ancestor).iter().any(|found| found == argument) {
            return ancestor;
        }
        ancestor = parent_of(ancestor);
    }
    panic!("no ancestor of {pid} has the argument {argument:?}");
}

/// Kills a process that the caller knows to be alive.
///
/// # Panics
///
/// If it is gone.
#[track_caller]
pub fn kill(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Sends a signal to a process that the caller knows to be alive.
///
/// # Panics
///
/// If it is gone.
#[track_caller]
pub fn signal(pid: u32, signal: Signal) {
    let raw = i32::try_from(pid).expect("a process id fits");
    let process = Pid::from_raw(raw).expect("a process id is positive");
    let process = pidfd_open(process, PidfdFlags::empty()).unwrap_or_else(|error| panic!("process {pid}: {error}"));
    pidfd_send_signal(&process, signal).unwrap_or_else(|error| panic!("process {pid}: {error}"));
}
