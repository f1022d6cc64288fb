//! How tests with claims end.

use lease_harness::Wait;

use crate::program::{code, said};
use crate::taking::{package, request};

#[test]
fn claims_that_are_lost_end_the_process_with_75() {
    let package = package();
    let child = package.start_and_enter(&package.gate(), &mut package.program(&["--exact", "scenario::options"]));
    let claims = request(&package).scope("quick").open().unwrap();
    let owner = claims.list().unwrap()[0].owner.clone();
    claims.release(&owner, None, None).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(75), "{}", said(&output));
    assert!(said(&output).contains("lease-harness: the claims write:k were lost: "), "{}", said(&output));
}

/// A test that ends before a heartbeat has noticed is not green either.
#[test]
fn a_loss_is_noticed_at_the_end() {
    let package = package();
    let child = package.start_and_enter(&package.gate(), &mut package.program(&["--exact", "scenario::plain"]));
    let claims = request(&package).open().unwrap();
    let owner = claims.list().unwrap()[0].owner.clone();
    claims.release(&owner, None, None).unwrap();
    std::fs::write(package.gate(), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(75), "{}", said(&output));
}

#[test]
fn the_claims_of_a_killed_process_are_free() {
    for scenario in ["scenario::plain", "scenario::above_tokio", "scenario::slot_above"] {
        let package = package();
        let mut child = package.start_and_enter(&package.gate(), &mut package.program(&["--exact", scenario]));
        child.kill().unwrap();
        child.wait().unwrap();
        request(&package).write("k").unwrap().wait(Wait::No).acquire().unwrap().release().unwrap();
    }
}
