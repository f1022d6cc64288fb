//! A run that has lost one of its leases is not left running.

use std::fs;

use lease_tests::{process, wait};
use rustix::process::Signal;

use super::{Scene, check_said};

#[test]
fn a_run_whose_lease_is_taken_ends_with_75_and_says_why() {
    let scene = Scene::new(&["a", "b"]);
    let words = ["--ttl", "0.05", "nextest", "run", "-E", "test(=holds)|test(=holds_as_well)", "-j2"];
    let mut command = scene.held(&words);
    command.env("LAB_DEAF", "yes");
    let mut run = scene.lab.start(command);
    wait::until_true("both tests work", || scene.how_often("start") == 2);
    // A heartbeat that had just read the record writes it back once.
    wait::until_true("the run ends", || {
        let _ = fs::remove_file(scene.lab.store().join("slot-b.json"));
        run.has_ended()
    });
    let run = run.finish().expect_code(75);
    check_said(&run, &["error: slot b of pool pool, held since", "was lost"]);
    scene.check_ended();
    assert_eq!(scene.how_often("end"), 0, "nothing went on");
}

#[test]
fn a_slot_that_is_released_by_force_ends_the_run_with_75() {
    let scene = Scene::new(&["a"]);
    let run = scene.lab.start(scene.held(&["nextest", "run", "holds"]));
    let test = scene.lab.history().wait_for("start", |_| true).pid();
    scene.lab.run(scene.lab.lease(["pool", "release", "--slot", "a", "--force", "--owner", "admin"])).expect_success();
    assert!(process::arguments_of(test).is_empty(), "the test has ended before another can have the slot");
    let run = run.finish().expect_code(75);
    check_said(&run, &["slot a of pool pool", "was lost"]);
    scene.check_ended();
}

#[test]
fn a_run_that_is_stopped_for_too_long_loses_its_slots() {
    let scene = Scene::new(&["a"]);
    let run = scene.lab.start(scene.held(&["--ttl", "0.05", "nextest", "run", "holds"]));
    let test = scene.lab.history().wait_for("start", |_| true).pid();
    run.signal_group(Signal::STOP);
    scene.lab.run(scene.lab.lease_actor(&[], &["note", "next"])).expect_success();
    assert!(process::arguments_of(test).is_empty(), "the test has ended before another has the slot");
    run.signal_group(Signal::CONT);
    run.finish().expect_code(75);
    scene.check_ended();
    assert_eq!(scene.how_often("end"), 0);
}
