//! When the process takes a slot, and that it gives it back.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;

use crate::program::{NONE, PATIENCE, Package, code, said, verdicts};
use crate::scenario;

const ONE_SLOT: &str = r#"{"name": "behaviour", "slots": [{"id": "only"}]}"#;

/// Runs with these arguments; the scenarios that got inside, and how many slots were granted.
fn run(args: &[&str], envs: &[(&str, &str)]) -> (BTreeSet<String>, usize) {
    let package = Package::with_pool(ONE_SLOT);
    let output = package.program(args).envs(envs.iter().copied()).output().unwrap();
    assert!(code(&output).is_some(), "{}", said(&output));
    assert_eq!(package.held(), NONE, "{}", said(&output));
    (package.entered().into_iter().map(|(name, _)| name).collect(), package.n_grants())
}

/// With these arguments exactly these scenarios of the process form run, over one slot if there is any.
#[track_caller]
fn check(args: &str, envs: &[(&str, &str)], expected: &[&str]) {
    let args: Vec<_> = args.split_whitespace().collect();
    let (entered, n_grants) = run(&args, envs);
    assert_eq!(entered, expected.iter().map(|name| (*name).to_owned()).collect(), "{args:?}");
    assert_eq!(n_grants, usize::from(!expected.is_empty()), "{args:?}");
}

#[test]
fn a_slot_is_taken_if_and_only_if_a_leased_test_runs() {
    check("--exact scenario::process", &[], &["process"]);
    check("scenario::process_r", &[], &["process_result"]);
    check("--exact scenario::process scenario::process_result", &[], &["process", "process_result"]);
    check("scenario::process_r --skip result", &[], &[]);
    check("nothing_like_it", &[], &[]);
    check("process_ignored", &[], &[]);
    check("process_ignored --ignored", &[], &["process_ignored"]);
    check("--exact scenario::process_ignored --include-ignored", &[], &["process_ignored"]);
    check("by_condition slot_ignored", &[], &[]);
    check("by_condition --ignored", &[], &["process_by_condition"]);
    check("slot_ignored --ignored", &[], &["slot_ignored"]);
    check("--exact scenario::process --list", &[], &[]);
    check("--exact scenario::process --help", &[], &[]);
    check("--exact scenario::process --bench", &[], &[]);
    check("--exact scenario::process --no-such-flag", &[], &[]);
    check("--exact --test-threads 1 -- scenario::process", &[], &["process"]);
    check("scenario::process_case_panics::case_1", &[], &["process_case_panics"]);
    check("case_1", &[], &["process_case_panics"]);
    check("process_case_panics --skip case_", &[], &[]);
    check("process_case_panics::case_3", &[], &[]);
    check("process_case_panics --ignored", &[], &[]);
}

#[test]
fn a_test_that_waits_says_so_although_its_output_is_captured() {
    for scenario in ["scenario::slot", "scenario::slot_async", "scenario::process"] {
        let package = Package::with_pool(ONE_SLOT);
        let held = package.request().acquire().unwrap();
        let mut child = package.program(&["--exact", scenario]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, receiver) = mpsc::channel();
        let reader = thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let line = receiver.recv_timeout(PATIENCE);
        held.release().unwrap();
        assert!(child.wait().unwrap().success(), "{scenario}");
        drop(receiver);
        let _ = reader.join().unwrap();
        let line = line.unwrap_or_default();
        assert!(line.contains("pool behaviour saturated — queue position 1"), "{scenario}: {line}");
    }
}

/// With musl a constructor is given no arguments; the tests above are about that too, where they are built for it.
#[test]
fn what_the_standard_library_knows_before_main() {
    let n_args = lease_compositions::N_ARGS_BEFORE_MAIN.load(Ordering::SeqCst);
    assert_eq!(n_args, if cfg!(target_env = "musl") { 0 } else { std::env::args_os().count() });
}

#[test]
fn nextest_is_understood() {
    const LIST: &[(&str, &str)] = &[("NEXTEST", "1"), ("NEXTEST_TEST_PHASE", "list")];
    const RUN: &[(&str, &str)] = &[("NEXTEST", "1"), ("NEXTEST_TEST_PHASE", "run"), ("NEXTEST_TEST_NAME", "scenario::process")];
    check("--list --format terse", LIST, &[]);
    check("--list --format terse --ignored", LIST, &[]);
    check("--exact scenario::process --nocapture", RUN, &["process"]);
}

#[test]
fn listing_writes_nothing_but_the_list() {
    let package = Package::without_pool();
    let output = package.program(&["--list", "--format", "terse"]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(lines.contains("scenario::process: test\n"));
    assert!(lines.lines().all(|line| line.ends_with(": test")), "{lines}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[track_caller]
fn check_given_back(variable: &str, value: &str, expected_code: i32) {
    for test in ["scenario::process", "scenario::slot"] {
        let package = Package::with_pool(ONE_SLOT);
        let output = package.program(&["--exact", test]).env(variable, value).output().unwrap();
        assert_eq!(code(&output), Some(expected_code), "{test}: {}", said(&output));
        assert_eq!(package.entered().len(), 1, "{test}: {}", said(&output));
        if (variable, test) == (scenario::EXITS, "scenario::slot") {
            // No destructor runs; the next one that asks finds out that the holder is gone.
            package.request().wait(lease_harness::Wait::No).acquire().unwrap().release().unwrap();
        }
        assert_eq!(package.held(), NONE, "{test}: {}", said(&output));
    }
}

#[test]
fn the_slot_is_given_back_however_the_process_exits() {
    check_given_back("SCENARIO_NOTHING", "", 0);
    check_given_back(scenario::FAILS, "1", 101);
    check_given_back(scenario::EXITS, "3", 3);
}

#[test]
fn the_slot_of_a_killed_process_is_free_for_the_next() {
    for test in ["scenario::process", "scenario::slot"] {
        let package = Package::with_pool(ONE_SLOT);
        let mut command = package.program(&["--exact", test]);
        let mut child = package.start_and_enter(&package.gate(), &mut command);
        assert!(package.request().wait(lease_harness::Wait::No).acquire().is_err());
        child.kill().unwrap();
        child.wait().unwrap();
        package.request().wait(lease_harness::Wait::No).acquire().unwrap();
    }
}

#[test]
fn tests_with_slots_of_their_own_beside_tests_of_the_process_share_its_slot() {
    let package = Package::with_pool(ONE_SLOT);
    let output = package.program(&["--exact", "scenario::process", "scenario::slot", "scenario::slot_async"]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    assert_eq!(verdicts(&output).len(), 3);
    assert_eq!((package.entered().len(), package.n_grants()), (3, 1));
    assert_eq!(package.held(), NONE);
}
