//! What happens to such cases: none that is not leased passes unnoticed.

use crate::program::{NONE, Package, code, said, verdicts};

fn package() -> Package {
    Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "only"}]}"#)
}

/// The leased cases fail with the explanation, no body of theirs runs and no slot is taken.
#[track_caller]
fn check_leased(test: &str, failing: &[&str], parts: &[&str]) {
    let package = package();
    let output = package.program(&["--ignored", &format!("scenario::{test}::")]).output().unwrap();
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    let failed = verdicts(&output).into_iter().filter(|(_, verdict)| verdict == "FAILED").map(|(name, _)| name);
    let expected: Vec<_> = failing.iter().map(|case| format!("scenario::{test}::{case}")).collect();
    assert_eq!(failed.collect::<Vec<_>>(), expected, "{}", said(&output));
    for part in parts {
        assert!(said(&output).contains(part), "{part:?} in {}", said(&output));
    }
    assert!(package.entered().iter().all(|(_, slot)| slot == "none"), "{:?}", package.entered());
    assert_eq!((package.n_grants(), package.held().as_slice()), (0, &NONE.map(Into::into)[..]));
}

#[test]
fn the_leased_cases_say_which_are_not() {
    let first = ["only some cases of `scenario::first` are leased: `case_1`, and not `case_2`, `case_3_named`", "below every"];
    check_leased("first", &["case_1"], &first);
    check_leased("second", &["case_2"], &["are leased: `case_2`, and not `case_1`;"]);
    check_leased("two_of_three", &["case_1", "case_2"], &["are leased: `case_1`, `case_2`, and not `case_3`;"]);
    check_leased("repeated", &["case_1", "case_2"], &["are leased: `case_1`, `case_2`, and not `case_3`;"]);
    let values = ["are leased: `case_1`, and not `case_2::more_1_10`, `case_2::more_2_20`;"];
    check_leased("with_values", &["case_1::more_1_10", "case_1::more_2_20"], &values);
    check_leased("asynchronous", &["case_1"], &["are leased: `case_1`, and not `case_2`;"]);
    check_leased("panics", &["case_1"], &["are leased: `case_1`, and not `case_2`;"]);
}

/// A process with nobody in it who would say so does not start.
#[track_caller]
fn check_refused(args: &[&str], envs: &[(&str, &str)]) {
    let package = package();
    let output = package.program(args).envs(envs.iter().copied()).output().unwrap();
    assert_eq!((code(&output), output.stdout.len()), (Some(101), 0), "{}", said(&output));
    assert!(said(&output).contains("only some cases of `scenario::"), "{}", said(&output));
    assert_eq!((package.entered().len(), package.n_grants()), (0, 0));
}

#[test]
fn a_process_of_left_out_cases_only_does_not_start() {
    check_refused(&["--ignored", "first::case_2"], &[]);
    check_refused(&["--ignored", "--exact", "scenario::first::case_3_named"], &[]);
    check_refused(&["--ignored", "--exact", "scenario::second::case_1"], &[]);
    check_refused(&["--ignored", "--exact", "scenario::repeated::case_3"], &[]);
    check_refused(&["--ignored", "with_values::case_2::more_1"], &[]);
    check_refused(&["--include-ignored", "scenario::", "--skip", "case_1", "--skip", "second", "--skip", "two_of"], &[]);
    let nextest = [("NEXTEST_TEST_PHASE", "run"), ("NEXTEST_TEST_NAME", "scenario::first::case_2")];
    check_refused(&["--exact", "scenario::first::case_2", "--nocapture", "--ignored"], &nextest);
}

#[track_caller]
fn check_runs(args: &[&str], n_entered: usize, n_grants: usize) {
    let package = package();
    let output = package.program(args).output().unwrap();
    assert_eq!(code(&output), Some(0), "{args:?}: {}", said(&output));
    assert_eq!((package.entered().len(), package.n_grants()), (n_entered, n_grants), "{args:?}: {}", said(&output));
}

#[test]
fn what_does_not_run_harms_nobody() {
    check_runs(&["--exact", "scenario::first::case_2"], 0, 0);
    check_runs(&["first::case_2", "below::"], 2, 1);
    check_runs(&["--ignored", "--list"], 0, 0);
    check_runs(&["--ignored", "first", "--skip", "first"], 0, 0);
}

#[test]
fn all_cases_leased_or_no_cases_at_all() {
    check_runs(&["scenario::below::"], 2, 1);
    check_runs(&["scenario::below_with_values::"], 4, 1);
    check_runs(&["scenario::only_values::"], 2, 1);
    check_runs(&["scenario::above::"], 2, 1);
    check_runs(&["scenario::each::"], 2, 1);
    check_runs(&["scenario::single::"], 1, 1);
    check_runs(&["scenario::by_hand::"], 2, 1);
    check_runs(&["--exact", "scenario::by_hand::case_2"], 1, 0);
    check_runs(&["scenario::by_macro::"], 2, 1);
    check_runs(&["--exact", "scenario::by_macro::case_2"], 1, 0);
    check_runs(&["scenario::with_slots::"], 0, 2);
}
