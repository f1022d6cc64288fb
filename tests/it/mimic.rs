//! Leased trials under the runners that people use. The trials are those of the compositions.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use lease_tests::{Finished, Lab, binary};

use crate::support::{in_workspace, lab, words_for};

/// How many trials `many` there are.
const N_MANY: usize = 12;

#[test]
fn cargo_test_gives_each_trial_a_slot() {
    let lab = lab();
    let run = run(&lab, lab.cargo(words_for(&["test"], "mimic", &["--", "many", "--test-threads", "4"])));
    assert!(run.stdout.contains("12 passed; 0 failed"), "{}", run.account());
    check_entered(&lab, N_MANY, N_MANY);
}

#[test]
fn under_cargo_lease_test_the_trials_take_turns_on_one_slot() {
    let lab = lab();
    let run = run(&lab, lab.lease(words_for(&["test"], "mimic", &["--", "many", "--test-threads", "4"])));
    assert!(run.stdout.contains("12 passed; 0 failed"), "{}", run.account());
    check_entered(&lab, N_MANY, 1);
    assert_eq!(entered(&lab).into_iter().map(|(_, slot)| slot).collect::<BTreeSet<_>>().len(), 1);
}

#[cfg(feature = "nextest")]
#[test]
fn nextest_gives_each_trial_a_slot() {
    let lab = lab();
    let run = run(&lab, lab.cargo(words_for(&["nextest", "run"], "mimic", &["many", "kind", "bench", "free"])));
    // With the one that has no slot.
    assert!(run.stderr.contains("15 tests run: 15 passed"), "{}", run.account());
    check_entered(&lab, N_MANY + 2, N_MANY + 2);
}

#[cfg(feature = "nextest")]
#[test]
fn under_cargo_lease_nextest_each_trial_joins_the_slot_of_its_process() {
    let lab = lab();
    let run = run(&lab, lab.lease(words_for(&["nextest", "run"], "mimic", &["many", "kind"])));
    assert!(run.stderr.contains("13 tests run: 13 passed"), "{}", run.account());
    check_entered(&lab, N_MANY + 1, N_MANY + 1);
}

/// Ignored trials are nextest's as well.
#[cfg(feature = "nextest")]
#[test]
fn nextest_runs_ignored_trials_if_it_is_asked() {
    let lab = lab();
    let run = run(&lab, lab.cargo(words_for(&["nextest", "run"], "mimic", &["ignored", "--run-ignored", "only"])));
    assert!(run.stderr.contains("1 test run: 1 passed"), "{}", run.account());
    assert_eq!(entered(&lab)[0].0, "ignored");
}

#[cfg(feature = "nextest")]
#[test]
fn a_listing_takes_no_slot() {
    let lab = lab();
    let listed = run(&lab, lab.cargo(words_for(&["nextest", "list"], "mimic", &["many"]))).stdout;
    assert_eq!(listed.matches("many::").count(), N_MANY, "{listed}");
    assert!(!lab.store().exists());
}

/// Who does not use the trials builds nothing for them.
#[test]
fn without_the_feature_the_library_needs_no_more_crates() {
    let lab = lab();
    let tree = |features: &[&str]| {
        let mut command = lab.cargo(["tree", "--package", "lease-harness", "--edges", "normal,build", "--prefix", "none"]);
        command.args(features).current_dir(binary::workspace());
        lab.run(command).expect_success().stdout
    };
    let has_more = |tree: &str| ["libtest-mimic ", "clap "].map(|name| tree.lines().any(|line| line.starts_with(name)));
    assert_eq!(has_more(&tree(&[])), [false, false]);
    assert_eq!(has_more(&tree(&["--features", "mimic"])), [true, true]);
}

/// Runs the scenarios of the compositions in a store of the laboratory. They are built already, where cargo is told
/// [the words](words_for) for it.
#[track_caller]
pub(crate) fn run(lab: &Lab, mut command: Command) -> Finished {
    let pool = binary::workspace().join("tests/compositions/behaviour.json");
    command.env("LEASE_POOL_FILE", pool).env("LEASE_STORE", lab.store()).env("SCENARIO_LOG", lab.path("log"));
    in_workspace(&mut command);
    lab.run(command).expect_success()
}

/// The scenarios that ran, each with its slot.
fn entered(lab: &Lab) -> Vec<(String, String)> {
    let text = fs::read_to_string(lab.path("log")).expect("a scenario ran");
    text.lines().filter_map(|line| line.split_once(' ')).map(|(name, slot)| (name.to_owned(), slot.to_owned())).collect()
}

#[track_caller]
fn check_entered(lab: &Lab, n_entered: usize, n_grants: usize) {
    assert_eq!(entered(lab).len(), n_entered);
    let journal = fs::read_to_string(lab.store().join("behaviour/pool.log")).expect("slots were granted");
    assert_eq!(journal.matches("\"event\":\"granted\"").count(), n_grants, "{journal}");
    lab.check_all_given_back();
}
