//! Which tests of one process are at work at the same time, and which take turns.

use std::process::Command;

use super::cells::FORMS;
use super::project::{Project, cargo};

/// Tests with slots of their own are at work at once; those with the slot of their process are not.
#[test]
fn under_cargo_test_only_tests_with_the_slot_of_their_process_take_turns() {
    check(&["process"], Project::cargo);
}

/// Nobody makes plain tests take turns, and a guard does not ask who else works in the slot that it joins.
#[test]
fn under_cargo_lease_annotated_tests_and_trials_take_turns() {
    check(&["slot", "process", "several", "trial"], Project::lease);
}

/// What runs all tests in one slot makes no other difference.
#[test]
fn inside_a_lease_annotated_tests_and_trials_of_a_process_take_turns() {
    let cargo = cargo();
    let inside = |project: &Project, words: &[&str]| project.lease(&[&["run", "--", cargo.as_str()], words].concat());
    check(&["slot", "process", "several", "trial"], inside);
}

/// The tests of these forms find themselves alone in their process, and those of all others meet there.
#[track_caller]
fn check(alone: &[&str], command: impl Fn(&Project, &[&str]) -> Command) {
    for (how, wanted) in [("alone", true), ("meets", false)] {
        let forms = FORMS.into_iter().filter(|form| alone.contains(form) == wanted);
        let mut words = vec!["test"];
        words.extend(forms.flat_map(|form| ["--test", form]));
        words.extend(["--", "--test-threads", "2"]);
        let project = Project::new();
        let mut command = command(&project, &words);
        command.env("FORMS_INSIDE", how);
        project.run(command);
        project.seen();
    }
}
