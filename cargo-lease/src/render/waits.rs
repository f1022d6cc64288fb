//! Who waited for slots in a run, for people.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

/// How many waits are told one by one.
const N_TOLD: usize = 10;
/// What all waits together have to take to be worth a word: that many processes ask at once costs some milliseconds, also
/// where there is a slot for each.
const NOTICEABLE: Duration = Duration::from_millis(100);

/// What is told of the waiting in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Waits {
    /// The longest first.
    pub(crate) waits: Vec<Waited>,
    pub(crate) pools: Vec<PoolNeed>,
    pub(crate) held_back: Vec<HeldBack>,
}

/// One wait.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waited {
    pub(crate) who: String,
    pub(crate) pool: String,
    /// None if it was ended before.
    pub(crate) waited: Option<Duration>,
    pub(crate) got_a_slot: bool,
}

/// What size of a pool would have been enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolNeed {
    pub(crate) pool: String,
    pub(crate) slots: usize,
    pub(crate) enough: usize,
}

/// Tests that queued inside nextest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldBack {
    pub(crate) group: String,
    pub(crate) tests: usize,
    pub(crate) at_once: usize,
    pub(crate) threads: usize,
}

impl Waits {
    /// Tells it on standard error; nothing if nobody waited.
    pub(crate) fn tell(&self) {
        // Where standard error is gone there is nobody to tell.
        let _ = io::stderr().lock().write_all(self.text().as_bytes());
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let sum: Duration = self.waits.iter().filter_map(|wait| wait.waited).sum();
        if sum < NOTICEABLE && self.waits.iter().all(|wait| wait.got_a_slot) {
            return text;
        }
        let n_waits = self.waits.len();
        let asked = if n_waits == 1 { "1 wait" } else { &format!("{n_waits} waits") };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "waiting for slots: {asked}, {:.3}s in all, in the times of the tests above", sum.as_secs_f64());
        for wait in self.waits.iter().take(N_TOLD) {
            let _ = writeln!(text, "  {}", wait.line());
        }
        if let Some(more) = n_waits.checked_sub(N_TOLD).filter(|more| 0 < *more) {
            let _ = writeln!(text, "  and {more} more");
        }
        for PoolNeed { pool, slots, enough } in &self.pools {
            let _ = writeln!(text, "  pool {pool} has {}; with {enough} nobody would have waited", counted(*slots, "slot"));
        }
        for HeldBack { group, tests, at_once, threads } in &self.held_back {
            let _ = writeln!(
                text,
                "  before they started, nextest held tests of group {group} back: {at_once} of {tests} at once, on {threads} threads"
            );
        }
        text
    }
}

impl Waited {
    fn line(&self) -> String {
        let how_long = self.waited.map_or_else(|| "to its end".to_owned(), |waited| format!("{:.3}s", waited.as_secs_f64()));
        let in_vain = if self.got_a_slot { "" } else { ", in vain" };
        format!("{how_long:>10}  {} for pool {}{in_vain}", self.who, self.pool)
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(millis: Option<u64>, who: &str) -> Waited {
        let waited = millis.map(Duration::from_millis);
        Waited { who: who.to_owned(), pool: "db".to_owned(), waited, got_a_slot: waited.is_some() }
    }

    #[test]
    fn nobody_waited() {
        let pools = vec![PoolNeed { pool: "db".to_owned(), slots: 1, enough: 1 }];
        assert_eq!(Waits { pools: pools.clone(), ..Waits::default() }.text(), "");
        assert_eq!(Waits { waits: vec![wait(Some(99), "a")], pools: pools.clone(), ..Waits::default() }.text(), "");
        let in_vain = Waited { got_a_slot: false, ..wait(Some(0), "a") };
        assert_ne!(Waits { waits: vec![in_vain], pools, ..Waits::default() }.text(), "");
    }

    #[test]
    fn who_waited_for_what_and_what_would_have_helped() {
        let waits = Waits {
            waits: vec![wait(None, "api::it killed"), wait(Some(12_345), "api::it slow"), wait(Some(5), "api fast")],
            pools: vec![PoolNeed { pool: "db".to_owned(), slots: 4, enough: 6 }],
            held_back: vec![HeldBack { group: "@tool:lease:db".to_owned(), tests: 300, at_once: 4, threads: 8 }],
        };
        let expected = "\
waiting for slots: 3 waits, 12.350s in all, in the times of the tests above
  to its end  api::it killed for pool db, in vain
     12.345s  api::it slow for pool db
      0.005s  api fast for pool db
  pool db has 4 slots; with 6 nobody would have waited
  before they started, nextest held tests of group @tool:lease:db back: 4 of 300 at once, on 8 threads
";
        assert_eq!(waits.text(), expected);
    }

    #[test]
    fn many_waits_are_not_all_told() {
        let waits = vec![wait(Some(100), "a"); 14];
        let text = Waits { waits, ..Waits::default() }.text();
        assert_eq!(text.lines().count(), 12);
        assert!(text.ends_with("  and 4 more\n"), "{text}");
    }
}
