//! Under claims that somebody around us holds, as below `cargo lease run --claim`.

use std::process::Command;

use lease_harness::ClaimSet;

use crate::program::{Package, code, said};
use crate::taking::{package, request};

fn program_under(package: &Package, outer: &ClaimSet, args: &[&str]) -> Command {
    let mut command = package.program(args);
    command.envs(outer.envs().iter().map(|(name, value)| (name, value)));
    command
}

#[test]
fn what_is_held_around_us_is_joined_in_turns() {
    let package = package();
    let outer = request(&package).write("k").unwrap().write("path:fixtures").unwrap().acquire().unwrap();
    let scenarios = ["plain", "with_its_set", "above_tokio", "below_tokio", "panics", "slot_above", "nested"];
    let scenarios: Vec<_> = scenarios.iter().map(|name| format!("scenario::{name}")).collect();
    let args: Vec<_> = ["--exact", "--test-threads=4"].into_iter().chain(scenarios.iter().map(String::as_str)).collect();
    // The first one stays inside until the others could have come in.
    let child = package.start_and_enter(&package.gate(), &mut program_under(&package, &outer, &args));
    std::fs::write(package.gate(), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    assert_eq!(package.entered().len(), scenarios.len());
    assert_eq!(request(&package).open().unwrap().list().unwrap(), outer.leases());
    outer.release().unwrap();
}

#[test]
fn what_goes_beyond_is_not_waited_for() {
    let package = package();
    let outer = request(&package).read("k").unwrap().acquire().unwrap();
    let output = program_under(&package, &outer, &["--exact", "scenario::plain"]).output().unwrap();
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    assert!(said(&output).contains("LEASE_HOLD_AND_WAIT"), "{}", said(&output));
    assert_eq!(package.entered(), []);
    let output = program_under(&package, &outer, &["--exact", "scenario::reader"]).output().unwrap();
    assert_eq!(code(&output), Some(0), "what is free is had: {}", said(&output));
    outer.release().unwrap();
}
