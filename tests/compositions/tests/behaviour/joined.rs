//! Under a slot that somebody else holds, as below `cargo lease`.

use crate::program::{Package, code, said, verdicts};

#[test]
fn every_test_runs_over_the_outer_slot() {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "outer"}, {"id": "other"}]}"#);
    let outer = package.request().acquire().unwrap();
    let output = package.program_under(&outer, &["scenario::", "--skip", "process_case_panics"]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    let passed = verdicts(&output).values().filter(|verdict| *verdict == "ok").count();
    let entered = package.entered();
    assert_eq!((passed, entered.len()), (14, 14), "{}", said(&output));
    assert!(entered.iter().all(|(_, slot)| slot == "outer"), "{entered:?}");
    assert_eq!(package.n_grants(), 1);
    outer.release().unwrap();
}

/// A slot of its own is a clean one, also where all tests share the outer slot.
#[test]
fn a_shared_slot_is_cleaned_before_each_test_that_asks_for_one() {
    let pool = r#"{"name": "behaviour", "slots": [{"id": "outer"}], "reset": "f() { echo cleaned >> cleanings; }; f"}"#;
    let package = Package::with_pool(pool);
    let outer = package.request().acquire().unwrap();
    let cleanings = || std::fs::read_to_string(package.pool_file().with_file_name("cleanings")).unwrap_or_default();
    let before = cleanings().lines().count();
    let output = package.program_under(&outer, &["--exact", "scenario::slot", "scenario::slot_result"]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    assert_eq!(package.entered().len(), 2);
    assert_eq!(cleanings().lines().count() - before, 1, "clean for the first, cleaned for the second");
    outer.release().unwrap();
}

#[test]
fn an_outer_slot_that_is_gone_is_not_used() {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "outer"}]}"#);
    let outer = package.request().acquire().unwrap();
    let mut program = package.program_under(&outer, &["--exact", "scenario::process", "scenario::slot"]);
    outer.release().unwrap();
    let output = program.output().unwrap();
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    assert_eq!(package.entered(), []);
}
