//! Tests over the slot of their process that want it clean, also behind another test.

use std::fs;
use std::process::Output;

use crate::program::{NONE, Package, code, said, verdicts};

const CLEAN: &str = "process_wants_it_clean";
const CLEAN_ASYNC: &str = "process_wants_it_clean_async";

/// A pool whose commands write down what they do, beside what the tests write.
fn package(reset: &str) -> Package {
    let done = |what: &str| format!("echo {what} command >> log; :");
    let (provision, health) = (done("provision"), done("health"));
    let commands = format!(r#""provision": "{provision}", "reset": "{reset}", "health": "{health}""#);
    Package::with_pool(&format!(r#"{{"name": "behaviour", "slots": [{{"id": "only"}}], {commands}}}"#))
}

const RESET: &str = "echo reset command >> log; :";

/// Runs these scenarios one after the other, in the order of their names, as libtest does.
fn run(package: &Package, scenarios: &[&str]) -> Output {
    let names: Vec<_> = scenarios.iter().map(|name| format!("scenario::{name}")).collect();
    let mut args = vec!["--exact", "--test-threads=1"];
    args.extend(names.iter().map(String::as_str));
    package.program(&args).output().unwrap()
}

#[track_caller]
fn check(scenarios: &[&str], expected: &[&str]) {
    let package = package(RESET);
    let output = run(&package, scenarios);
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    let done: Vec<_> = package.entered().into_iter().map(|(name, _)| name).collect();
    assert_eq!(done, expected, "{}", said(&output));
    assert_eq!((package.held().as_slice(), package.n_grants()), (&NONE.map(Into::into)[..], 1));
}

#[test]
fn the_slot_is_cleaned_before_a_test_that_asks_for_it_and_only_then() {
    check(&[CLEAN], &["provision", "health", CLEAN]);
    check(&["process", "process_result"], &["provision", "health", "process", "process_result"]);
    check(&["process", CLEAN], &["provision", "health", "process", "reset", "health", CLEAN]);
    let both = ["provision", "health", CLEAN, "reset", "health", CLEAN_ASYNC];
    check(&[CLEAN, CLEAN_ASYNC], &both);
}

/// The environment is that of the grant, which has not changed.
#[test]
fn it_is_the_same_slot_with_the_same_environment() {
    let package = package(RESET);
    let output = run(&package, &["process", CLEAN, CLEAN_ASYNC]);
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    let tests: Vec<_> = package.entered().into_iter().filter(|(_, slot)| slot != "command").collect();
    assert_eq!(tests.len(), 3);
    assert!(tests.iter().all(|(_, slot)| slot == "only"), "{tests:?}");
}

/// That test fails and says so, and its body does not run; the next that asks for it tries again.
#[test]
fn a_slot_that_cannot_be_cleaned() {
    let package = package("test -e mended || { touch mended; exit 3; }; :");
    let output = run(&package, &["process", CLEAN, CLEAN_ASYNC]);
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    let verdicts = verdicts(&output);
    let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| *verdict == "FAILED").map(|(name, _)| name.as_str()).collect();
    assert_eq!(failed, ["scenario::process_wants_it_clean"], "{}", said(&output));
    let sentence = "no slot of pool `behaviour.json` for the test `scenario::process_wants_it_clean`: slot only reset failed";
    assert!(said(&output).contains(sentence), "{}", said(&output));
    let tests: Vec<_> = package.entered().into_iter().filter(|(_, slot)| slot == "only").map(|(name, _)| name).collect();
    assert_eq!(tests, ["process", CLEAN_ASYNC]);
    assert_eq!(package.held(), NONE);
}

/// Whoever does not ask for it goes on with the slot as it is.
#[test]
fn the_others_do_not_mind() {
    let package = package("exit 3; :");
    let output = run(&package, &["process", CLEAN, "process_result"]);
    assert_eq!(verdicts(&output).values().filter(|verdict| *verdict == "ok").count(), 2, "{}", said(&output));
}

/// Under `cargo lease` the slot was clean when the process got it.
#[test]
fn an_outer_slot_is_cleaned_between_the_tests_of_a_process() {
    let package = package(RESET);
    let outer = package.request().acquire().unwrap();
    fs::remove_file(package.pool_file().with_file_name("log")).unwrap();
    let names = ["scenario::process_wants_it_clean", "scenario::process_wants_it_clean_async"];
    let output = package.program_under(&outer, &["--exact", "--test-threads=1", names[0], names[1]]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    let done: Vec<_> = package.entered().into_iter().map(|(name, _)| name).collect();
    assert_eq!(done, [CLEAN, "reset", "health", CLEAN_ASYNC]);
    outer.release().unwrap();
}
