//! Clocks, and what is printed.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::children::say;

/// A moment by the clock that all processes of the machine share, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of all threads of this process but the one that asks.
pub(crate) fn cpu_of_other_threads() -> Duration {
    let [all, ours] = [ClockId::ProcessCPUTime, ClockId::ThreadCPUTime].map(nanoseconds);
    Duration::from_nanos(all.saturating_sub(ours))
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = Duration::try_from(clock_gettime(clock)).expect("a clock is not before its start");
    u64::try_from(now.as_nanos()).expect("some centuries")
}

/// Figures of one kind, in nanoseconds.
pub(crate) struct Sample(Vec<u64>);

impl Sample {
    pub(crate) fn new(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self(values)
    }

    /// The value below which so many percent of them lie, in microseconds. Of none it is zero: a busy machine may have had no time
    /// for any, and their number is told beside it.
    fn percentile(&self, percent: usize) -> f64 {
        let value = self.0.get(self.0.len() * percent / 100).copied().unwrap_or_default();
        Duration::from_nanos(value).as_secs_f64() * 1e6
    }

    /// What is wanted of them in microseconds, behind a name.
    pub(crate) fn shown(&self, name: &str) -> String {
        let [p50, p99] = [50, 99].map(|percent| self.percentile(percent));
        format!("{name} p50_us={p50:.1} p99_us={p99:.1} n={}", self.0.len())
    }

    pub(crate) fn print(&self, name: &str) {
        say(&self.shown(name));
    }
}
