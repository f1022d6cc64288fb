//! A run that has lost its lease is not left running.

use std::fs;

use lease_tests::{process, wait};
use rustix::process::{Pid, Signal, kill_process};

use super::{Scene, check_said};

#[test]
fn a_run_whose_lease_is_taken_is_ended_and_says_why() {
    let scene = Scene::new(&["a"], "", "");
    let mut run = scene.lab.start(scene.piped_nextest("run holds notes --test-threads 1"));
    scene.lab.history().wait_for("start", |_| true);
    // A heartbeat that had just read the record writes it back once.
    wait::until_true("the run ends", || {
        let _ = fs::remove_file(scene.lab.store().join("slot-a.json"));
        run.has_ended()
    });
    check_said(&run.finish(), &["error: the lease of slot a of pool pool was lost: nobody has it now", "code=100"]);
    scene.check_ended();
    assert_eq!((scene.how_often("end"), scene.how_often("noted")), (0, 0), "nothing went on");
}

#[test]
fn the_keeper_beats_as_often_as_the_script_was_told() {
    let scene = Scene::new(&["a"], "--heartbeat-secs 0.05", "");
    let run = scene.lab.start(scene.nextest(&["run", "holds"]));
    // The script has ended before a test begins.
    scene.lab.history().wait_for("start", |_| true);
    let heartbeat = || scene.lab.record("slot-a").map(|record| record["heartbeat"].clone());
    for _ in 0..3 {
        let last = heartbeat();
        wait::until_true("another heartbeat", || heartbeat() != last);
    }
    scene.lab.open("gate");
    run.finish().expect_success();
    scene.check_ended();
}

#[test]
fn a_keeper_that_is_told_to_end_ends_the_run_first() {
    let scene = Scene::new(&["a"], "", "");
    let run = scene.lab.start(scene.piped_nextest("run holds"));
    scene.lab.history().wait_for("start", |_| true);
    let keeper = i32::try_from(scene.keeper()).ok().and_then(Pid::from_raw).expect("a number");
    kill_process(keeper, Signal::TERM).expect("it lives as long as the run");
    check_said(&run.finish(), &["error: the keeper of slot a of pool pool was told to end", "code=100"]);
    scene.check_ended();
    assert_eq!(scene.how_often("end"), 0);
}

#[test]
fn when_the_keeper_is_killed_the_next_in_line_ends_the_tests_and_has_the_slot() {
    let scene = Scene::new(&["a"], "", "");
    let run = scene.lab.start(scene.nextest(&["run", "holds"]));
    let test = scene.lab.history().wait_for("start", |_| true).pid();
    process::kill(scene.keeper());
    let next = scene.lab.start(scene.lab.lease_actor(&[], &["hold", "other-gate"]));
    scene.lab.history().wait_for("start", |event| event.pid() != test);
    assert!(process::arguments_of(test).is_empty(), "the test has ended before another has the slot");
    scene.lab.open("other-gate");
    next.finish().expect_success();
    run.finish().expect_code(100);
    assert_eq!(scene.how_often("end"), 1);
    scene.check_ended();
}
