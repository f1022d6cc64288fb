//! How `cargo lease nextest run` queues the tests of a run inside nextest. The tests are those of the compositions.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use lease_tests::{Finished, Lab, Running, binary};

use crate::support::{in_workspace, lab};

/// Whoever waits for his turn for four seconds is terminated.
const IMPATIENT: &str = "[profile.default]\nslow-timeout = { period = \"2s\", terminate-after = 2 }\n";

/// A run of tests of the compositions, with options of ours before it.
fn nextest(lab: &Lab, options: &[&str], words: &[&str]) -> Command {
    let mut command = lab.lease(options);
    command.args(["nextest", "run", "--package", "lease-compositions", "--features", "lease-compositions/crowd"]).args(words);
    let pool = pool_file("crowd.json");
    command.env("LEASE_POOL_FILE", pool).env("SCENARIO_LOG", lab.path("log"));
    in_workspace(&mut command);
    command
}

fn pool_file(name: &str) -> PathBuf {
    binary::workspace().join("tests/compositions").join(name)
}

/// The group of each test that ran.
fn groups(lab: &Lab) -> BTreeMap<String, String> {
    let text = fs::read_to_string(lab.path("log")).expect("tests ran");
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(test, group)| (test.to_owned(), group.trim_start_matches("@tool:lease:").to_owned())).collect()
}

#[track_caller]
fn check_groups(lab: &Lab, options: &[&str], expected: [&str; 5]) {
    lab.run(nextest(lab, options, &["--test", "scheduled", "--test-threads", "8"])).expect_success();
    let tests = ["free", "of_the_process", "of_several_2", "of_the_test", "of_both"];
    let expected =
        tests.iter().zip(expected).map(|(test, group)| ((*test).to_owned(), group.to_owned())).collect::<BTreeMap<_, _>>();
    let mut groups = groups(lab);
    groups.retain(|test, _| test != "of_several_1");
    assert_eq!(groups, expected);
    lab.check_all_given_back();
}

#[test]
fn annotated_tests_queue_for_the_pools_that_they_name() {
    check_groups(&lab(), &["--wrap", "annotated"], ["@global", "crowd", "crowd", "ports", "crowd_and_ports"]);
}

#[test]
fn what_is_wrapped_queues_for_that_pool_too() {
    check_groups(&lab(), &[], ["crowd", "crowd", "crowd", "crowd_and_ports", "crowd_and_ports"]);
}

#[test]
fn binaries_that_are_not_named_queue_only_for_what_they_take_themselves() {
    let named = "lease-compositions::crowd,lease-tests::*";
    check_groups(&lab(), &["--wrap", named], ["@global", "crowd", "crowd", "ports", "crowd_and_ports"]);
}

#[test]
fn a_group_of_the_users_wins_and_is_named_once() {
    let lab = lab();
    let config =
        "[test-groups.mine]\nmax-threads = 1\n[[profile.default.overrides]]\nfilter = 'test(/^of_t/)'\ntest-group = 'mine'\n";
    fs::write(lab.path("nextest.toml"), config).expect("the laboratory is writable");
    let config = lab.path("nextest.toml").display().to_string();
    let run = lab.run(nextest(&lab, &["--wrap", "annotated"], &["--test", "scheduled", "--config-file", &config]));
    let run = run.expect_success();
    let warnings: Vec<_> = run.stderr.lines().filter(|line| line.starts_with("warning: your test group")).collect();
    let [warning] = &warnings[..] else { panic!("one warning: {}", run.account()) };
    for part in ["'mine'", "lease-compositions::scheduled of_the_process", "lease-compositions::scheduled of_the_test"] {
        assert!(warning.contains(part), "{warning}");
    }
    assert!(!warning.contains("of_both"), "{warning}");
    let groups = groups(&lab);
    assert_eq!([&groups["of_the_test"], &groups["of_both"]], ["mine", "crowd_and_ports"]);
}

/// Somebody else has the only slot, so there is something to tell; what nobody waited for is not told.
#[test]
fn who_waited_is_told_in_the_end() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let gate = lab.path("gate").display().to_string();
    let holder = lab.start(lab.lease_actor(&[], &["hold", &gate]));
    lab.history().wait_for("start", |_| true);
    let run = |options: &[&str]| {
        let mut command = nextest(&lab, options, &["--test", "scheduled", "free"]);
        command.env("LEASE_POOL_FILE", lab.pool_file());
        lab.run(command)
    };
    let told = "waiting for slots: ";
    let refused = run(&["--wait-ms", "1"]).expect_code(100);
    for part in [told, "lease-compositions::scheduled free for pool pool, in vain", "pool pool has 1 slot; with 2 nobody"] {
        assert!(refused.stderr.contains(part), "{part:?} is not in {}", refused.account());
    }
    lab.open("gate");
    holder.finish().expect_success();
    let granted = run(&[]).expect_success();
    assert!(!granted.stderr.contains(told), "{}", granted.account());
    lab.check_all_given_back();
}

/// Starts two runs of three hundred tests that compete for the four slots of one pool.
#[track_caller]
fn check_crowd(options: &[&str], target: &str) {
    let lab = lab();
    fs::write(lab.path("nextest.toml"), IMPATIENT).expect("the laboratory is writable");
    let config = lab.path("nextest.toml").display().to_string();
    let words = ["--test", target, "--test-threads", "16", "--config-file", &config, "--no-fail-fast"];
    let runs = [(); 2].map(|()| lab.start(nextest(&lab, options, &words)));
    for run in runs.map(Running::finish) {
        assert!(run.stderr.contains("300 tests run: 300 passed"), "{}", run.account());
        check_queue(&run);
    }
    lab.check_all_given_back();
}

/// Eight processes at most have a slot or wait for one, four of each run. Those that are granted a slot or are about to end may be
/// counted among them for a moment; without groups of nextest's there would be thirty-two.
#[track_caller]
fn check_queue(run: &Finished) {
    let needed = run.stderr.lines().find_map(|line| line.trim().strip_prefix("pool crowd has 4 slots; with "));
    let needed = needed.map_or(4, |rest| rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number"));
    assert!(needed < 20, "{needed} processes at once: {}", run.account());
}

#[test]
fn three_hundred_wrapped_tests_are_not_terminated_for_waiting_their_own_runs_turn() {
    check_crowd(&[], "bystanders");
}

#[test]
fn three_hundred_annotated_tests_are_not_terminated_for_waiting_their_own_runs_turn() {
    check_crowd(&["--wrap", "annotated"], "crowd");
}
