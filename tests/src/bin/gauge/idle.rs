//! Waiters for whom nothing happens. N is the number of seconds in which they are watched.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use lease_harness::pool::SlotWanted;

use crate::children::{Helper, say};
use crate::place::{self, OWNER};
use crate::spec::Spec;

/// Prints how much of a core all of them use together, and how often each of them wakes in a second.
pub(crate) fn measure(folder: &Path, seconds: u64, spec: &Spec<'_>) {
    let pool = place::pool(folder, 1);
    let held = place::take(&pool, &SlotWanted::by(OWNER));
    let waiters: Vec<_> = (0..spec.number("waiters", 100)).map(|_| waiter(folder)).collect();
    // What has just happened is news to those who came first.
    thread::sleep(Duration::from_secs(2));
    let (began, before) = (Instant::now(), Usage::of_all(&waiters));
    thread::sleep(Duration::from_secs(seconds));
    let (passed, after) = (began.elapsed().as_secs_f64(), Usage::of_all(&waiters));
    let percent = (after.cpu - before.cpu).as_secs_f64() / passed * 100.0;
    let wakes = (after.n_wakes - before.n_wakes) as f64 / passed / waiters.len() as f64;
    say(&format!("{} core_percent={percent:.2} wakes_each_a_second={wakes:.2}", spec.text()));
    drop(waiters);
    place::give_back(&pool, held);
}

/// One that stands in the queue already: all at once would only be in each other's way.
fn waiter(folder: &Path) -> Helper {
    let mut waiter = Helper::start(folder, "waiter");
    assert_eq!(waiter.line(), "waiting");
    waiter
}

/// How often this process has slept.
pub(crate) fn n_own_wakes() -> u64 {
    let mut usage = Usage { cpu: Duration::ZERO, n_wakes: 0 };
    usage.add_process("self");
    usage.n_wakes
}

/// What processes have used since they were started.
struct Usage {
    cpu: Duration,
    n_wakes: u64,
}

impl Usage {
    fn of_all(processes: &[Helper]) -> Self {
        let mut all = Self { cpu: Duration::ZERO, n_wakes: 0 };
        processes.iter().for_each(|process| all.add_process(&process.pid().to_string()));
        all
    }

    fn add_process(&mut self, name: &str) {
        let tasks = fs::read_dir(format!("/proc/{name}/task")).expect("it lives");
        tasks.for_each(|task| self.add_task(&task.expect("it lives").path()));
    }

    fn add_task(&mut self, task: &Path) {
        // A thread may have ended since the folder was read.
        let read = |name: &str| fs::read_to_string(task.join(name)).ok();
        let (Some(schedule), Some(status)) = (read("schedstat"), read("status")) else { return };
        let ran = schedule.split(' ').next().and_then(|text| text.parse().ok()).expect("nanoseconds on a core");
        self.cpu += Duration::from_nanos(ran);
        let slept = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).expect("a number");
        self.n_wakes += slept.trim().parse::<u64>().expect("a number");
    }
}
