//! A slot that cannot be had: no body runs and nothing passes.

use std::process::Output;

use crate::program::{NONE, Package, code, said, verdicts};

/// No test passed and no body ran, and each failed test says this.
#[track_caller]
fn check_nothing_passed(package: &Package, output: &Output, n_tests: usize, said_once_each: &str) {
    assert_eq!(code(output), Some(101), "{}", said(output));
    let verdicts = verdicts(output);
    assert_eq!(verdicts.len(), n_tests, "{}", said(output));
    assert!(verdicts.values().all(|verdict| verdict == "FAILED"), "{verdicts:?}");
    assert_eq!(package.entered(), []);
    let n_said = said(output).matches(said_once_each).count();
    assert!(n_tests <= n_said, "{said_once_each:?} {n_said} times in {}", said(output));
}

/// All scenarios but those of a generator, of which libtest lets one pass; one after the other, so that all are refused for
/// the same reason.
const ALL: &[&str] = &["scenario::", "--include-ignored", "--skip", "process_case_panics", "--test-threads=1"];
const N_ALL: usize = 17;

#[test]
fn without_a_pool_file() {
    let package = Package::without_pool();
    let output = package.program(ALL).output().unwrap();
    check_nothing_passed(&package, &output, N_ALL, &format!("there is no `{}`", package.pool_file().display()));
    check_nothing_passed(&package, &output, N_ALL, "it was there when the test was compiled: an archive has no source files");
    assert!(!package.store().exists());
}

#[test]
fn with_a_bad_pool_file() {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": []}"#);
    let output = package.program(ALL).output().unwrap();
    check_nothing_passed(&package, &output, N_ALL, "slots");
}

#[test]
fn with_a_provision_that_fails() {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "only"}], "provision": "exit 3; :"}"#);
    let output = package.program(ALL).output().unwrap();
    check_nothing_passed(&package, &output, N_ALL, "slot only reset failed (provision command exit 3)");
    assert_eq!(package.held(), NONE);
}

#[test]
fn when_all_slots_are_taken_and_nobody_waits() {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "only"}]}"#);
    let taken = package.request().acquire().unwrap();
    for test in ["scenario::process_impatient", "scenario::slot_impatient"] {
        let output = package.program(&["--exact", test]).output().unwrap();
        check_nothing_passed(&package, &output, 1, "saturated");
    }
    taken.release().unwrap();
    let output = package.program(&["--exact", "scenario::process_impatient"]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
}

/// Which cases are expected to panic is not known to the attribute, so the process itself cannot end green.
#[test]
fn a_case_that_looks_as_if_it_were_expected_to_panic() {
    let package = Package::without_pool();
    let output = package.program(&["--exact", "scenario::process_case_panics::case_1"]).output().unwrap();
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    assert_eq!(package.entered(), []);
}

/// The message is about the test, and so is its place.
#[test]
fn the_panic_is_at_the_test() {
    let package = Package::without_pool();
    for test in ["scenario::process", "scenario::slot"] {
        let output = package.program(&["--exact", test]).output().unwrap();
        assert!(said(&output).contains("panicked at tests/compositions/tests/behaviour/scenario.rs:"), "{}", said(&output));
    }
}
