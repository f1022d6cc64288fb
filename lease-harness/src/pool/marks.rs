//! Which processes work under a grant or for a run: told by the environment that they were started with.

use std::io;

use crate::sys::process::{self, Environment};

/// What marks the processes of a grant in their environment.
pub(crate) const RUN_TOKEN: &str = "POOL_RUN_TOKEN";
/// Names the grants that a process works under, outermost first: the mark has room for one.
pub(crate) const GRANTS: &str = "LEASE_GRANTS";
/// What marks the processes of runs that hold slots for their tests, outermost first: a word for each run, its id, and behind
/// that the slot in which the process has a turn, if it has one.
pub(crate) const HELD_RUN: &str = "LEASE_HELD_RUN";

/// Stands between the id of a run and a slot.
const IN: char = '/';

/// The value of [`HELD_RUN`] for what a run starts, which is in none of its slots.
pub(crate) fn for_run(inherited: Option<&str>, id: &str) -> String {
    joined(inherited.unwrap_or_default().split_whitespace().chain([id]))
}

/// The same for who has a turn, and what he starts.
pub(crate) fn for_turn(inherited: Option<&str>, id: &str, slot: &str) -> String {
    let outer = inherited.unwrap_or_default().split_whitespace().filter(|word| run_of(word) != id);
    joined(outer.chain([turn(id, slot).as_str()]))
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

fn turn(id: &str, slot: &str) -> String {
    format!("{id}{IN}{slot}")
}

fn run_of(word: &str) -> &str {
    word.split_once(IN).map_or(word, |(id, _)| id)
}

/// Ends every process that works under the grant with this token, also if it is under others as well, and those of a run that
/// may have a turn in its slot in the next moment; how many there were.
pub(crate) fn end_processes_of(token: &str) -> io::Result<usize> {
    process::kill_where(&|found| is_under(found, token))
}

/// Ends every process whose innermost grant is the one with this token; how many there were.
pub(crate) fn end_processes_in_slot(token: &str) -> io::Result<usize> {
    process::kill_where(&|found| found.has(RUN_TOKEN, token))
}

/// Ends every process that works in a slot of this run; how many there were.
pub(crate) fn end_processes_in_slots_of_run(id: &str) -> io::Result<usize> {
    process::kill_where(&|found| is_in_slot_of(found, id))
}

/// The same for every process of the run.
pub(crate) fn end_processes_of_run(id: &str) -> io::Result<usize> {
    process::kill_where(&|found| is_in_slot_of(found, id) || words(found).any(|word| word == id))
}

/// The same for those that had their turn in this slot of the run, or were started by one of them.
pub(crate) fn end_processes_of_turns(id: &str, slot: &str) -> io::Result<usize> {
    let turn = turn(id, slot);
    process::kill_where(&|found| is_to_be_found(found) && words(found).any(|word| word == turn))
}

/// Who took the mark of the grant away does not want to be found.
fn is_to_be_found(found: &Environment<'_>) -> bool {
    found.get(RUN_TOKEN).is_some()
}

fn is_under(found: &Environment<'_>, token: &str) -> bool {
    let lists = || found.get(GRANTS).is_some_and(|grants| grants.contains(token));
    found.has(RUN_TOKEN, token) || (is_to_be_found(found) || is_in_no_slot(found)) && lists()
}

/// Whether it is a process of a run, and has no turn.
fn is_in_no_slot(found: &Environment<'_>) -> bool {
    words(found).last().is_some_and(|word| run_of(word) == word)
}

fn is_in_slot_of(found: &Environment<'_>, id: &str) -> bool {
    is_to_be_found(found) && words(found).any(|word| run_of(word) == id && word != id)
}

fn words<'a>(found: &Environment<'a>) -> impl Iterator<Item = &'a str> {
    found.get(HELD_RUN).unwrap_or_default().split_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_behind_those_around_it_and_a_turn_in_its_place() {
        let run = for_run(None, "1");
        let in_turn = for_turn(Some(&run), "1", "slot-a");
        assert_eq!((run.as_str(), in_turn.as_str()), ("1", "1/slot-a"));
        let inner = for_run(Some(&in_turn), "2");
        assert_eq!(inner, "1/slot-a 2");
        assert_eq!(for_turn(Some(&inner), "2", "slot-a"), "1/slot-a 2/slot-a");
        assert_eq!(for_turn(Some(&in_turn), "1", "slot-b"), "1/slot-b");
    }

    #[test]
    fn who_is_found_by_what() {
        // The token of the grant in question is `t`, the id of the run `1`, the slot `a`.
        let by_grant = |found: &Environment<'_>| is_under(found, "t");
        let by_run = |found: &Environment<'_>| [is_in_no_slot(found), is_in_slot_of(found, "1")];
        let table: [(&str, bool, [bool; 2]); 12] = [
            ("A=1\0POOL_RUN_TOKEN=t", true, [false, false]),
            ("POOL_RUN_TOKEN=other\0LEASE_GRANTS=[one, t, more]", true, [false, false]),
            ("LEASE_GRANTS=t\0POOL_RUN_TOKEN=", true, [false, false]),
            ("LEASE_GRANTS=[one, t, more]", false, [false, false]),
            ("POOL_RUN_TOKEN=other\0LEASE_GRANTS=[one, more]", false, [false, false]),
            ("XPOOL_RUN_TOKEN=t\0POOL_RUN_TOKENS=t\0POOL_RUN_TOKEN", false, [false, false]),
            ("LEASE_HELD_RUN=1\0LEASE_GRANTS=t", true, [true, false]),
            ("LEASE_HELD_RUN=1/a\0LEASE_GRANTS=t\0POOL_RUN_TOKEN=t", true, [false, true]),
            ("LEASE_HELD_RUN=1/a 2\0LEASE_GRANTS=t\0POOL_RUN_TOKEN=u", true, [true, true]),
            ("LEASE_HELD_RUN=11/a\0POOL_RUN_TOKEN=t", true, [false, false]),
            ("LEASE_HELD_RUN=1/a\0LEASE_GRANTS=t", false, [false, false]),
            ("LEASE_HELD_RUN=\0LEASE_GRANTS=t", false, [false, false]),
        ];
        for (environment, under, of_run) in table {
            let found = Environment::of(environment.as_bytes());
            assert_eq!((by_grant(&found), by_run(&found)), (under, of_run), "{environment:?}");
        }
    }
}
