//! Who has claims, and in which order.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lease_harness::{ClaimRequest, Wait};

use crate::program::{PATIENCE, Package, code, said, verdicts};

/// All scenarios whose claims exclude each other.
const WRITERS: [&str; 8] = [
    "scenario::plain",
    "scenario::below",
    "scenario::with_its_set",
    "scenario::above_tokio",
    "scenario::below_tokio",
    "scenario::panics",
    "scenario::slot_above",
    "scenario::slot_below",
];

/// A pool of two slots, so that slots alone keep nobody apart.
pub(crate) fn package() -> Package {
    Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "1"}, {"id": "2"}]}"#)
}

/// Claims of the package, as its tests ask for them.
pub(crate) fn request(package: &Package) -> ClaimRequest {
    let folder = package.pool_file().parent().unwrap().canonicalize().unwrap();
    ClaimRequest::new().store(package.store()).scope(folder.display().to_string()).owner("outside")
}

pub(crate) fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it does not come to that: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// In one process and in several.
#[test]
fn tests_whose_claims_exclude_each_other_take_turns() {
    let package = package();
    let children: Vec<_> = (0..3).map(|_| start(package.program(&[&["--exact"][..], &WRITERS].concat()))).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", said(&output));
    }
    assert_eq!(package.entered().len(), 3 * WRITERS.len());
    assert!(request(&package).open().unwrap().list().unwrap().is_empty());
}

#[test]
fn every_case_of_a_generator_is_leased() {
    let package = package();
    let held = request(&package).write("k").unwrap().acquire().unwrap();
    let child = start(package.program(&["cases", "--test-threads=4"]));
    let claims = request(&package).open().unwrap();
    until("the cases wait", || claims.waiters().unwrap().len() == 4);
    assert_eq!(package.entered(), []);
    held.release().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    assert_eq!(package.entered().len(), 4);
}

#[test]
fn readers_are_inside_together() {
    let package = package();
    let readers = ["--exact", "scenario::reader", "scenario::another_reader"];
    let child = package.start_and_enter(&package.gate(), &mut package.program(&readers));
    until("both are inside", || package.entered().len() == 2);
    std::fs::write(package.gate(), "").unwrap();
    assert_eq!(code(&child.wait_with_output().unwrap()), Some(0));
}

/// Whoever has no slot yet holds no claim.
#[test]
fn a_slot_is_taken_before_claims_in_either_order() {
    for scenario in ["scenario::slot_above", "scenario::slot_below", "scenario::slot_of_the_process"] {
        let package = package();
        let slots = [package.request().acquire().unwrap(), package.request().acquire().unwrap()];
        let child = start(package.program(&["--exact", scenario]));
        until("it waits for a slot", || package.request().status().unwrap().queue.len() == 1);
        let claims = request(&package).open().unwrap();
        assert!(claims.list().unwrap().is_empty() && claims.waiters().unwrap().is_empty(), "{scenario}");
        let held = request(&package).read("k").unwrap().wait(Wait::No).acquire().unwrap();
        slots.into_iter().for_each(|slot| slot.release().unwrap());
        until("it waits for its claims", || claims.waiters().unwrap().len() == 1);
        assert_eq!(package.held().len(), 1, "and holds its slot");
        held.release().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", said(&output));
    }
}

#[test]
fn claims_that_are_not_had_fail_the_test_also_one_that_should_panic() {
    let package = package();
    let held = request(&package).read("impatient").unwrap().acquire().unwrap();
    let output = package.program(&["--exact", "scenario::impatient"]).output().unwrap();
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    let sentence = "no claims `write:impatient` for the test `scenario::impatient`: not all claims could be had: impatient is held by outside/";
    assert!(said(&output).contains(sentence), "{}", said(&output));
    assert_eq!((package.entered(), verdicts(&output)["scenario::impatient"].as_str()), (Vec::new(), "FAILED"));
    held.release().unwrap();
}
