//! Under a slot of one of the pools, as below `cargo lease`.

use crate::program::{NONE, code, said};
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
