//! What is told of a run when it is over.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lease_harness::harness::{AskEnd, NEXTEST_GROUPS, SlotNote};

use super::schedule::Schedule;
use crate::exit;
use crate::render::{HeldBack, PoolNeed, Waited, Waits};

/// Which of the tests in the schedule ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ran {
    All,
    /// Some of them, or it is not known.
    Some,
}

/// Nextest's group for tests of no group.
const GLOBAL: &str = "@global";
/// How many tests a warning names.
const N_NAMED: usize = 5;

/// Warns of test groups that took the place of ours, and tells who waited. If all tests of the schedule ran, it also warns
/// of those that were to have a slot and never asked for one.
pub(super) fn tell(notes: &[SlotNote], schedule: &Schedule, ran: Ran) {
    for (group, tests) in groups_of_the_user(notes, schedule) {
        let what = format!(
            "your test group '{group}' is in the place of ours, so what these tests wait for a slot counts as their time"
        );
        exit::warn(&format!("{what}: {}", listed(&tests)));
    }
    let without = match ran {
        Ran::All => without_a_slot(notes, schedule),
        Ran::Some => BTreeSet::new(),
    };
    if !without.is_empty() {
        let why = "these tests ran without a slot, since something took the place of our runner: a wrapper script without \
                   target-runner = \"around-wrapper\", for one";
        exit::warn(&format!("{why}: {}", listed(&without)));
    }
    waits(notes, schedule).tell();
}

/// Groups of the user that won over ours, and the tests in them that took slots.
fn groups_of_the_user<'a>(notes: &'a [SlotNote], schedule: &Schedule) -> BTreeMap<&'a str, BTreeSet<String>> {
    let mut groups = BTreeMap::<&str, BTreeSet<String>>::new();
    for note in notes {
        let (Some(test), Some(group)) = (&note.test, &note.group) else { continue };
        let is_planned = schedule.tests.contains_key(test);
        if !group.starts_with(NEXTEST_GROUPS) && (group != GLOBAL || is_planned) {
            groups.entry(group).or_default().insert(name(note));
        }
    }
    groups
}

/// Tests that were to be wrapped, and of which no process asked for a slot.
fn without_a_slot(notes: &[SlotNote], schedule: &Schedule) -> BTreeSet<String> {
    let asked: BTreeSet<_> = notes.iter().filter_map(|note| note.test.as_ref()).collect();
    let without = schedule.wrapped.iter().filter(|test| !asked.contains(test));
    without.map(|(binary_id, test)| format!("{binary_id} {test}")).collect()
}

/// The first of these tests.
fn listed(tests: &BTreeSet<String>) -> String {
    let named: Vec<_> = tests.iter().take(N_NAMED).map(String::as_str).collect();
    let more = tests.len().checked_sub(N_NAMED).filter(|more| 0 < *more).map(|more| format!(" and {more} more"));
    named.join(", ") + &more.unwrap_or_default()
}

fn name(note: &SlotNote) -> String {
    match &note.test {
        Some((binary_id, test)) => format!("{binary_id} {test}"),
        None => "a process that is no test".to_owned(),
    }
}

fn waits(notes: &[SlotNote], schedule: &Schedule) -> Waits {
    let mut waiting: Vec<_> = notes.iter().filter(|note| 0 < note.deepest).collect();
    // Who still waits was ended, whatever time that took.
    waiting.sort_by_key(|note| (note.end != AskEnd::Waits, std::cmp::Reverse(note.waited), name(note)));
    let mut pools = BTreeMap::<(&str, &Path), PoolNeed>::new();
    // A run that holds slots has as many as it is to have; how many of them are free is no matter of the pool's size.
    for note in waiting.iter().filter(|note| !note.is_for_turn) {
        let (pool, slots) = (note.pool.clone(), note.n_slots);
        let need = pools.entry((&note.pool, &note.store)).or_insert(PoolNeed { pool, slots, enough: slots });
        need.enough = need.enough.max(note.n_slots + note.deepest);
    }
    let (pools, waits) = (pools.into_values().collect(), waiting.into_iter().map(waited).collect());
    Waits { waits, pools, held_back: held_back(notes, schedule) }
}

fn waited(note: &SlotNote) -> Waited {
    let waited = (note.end != AskEnd::Waits).then_some(note.waited);
    Waited { who: name(note), pool: note.pool.clone(), waited, got_a_slot: matches!(note.end, AskEnd::Granted | AskEnd::Joined) }
}

/// Groups in which more tests would have run at once on as many threads.
fn held_back(notes: &[SlotNote], schedule: &Schedule) -> Vec<HeldBack> {
    let threads = notes.iter().filter_map(|note| note.threads).max().unwrap_or_default();
    let groups = schedule.groups.iter().enumerate().map(|(idx, group)| {
        let listed = schedule.tests.values().filter(|of| **of == idx).count();
        let seen: BTreeSet<_> = notes.iter().filter(|note| note.group.as_ref() == Some(&group.name)).map(name).collect();
        let tests = listed.max(seen.len());
        HeldBack { group: group.name.clone(), tests, at_once: group.width, threads }
    });
    groups.filter(|group| group.at_once < group.tests.min(group.threads)).collect()
}
