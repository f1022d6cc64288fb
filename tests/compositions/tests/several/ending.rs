//! How a test over two pools ends.

use std::fs;

use lease_harness::Wait;

use crate::program::{NONE, code, said};
use crate::scenario;
use crate::scene::Scene;

/// A second is a lease's lifetime here; a heartbeat notices within a fifth of it.
#[track_caller]
fn check_lost(scenario: &str, pool: &str) {
    let scene = Scene::new();
    scene.write("db", r#""grantEnv": {"DB": "{id}"}, "ttlMinutes": 0.02"#);
    scene.write("ports", r#""grantEnv": {"PORT": "{id}"}, "ttlMinutes": 0.02"#);
    let package = &scene.package;
    let child = package.start_and_enter(&package.gate(), &mut package.program(&["--exact", scenario]));
    assert_eq!(package.held().len(), 2);
    fs::remove_file(package.store().join(format!("slot-{pool}-1.json"))).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(75), "{}", said(&output));
    assert!(said(&output).contains(&format!("slot 1 of pool {pool}")), "{}", said(&output));
    assert_eq!(package.held().len(), usize::from(scenario.contains("slots")), "the process's slots are given back at its exit");
}

#[test]
fn the_loss_of_any_slot_ends_the_process() {
    for scenario in ["scenario::process", "scenario::slots", "scenario::slots_async", "scenario::slots_panic"] {
        for pool in ["db", "ports"] {
            check_lost(scenario, pool);
        }
    }
}

#[test]
fn all_slots_are_cleaned_for_a_test_that_asks_for_it() {
    let scene = Scene::new();
    for (pool, variable) in [("db", "DB"), ("ports", "PORT")] {
        scene.write(pool, &format!(r#""grantEnv": {{"{variable}": "{{id}}"}}, "reset": "echo {pool} cleaned >> log; :""#));
    }
    let scenarios = ["--exact", "--test-threads=1", "scenario::process", "scenario::process_wants_them_clean"];
    let output = scene.package.program(&scenarios).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    let done: Vec<_> = scene.package.entered().into_iter().map(|(name, _)| name).collect();
    // The pool that has no provision is made clean by its reset, once for the grant.
    assert_eq!(done, ["db", "ports", "process", "db", "ports", "process_wants_them_clean"]);
}

#[test]
fn all_slots_are_given_back() {
    for scenario in ["scenario::process", "scenario::process_async", "scenario::slots", "scenario::slots_panic"] {
        let scene = Scene::new();
        let output = scene.package.program(&["--exact", scenario]).output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", said(&output));
        assert_eq!(scene.package.entered().len(), 1);
        assert_eq!(scene.package.held(), NONE);
    }
}

#[test]
fn all_slots_of_a_killed_process_are_free_for_the_next() {
    for scenario in ["scenario::process", "scenario::slots"] {
        let scene = Scene::new();
        let mut command = scene.package.program(&["--exact", scenario]);
        let mut child = scene.package.start_and_enter(&scene.package.gate(), &mut command);
        child.kill().unwrap();
        child.wait().unwrap();
        for pool in ["db", "ports"] {
            scene.request(pool).wait(Wait::No).acquire().unwrap().release().unwrap();
        }
    }
}

/// Its environment has room for one token; the other grants are listed there.
#[test]
fn what_a_killed_process_has_left_is_ended_for_the_next_of_any_slot() {
    for pool in ["db", "ports"] {
        let scene = Scene::new();
        let mut command = scene.package.program(&["--exact", "scenario::process"]);
        command.env(scenario::LEAVES, "setsid sh -c 'sleep 240; echo survived' &");
        let mut child = scene.package.start_and_enter(&scene.package.gate(), &mut command);
        child.kill().unwrap();
        scene.request(pool).acquire().unwrap().release().unwrap();
        // Its output ends with the last who can write there.
        let output = child.wait_with_output().unwrap();
        assert!(!said(&output).contains("survived"), "{pool}");
    }
}
