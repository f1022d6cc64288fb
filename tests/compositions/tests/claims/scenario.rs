//! Tests with claims. In an ordinary run they pass; what a test of this program does with them is said in the environment.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lease_harness::{ClaimSet, Slot, leased_claims, leased_slot};
use rstest::rstest;

/// A file that gets the name of each scenario whose body runs.
pub(crate) const LOG: &str = "SCENARIO_LOG";
/// Set for scenarios that are to stay inside until this file is there.
pub(crate) const STAYS_UNTIL: &str = "SCENARIO_STAYS_UNTIL";

/// Longer than any test here takes; then a process whose test failed is not left behind for ever.
const LONG: Duration = Duration::from_secs(300);

/// A file that is there while a writer is inside.
struct Alone(Option<PathBuf>);

impl Alone {
    fn enter() -> Self {
        let file = std::env::var_os(LOG).map(|log| PathBuf::from(log).with_extension("alone"));
        file.iter().for_each(|file| drop(File::create_new(file).expect("nobody else is inside")));
        Self(file)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.0.iter().for_each(|file| std::fs::remove_file(file).expect("it is ours"));
    }
}

fn inside(name: &str) {
    if let Some(log) = std::env::var_os(LOG) {
        let mut log = OpenOptions::new().append(true).create(true).open(log).unwrap();
        log.write_all(format!("{name} -\n").as_bytes()).unwrap();
    }
    if let Some(gate) = std::env::var_os(STAYS_UNTIL).map(PathBuf::from) {
        let begun = Instant::now();
        while !gate.exists() && begun.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn alone(name: &str) {
    let _alone = Alone::enter();
    inside(name);
}

#[leased_claims(write("k"))]
#[test]
fn plain() {
    alone("plain");
}

#[test]
#[leased_claims(read("other"), exclusive("k"))]
fn below() -> Result<(), String> {
    alone("below");
    Ok(())
}

#[leased_claims(write("k", "path:fixtures"))]
#[test]
fn with_its_set(claims: ClaimSet) {
    assert_eq!(claims.leases().len(), 2);
    assert!(claims.fence("k").is_some() && claims.fence("path:fixtures").is_some() && claims.fence("x").is_none());
    alone("with_its_set");
}

#[leased_claims(write("k"))]
#[tokio::test]
async fn above_tokio(claims: &ClaimSet) {
    assert!(claims.fence("k").is_some());
    alone("above_tokio");
}

#[tokio::test]
#[leased_claims(write("k"))]
async fn below_tokio() {
    alone("below_tokio");
}

#[leased_claims(write("k"))]
#[test]
#[should_panic(expected = "on purpose")]
fn panics() {
    alone("panics");
    panic!("on purpose");
}

#[rstest]
#[case(1)]
#[case(2)]
#[leased_claims(write("k"))]
fn cases(#[case] number: u32) {
    assert!((1..=2).contains(&number));
    alone("cases");
}

#[leased_claims(write("k"))]
#[rstest]
fn above_cases(#[values(1, 2)] _number: u32, claims: ClaimSet) {
    assert!(claims.fence("k").is_some());
    alone("above_cases");
}

#[leased_slot(pool = "behaviour.json")]
#[leased_claims(write("k"))]
#[test]
fn slot_above(slot: Slot, claims: &ClaimSet) {
    assert!(!slot.is_lost() && claims.fence("k").is_some());
    alone("slot_above");
}

#[leased_claims(write("k"))]
#[leased_slot(pool = "behaviour.json")]
#[test]
fn slot_below(claims: ClaimSet, slot: &Slot) {
    assert!(!slot.is_lost() && claims.fence("k").is_some());
    alone("slot_below");
}

#[leased_claims(write("k"))]
#[leased_slot(pool = "behaviour.json")]
#[tokio::test]
async fn slot_of_the_process() {
    assert!(std::env::var_os("POOL_RUN_SLOT").is_some());
    alone("slot_of_the_process");
}

/// Nobody else in an ordinary run has what it does not wait for.
#[leased_claims(write("impatient"), wait = 0)]
#[test]
#[should_panic]
fn impatient() {
    alone("impatient");
    panic!("as expected");
}

#[leased_claims(write("k"), wait = "1ms", ttl = 0.02, owner = "quick", scope = "quick")]
#[test]
fn options(claims: ClaimSet) {
    assert!(claims.leases()[0].owner.starts_with("quick/"));
    assert_eq!(claims.leases()[0].repo_id, "quick");
    inside("options");
}

#[leased_claims(read("shared"))]
#[test]
fn reader() {
    inside("reader");
}

#[leased_claims(read("shared"))]
#[test]
fn another_reader() {
    inside("another_reader");
}

/// Below another one it would wait for itself.
#[leased_claims(write("k"))]
#[test]
fn nested() {
    let inner = std::panic::catch_unwind(helper).expect_err("it has no claims");
    let said = inner.downcast_ref::<String>().expect("a sentence");
    assert!(said.contains("inside another test with"), "{said}");
    alone("nested");
}

#[leased_claims(write("k"))]
fn helper() {
    alone("helper");
}
