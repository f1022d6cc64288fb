//! Tests that say in which of nextest's groups they are.

use std::fs::OpenOptions;
use std::io::Write as _;

use lease_harness::{Slot, leased_slot};
use rstest::rstest;

/// Which file they say it in.
const LOG: &str = "SCENARIO_LOG";

/// One write call, so that the line stands whole behind the one before it.
fn tell(test: &str) {
    let Some(log) = std::env::var_os(LOG) else { return };
    let group = std::env::var("NEXTEST_TEST_GROUP").unwrap_or_default();
    let mut log = OpenOptions::new().create(true).append(true).open(log).expect("the log opens");
    log.write_all(format!("{test} {group}\n").as_bytes()).expect("the log is writable");
}

#[test]
fn free() {
    tell("free");
}

#[test]
#[leased_slot(pool = "crowd.json")]
fn of_the_process() {
    tell("of_the_process");
}

#[leased_slot(pool = "ports.json")]
#[test]
fn of_the_test(_slot: Slot) {
    tell("of_the_test");
}

#[leased_slot(pools("ports.json", "crowd.json"))]
#[test]
fn of_both(_port: Slot, _place: Slot) {
    tell("of_both");
}

#[leased_slot(pool = "crowd.json")]
#[rstest]
#[case(1)]
#[case(2)]
fn of_several(#[case] case: u32) {
    tell(&format!("of_several_{case}"));
}
