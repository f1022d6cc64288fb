//! A lease that is lost while a test runs under it.

use std::fs;

use crate::program::{Package, said};

/// A second is its lifetime; a heartbeat notices within a fifth of it.
const SHORT: &str = r#"{"name": "behaviour", "ttlMinutes": 0.02, "slots": [{"id": "only"}]}"#;

#[track_caller]
fn check_lost(test: &str) {
    let package = Package::with_pool(SHORT);
    let child = package.start_and_enter(&package.gate(), &mut package.program(&["--exact", test]));
    let held = package.held();
    assert_eq!(held.len(), 1);
    fs::remove_file(&held[0]).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(75), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("slot only of pool behaviour") && text.contains("was lost"), "{text}");
    assert!(!text.contains("test result: ok"), "{text}");
}

#[test]
fn ends_the_process() {
    check_lost("scenario::process");
    check_lost("scenario::process_panics");
    check_lost("scenario::slot");
    check_lost("scenario::slot_async");
    check_lost("scenario::slot_panics");
}

/// Taken away between the last heartbeat and the end, it is noticed when it is given back.
#[track_caller]
fn check_lost_unnoticed(test: &str) {
    let package = Package::with_pool(r#"{"name": "behaviour", "ttlMinutes": 60, "slots": [{"id": "only"}]}"#);
    let gate = package.gate();
    let child = package.start_and_enter(&gate, &mut package.program(&["--exact", test]));
    fs::remove_file(&package.held()[0]).unwrap();
    fs::write(&gate, "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(75), "{}", said(&output));
    assert!(said(&output).contains("slot only of pool behaviour"), "{}", said(&output));
}

#[test]
fn is_noticed_at_the_end_at_the_latest() {
    check_lost_unnoticed("scenario::process");
    check_lost_unnoticed("scenario::slot");
    check_lost_unnoticed("scenario::slot_panics");
}
