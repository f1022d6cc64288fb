//! What a listing of nextest's tells of tests that take slots, if somebody asks.

use std::fs;

use lease_harness::harness::{LeasedTest, RunNotes};
use lease_tests::{Lab, binary};

use crate::mimic::run;
use crate::support::{lab, words_for};

const PACKAGE: &str = "lease-compositions";

/// Lists tests of the compositions, with notes asked for or not, and gives the list and the notes.
fn list(lab: &Lab, target: &str, notes: Option<&RunNotes>) -> (String, Vec<(String, LeasedTest)>) {
    let mut command = lab.cargo(words_for(&["nextest", "list"], target, &["--message-format", "json"]));
    if let Some(notes) = notes {
        command.env(RunNotes::TESTS, notes.folder());
    }
    let list = run(lab, command).stdout;
    (list, notes.map(RunNotes::tests).unwrap_or_default())
}

fn notes(lab: &Lab) -> RunNotes {
    let folder = lab.path("notes");
    fs::create_dir(&folder).expect("the laboratory is writable");
    RunNotes::in_folder(folder)
}

/// The tests of one name; their pool was found beside the package's manifest.
#[track_caller]
fn check(tests: &[(String, LeasedTest)], target: &str, pool: &str, expected: &[(&str, bool)]) {
    let found = binary::workspace().join("tests/compositions").join(pool);
    let told = |name: &str| tests.iter().find(|(id, test)| *id == format!("{PACKAGE}::{target}") && test.name == name);
    for (name, makes_several) in expected {
        let (_, test) = told(name).unwrap_or_else(|| panic!("{name} is not told: {tests:?}"));
        assert_eq!(test.makes_several, *makes_several, "{name}");
        assert_eq!((&*test.pools[0].written, test.pools[0].found.as_ref()), (pool, Some(&found)), "{name}");
    }
}

#[test]
fn tests_of_both_forms_and_trials_are_told() {
    let lab = lab();
    let notes = notes(&lab);
    let (_, tests) = list(&lab, "slot", Some(&notes));
    check(&tests, "slot", "pool.json", &[("fixtures::above_cases", true), ("fixtures::above", true)]);
    let (_, tests) = list(&lab, "process", Some(&notes));
    check(&tests, "process", "pool.json", &[("fixtures::above", true), ("plain::above_test", false)]);
    let (_, tests) = list(&lab, "mimic", Some(&notes));
    check(&tests, "mimic", "behaviour.json", &[("not_applicable", false)]);
    let (_, tests) = list(&lab, "several", Some(&notes));
    let several = tests.iter().filter(|(binary_id, test)| binary_id.ends_with("several") && test.pools.len() == 2).count();
    assert!(0 < several, "{tests:?}");
    assert!(!lab.store().exists(), "a listing takes no slot");
}

#[test]
fn a_listing_is_the_same_whoever_asks_and_whatever_becomes_of_the_notes() {
    let lab = lab();
    let nowhere = RunNotes::in_folder(lab.path("no/such/folder"));
    let lists = [None, Some(&notes(&lab)), Some(&nowhere)].map(|notes| list(&lab, "slot", notes).0);
    assert!(lists[0].contains("above_cases"), "{}", lists[0]);
    assert!(lists.iter().all(|list| *list == lists[0]));
}
