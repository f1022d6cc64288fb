//! Doctests go on working: each in a process of its own, with a slot.

use lease_tests::{History, scratch};

use crate::support::lab;

/// The examples of both crates that are run, not only compiled.
const EXAMPLES: [&str; 6] = ["new-one", "new-two", "new-four", "old-one", "old-two", "old-four"];

#[test]
fn doctests_of_old_and_new_editions_run_in_a_slot() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let folder = scratch::fixture(&lab, "doctests", "doctests");
    let mut command = lab.lease(["test", "--doc", "--workspace"]);
    command.current_dir(folder);
    let run = lab.run(command).expect_success();
    assert_eq!(run.stdout.matches("test result: ok. 4 passed").count(), 2, "{}", run.account());
    assert!(!run.stderr.contains("WARNING"), "{}", run.account());
    EXAMPLES.iter().for_each(|example| check_example(&lab.history(), example));
    lab.check_all_given_back();
}

#[track_caller]
fn check_example(history: &History, example: &str) {
    let ran = history.all(example);
    assert_eq!(ran.len(), 1, "{example}");
    assert_eq!(ran[0].get("slot"), "a", "{example}");
}
