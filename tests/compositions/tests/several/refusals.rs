//! Slots of two pools that cannot be had: no body runs, nothing passes, and none of the slots is held.

use crate::program::{NONE, code, said};
use crate::scene::Scene;

#[track_caller]
fn check_refused(scene: &Scene, scenario: &str, n_held: usize, parts: &[&str]) {
    let output = scene.package.program(&["--exact", scenario]).output().unwrap();
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    for part in parts {
        assert!(said(&output).contains(part), "{part:?} in {}", said(&output));
    }
    assert_eq!(scene.package.entered(), []);
    assert_eq!(scene.package.held().len(), n_held);
}

#[test]
fn two_pools_that_set_one_variable_of_the_process() {
    let scene = Scene::new();
    scene.write("ports", r#""grantEnv": {"PORT": "{id}", "DB": "none"}"#);
    check_refused(&scene, "scenario::process", 0, &["the pools db and ports both set DB", "`db.json`, `ports.json`"]);
    scene.write("db", r#""ttlMinutes": 30"#);
    scene.write("ports", r#""ttlMinutes": 30"#);
    check_refused(&scene, "scenario::process_reversed", 0, &["the pools ports and db both set POOL_SLOT_ID", "grantEnv"]);
}

#[test]
fn one_pool_under_two_names() {
    let scene = Scene::new();
    std::fs::copy(scene.file("db"), scene.file("ports")).unwrap();
    check_refused(&scene, "scenario::slots", 0, &["db.json`", "ports.json`", "are both the pool db in", "one slot of a pool"]);
}

#[test]
fn nobody_keeps_one_slot_who_cannot_have_the_other() {
    for pool in ["db", "ports"] {
        let scene = Scene::new();
        let taken = scene.request(pool).acquire().unwrap();
        check_refused(&scene, "scenario::slots_impatient", 1, &[&format!("pool {pool} is saturated")]);
        taken.release().unwrap();
        scene.write(pool, r#""provision": "exit 3; :""#);
        check_refused(&scene, "scenario::slots", 0, &["slot 1 reset failed"]);
    }
}

#[test]
fn a_missing_file() {
    let scene = Scene::new();
    std::fs::remove_file(scene.file("ports")).unwrap();
    for scenario in ["scenario::process", "scenario::slots"] {
        check_refused(&scene, scenario, 0, &["ports.json"]);
    }
    assert_eq!(scene.package.held(), NONE);
}
