//! Leased tests over two pools. In an ordinary run they pass; what a test of this program does with them is said in the
//! environment.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lease_harness::{Slot, leased_slot};

/// A file that gets the name of each scenario whose body runs.
pub(crate) const LOG: &str = "SCENARIO_LOG";
/// Set for scenarios that are to stay inside until this file is there.
pub(crate) const STAYS_UNTIL: &str = "SCENARIO_STAYS_UNTIL";
/// Set to the token that the process is to have.
pub(crate) const TOKEN: &str = "SCENARIO_TOKEN";
/// Set to a shell's script that the scenario runs, and that leaves something behind.
pub(crate) const LEAVES: &str = "SCENARIO_LEAVES";

/// Longer than any test here takes; then a process whose test failed is not left behind for ever.
const LONG: Duration = Duration::from_secs(300);

fn inside(name: &str, db: &str, ports: &str) {
    if let Ok(script) = std::env::var(LEAVES) {
        assert!(std::process::Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }
    if let Some(log) = std::env::var_os(LOG) {
        let mut log = OpenOptions::new().append(true).create(true).open(log).unwrap();
        log.write_all(format!("{name} {db}+{ports}\n").as_bytes()).unwrap();
    }
    if let Some(gate) = std::env::var_os(STAYS_UNTIL).map(PathBuf::from) {
        let begun = Instant::now();
        while !gate.exists() && begun.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn inside_process(name: &str) {
    let variable = |name: &str| std::env::var(name).unwrap();
    let grants = variable("LEASE_GRANTS");
    assert!(grants.contains("\"pool\":\"db\"") && grants.contains("\"pool\":\"ports\""), "{grants}");
    assert!(grants.contains(&variable("POOL_RUN_TOKEN")));
    if let Ok(token) = std::env::var(TOKEN) {
        assert_eq!(variable("POOL_RUN_TOKEN"), token);
    }
    inside(name, &variable("DB"), &variable("PORT"));
}

/// Each is of its pool, and knows of the other's grant.
#[track_caller]
fn inside_slots(name: &str, db: &Slot, ports: &Slot) {
    assert_eq!((db.pool(), db.env("DB")), ("db", Some(db.id())));
    assert_eq!((ports.pool(), ports.env("PORT")), ("ports", Some(ports.id())));
    for slot in [db, ports] {
        let grants = slot.env("LEASE_GRANTS").unwrap();
        assert!(grants.contains(db.token()) && grants.contains(ports.token()), "{grants}");
    }
    inside(name, db.id(), ports.id());
}

#[leased_slot(pools("db.json", "ports.json"))]
#[test]
fn process() {
    inside_process("process");
}

#[leased_slot(pools("ports.json", "./db.json"))]
#[test]
fn process_reversed() -> Result<(), String> {
    inside_process("process_reversed");
    Ok(())
}

#[leased_slot(pools("db.json", "ports.json"), reset)]
#[test]
fn process_wants_them_clean() {
    inside_process("process_wants_them_clean");
}

#[leased_slot(pools("db.json", "ports.json"))]
#[tokio::test]
async fn process_async() {
    inside_process("process_async");
}

#[leased_slot(pools("db.json", "ports.json"))]
#[test]
fn slots(db: Slot, ports: Slot) {
    inside_slots("slots", &db, &ports);
}

#[leased_slot(pools("ports.json", "db.json"))]
#[test]
fn slots_reversed(ports: &Slot, db: Slot) -> Result<(), String> {
    inside_slots("slots_reversed", &db, ports);
    Ok(())
}

#[leased_slot(pools("db.json", "ports.json"))]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_async(db: &Slot, ports: &mut Slot) {
    inside_slots("slots_async", db, ports);
}

#[leased_slot(pools("ports.json", "db.json"))]
#[tokio::test]
#[should_panic]
async fn slots_panic(ports: Slot, db: Slot) {
    inside_slots("slots_panic", &db, &ports);
    panic!("as expected");
}

#[leased_slot(pools("db.json", "ports.json"), wait = 0)]
#[test]
#[should_panic]
fn slots_impatient(db: Slot, ports: Slot) {
    inside_slots("slots_impatient", &db, &ports);
    panic!("as expected");
}
