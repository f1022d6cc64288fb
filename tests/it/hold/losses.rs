//! A run that has lost one of its leases is not left running.

use std::fs;

use lease_tests::{process, wait};
use rustix::process::{Pid, Signal, kill_process};

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

/// It is in no slot, and may have looked already whether it is to be in one.
#[test]
fn who_waits_for_a_turn_in_a_lost_slot_is_ended_too() {
    let scene = Scene::new(&["a"]);
    scene.configure(
        "[test-groups]\nmine = { max-threads = 8 }\n\
         [[profile.default.overrides]]\nfilter = 'all()'\ntest-group = 'mine'\n",
    );
    let run = scene.lab.start(scene.held(&["nextest", "run", "holds", "-j2"]));
    scene.lab.history().wait_for("start", |_| true);
    wait::until_true("another waits for its turn", || scene.processes_with("--exact").len() == 2);
    let waiting = scene.processes_with("__runner");
    assert_eq!(waiting.len(), 1);
    // It cannot find out by itself.
    let process = i32::try_from(waiting[0]).ok().and_then(Pid::from_raw).expect("a number");
    kill_process(process, Signal::STOP).expect("it waits");
    scene.lab.run(scene.lab.lease(["pool", "release", "--slot", "a", "--force", "--owner", "admin"])).expect_success();
    assert_eq!(scene.processes_with("--exact"), [0; 0], "somebody could still begin to work in the slot");
    run.finish().expect_code(75);
    scene.check_ended();
    assert_eq!(scene.how_often("start"), 1);
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
