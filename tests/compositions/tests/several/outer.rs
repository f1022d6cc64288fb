//! Under a slot of one of the pools, as below `cargo lease`.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{NONE, PATIENCE, code, said};
use crate::scenario;
use crate::scene::Scene;

const SCENARIOS: [&str; 4] = ["scenario::process", "scenario::process_async", "scenario::slots", "scenario::slots_reversed"];

/// That one is joined, and the other taken.
#[test]
fn the_outer_slot_is_joined_and_the_other_taken() {
    for pool in ["db", "ports"] {
        let scene = Scene::new();
        let outer = scene.request(pool).acquire().unwrap();
        for scenario in SCENARIOS {
            let output = scene.package.program_under(&outer, &["--exact", scenario]).output().unwrap();
            assert_eq!(code(&output), Some(0), "{}", said(&output));
        }
        let together = scene.package.program_under(&outer, &["scenario::slots", "--skip", "impatient"]).output().unwrap();
        assert_eq!(code(&together), Some(0), "{}", said(&together));
        assert_eq!(scene.package.entered().len(), SCENARIOS.len() + 4);
        assert_eq!(scene.package.held().len(), 1);
        outer.release().unwrap();
        assert_eq!(scene.package.held(), NONE);
    }
}

/// What every grant sets says of the outer one, by which its holder finds what works on it.
#[test]
fn the_outer_token_stays_in_the_environment() {
    let scene = Scene::new();
    let outer = scene.request("ports").acquire().unwrap();
    let mut program = scene.package.program_under(&outer, &["--exact", "scenario::process"]);
    let output = program.env(scenario::TOKEN, outer.token()).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    outer.release().unwrap();
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it does not come to that: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_waited_for(scene: &Scene, pool: &str, n_waiting: usize) -> bool {
    scene.request(pool).status().unwrap().queue.len() == n_waiting
}

/// The outer slot is of the pool that is taken last, and whoever holds the first waits for it: no order was kept here, so
/// the test under the outer slot gives up, and the others go on.
#[test]
fn nobody_waits_for_ever_because_of_an_outer_slot() {
    for scenario in ["scenario::slots", "scenario::slots_async", "scenario::process"] {
        let scene = Scene::new();
        let outer = scene.request("ports").acquire().unwrap();
        let other = start(&mut scene.package.program(&["--exact", "scenario::slots"]));
        until("the other waits", || is_waited_for(&scene, "ports", 1));
        assert_eq!(scene.package.held().len(), 2, "the other has taken its first");
        let output = scene.package.program_under(&outer, &["--exact", scenario]).output().unwrap();
        assert_eq!(code(&output), Some(101), "{}", said(&output));
        assert!(said(&output).contains("whoever holds a slot of pool db waits for a slot that this process is already under"));
        assert_eq!(scene.package.entered(), []);
        outer.release().unwrap();
        let output = other.wait_with_output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", said(&output));
        assert_eq!(scene.package.held(), NONE);
    }
}

/// Whoever holds the other waits for nobody, and so will end.
#[test]
fn a_pool_that_is_only_busy_is_waited_for() {
    let scene = Scene::new();
    let outer = scene.request("ports").acquire().unwrap();
    let busy = scene.request("db").acquire().unwrap();
    let ours = start(&mut scene.package.program_under(&outer, &["--exact", "scenario::slots"]));
    until("ours waits", || is_waited_for(&scene, "db", 1));
    busy.release().unwrap();
    let output = ours.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    outer.release().unwrap();
}
