//! Ending what a laboratory started, and what that started in turn.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::environment::LAB_MARK;

/// A process that is just replacing its program shows no environment for a moment, so nobody is believed to be gone
/// before so many looks in a row found nobody.
const LOOKS: usize = 3;

/// Kills every process whose environment carries the mark `lab_id`. A process is named by a descriptor before its
/// mark is read, so that an id that was given to another process in between is never hit. Looks again until nobody is
/// left, because a process may be starting another while we look.
pub(crate) fn kill_marked(lab_id: &str) {
    let mark = format!("{LAB_MARK}={lab_id}");
    let mut empty_looks = 0;
    while empty_looks < LOOKS {
        empty_looks = if kill_once(&mark) == 0 { empty_looks + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills one process, if it still is the one whose environment carries both the mark `lab_id` and `LAB_RUN=run`; says
/// whether it was.
pub fn kill_of_run(lab_id: &str, run: &str, pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    let Some(process) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return false };
    let is_it = carries(pid, &format!("{LAB_MARK}={lab_id}")) && carries(pid, &format!("LAB_RUN={run}"));
    is_it && pidfd_send_signal(&process, Signal::KILL).is_ok()
}

/// The processes that carry the mark `lab_id`.
pub fn marked(lab_id: &str) -> Vec<u32> {
    let mark = format!("{LAB_MARK}={lab_id}");
    process_ids().filter(|pid| carries(*pid, &mark)).filter_map(|pid| u32::try_from(pid).ok()).collect()
}

fn kill_once(mark: &str) -> usize {
    process_ids().filter(|pid| kill_if_marked(*pid, mark).is_some()).count()
}

fn kill_if_marked(raw_pid: i32, mark: &str) -> Option<()> {
    let process = pidfd_open(Pid::from_raw(raw_pid)?, PidfdFlags::empty()).ok()?;
    if !carries(raw_pid, mark) {
        return None;
    }
    pidfd_send_signal(&process, Signal::KILL).ok()
}

fn process_ids() -> impl Iterator<Item = i32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(move |pid: &i32| u32::try_from(*pid).is_ok_and(|pid| pid != own))
}

/// A process that has ended but was not awaited has an empty environment, and so no mark.
fn carries(pid: i32, mark: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
}
