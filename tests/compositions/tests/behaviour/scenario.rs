//! Leased tests of every shape. In an ordinary run they pass; what a test of this program does with them is said in the
//! environment.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lease_harness::{Slot, leased_slot};
use rstest::rstest;

/// A file that gets the name of each scenario whose body runs.
pub(crate) const LOG: &str = "SCENARIO_LOG";
/// Set for scenarios that are to stay inside until this file is there.
pub(crate) const STAYS_UNTIL: &str = "SCENARIO_STAYS_UNTIL";
/// Set for scenarios that are to fail, or to end the process with this code.
pub(crate) const FAILS: &str = "SCENARIO_FAILS";
pub(crate) const EXITS: &str = "SCENARIO_EXITS";

/// Longer than any test here takes; then a process whose test failed is not left behind for ever.
const LONG: Duration = Duration::from_secs(300);

fn inside(name: &str, slot: &str) {
    if let Some(log) = std::env::var_os(LOG) {
        let mut log = OpenOptions::new().append(true).create(true).open(log).unwrap();
        log.write_all(format!("{name} {slot}\n").as_bytes()).unwrap();
    }
    assert!(std::env::var_os(FAILS).is_none(), "told to fail");
    if let Ok(code) = std::env::var(EXITS) {
        std::process::exit(code.parse().unwrap());
    }
    if let Some(gate) = std::env::var_os(STAYS_UNTIL).map(PathBuf::from) {
        let begun = Instant::now();
        while !gate.exists() && begun.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn inside_process(name: &str) {
    inside(name, &std::env::var("POOL_SLOT_ID").unwrap());
}

#[leased_slot(pool = "behaviour.json")]
#[test]
fn process() {
    inside_process("process");
}

#[leased_slot(pool = "behaviour.json")]
#[test]
fn process_result() -> Result<(), String> {
    inside_process("process_result");
    Ok(())
}

/// Ignored, because whether an ignored test takes a slot is what is tested.
#[test]
#[leased_slot(pool = "behaviour.json")]
#[ignore = "run by a test of this program"]
fn process_ignored() {
    inside_process("process_ignored");
}

#[leased_slot(pool = "behaviour.json")]
#[test]
#[cfg_attr(unix, cfg_attr(not(windows), ignore = "run by a test of this program"))]
fn process_by_condition() {
    inside_process("process_by_condition");
}

#[leased_slot(pool = "behaviour.json")]
#[test]
#[should_panic]
fn process_panics() {
    inside_process("process_panics");
    panic!("as expected");
}

#[leased_slot(pool = "behaviour.json")]
#[tokio::test]
#[should_panic]
async fn process_panics_async() {
    inside_process("process_panics_async");
    panic!("as expected");
}

#[leased_slot(pool = "behaviour.json")]
#[rstest]
#[case(false)]
#[should_panic]
#[case(true)]
fn process_case_panics(#[case] panics: bool) {
    inside_process("process_case_panics");
    assert!(!panics);
}

#[leased_slot(pool = "behaviour.json", reset)]
#[test]
fn process_wants_it_clean() {
    inside_process("process_wants_it_clean");
}

#[leased_slot(pool = "behaviour.json", reset)]
#[tokio::test]
async fn process_wants_it_clean_async() {
    inside_process("process_wants_it_clean_async");
}

#[leased_slot(pool = "behaviour.json", wait = 0)]
#[test]
fn process_impatient() {
    inside_process("process_impatient");
}

#[leased_slot(pool = "behaviour.json")]
#[test]
fn slot(slot: Slot) {
    inside("slot", slot.id());
}

#[leased_slot(pool = "behaviour.json")]
#[test]
fn slot_result(slot: &Slot) -> Result<(), String> {
    inside("slot_result", slot.id());
    Ok(())
}

#[leased_slot(pool = "behaviour.json")]
#[test]
#[ignore = "run by a test of this program"]
fn slot_ignored(slot: Slot) {
    inside("slot_ignored", slot.id());
}

#[leased_slot(pool = "behaviour.json")]
#[test]
#[should_panic]
fn slot_panics(slot: Slot) {
    inside("slot_panics", slot.id());
    panic!("as expected");
}

#[leased_slot(pool = "behaviour.json")]
#[tokio::test]
async fn slot_async(slot: Slot) {
    inside("slot_async", slot.id());
}

#[leased_slot(pool = "behaviour.json")]
#[tokio::test]
#[should_panic]
async fn slot_panics_async(slot: Slot) {
    inside("slot_panics_async", slot.id());
    panic!("as expected");
}

#[leased_slot(pool = "behaviour.json", wait = "no")]
#[test]
fn slot_impatient(slot: Slot) {
    inside("slot_impatient", slot.id());
}

#[leased_slot(pool = "behaviour.json")]
#[test]
fn slot_temp_dir(slot: Slot) {
    let folder = slot.temp_dir().unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::create_dir(folder.join("data")).unwrap();
    std::fs::write(slot.temp_dir().unwrap().join("data/file"), slot.id()).unwrap();
    inside("slot_temp_dir", slot.id());
}
