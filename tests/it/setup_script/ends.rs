//! Every way in which a run can end frees its slot, and nothing of ours is in the way of anybody.

use std::fs;

use lease_tests::{Running, process, wait};
use rustix::process::Signal;

use super::{Scene, check_said, script};

/// How a run that works in its slot is brought to its end.
enum End {
    /// The test ends by itself.
    Gate,
    Signals(&'static [Signal]),
}

/// What the run is told, how it ends, and nextest's exit code; none if it is killed.
const ENDS: [(&[&str], End, Option<i32>); 8] = [
    (&[], End::Gate, Some(0)),
    (&["LAB_FAILS"], End::Gate, Some(100)),
    (&[], End::Signals(&[Signal::INT]), Some(100)),
    (&["LAB_DEAF"], End::Signals(&[Signal::INT, Signal::INT]), Some(100)),
    (&[], End::Signals(&[Signal::TERM]), Some(100)),
    (&[], End::Signals(&[Signal::HUP]), Some(100)),
    (&[], End::Signals(&[Signal::QUIT]), Some(100)),
    (&[], End::Signals(&[Signal::KILL]), None),
];

#[test]
fn however_a_run_ends_its_slot_is_free() {
    let scene = Scene::new(&["a"], "", "");
    for (n_before, (variables, end, code)) in ENDS.iter().enumerate() {
        let mut command = scene.nextest(&["run", "holds"]);
        command.envs(variables.iter().map(|name| (name, "yes")));
        let run = scene.lab.start(command);
        wait::until_true("the test works", || scene.how_often("start") > n_before);
        assert!(scene.lab.record("slot-a").is_some(), "it is held");
        match end {
            End::Gate => scene.lab.open("gate"),
            End::Signals(signals) => send(&run, signals),
        }
        let run = run.finish();
        assert_eq!(run.status.code(), *code, "{}", run.account());
        scene.check_ended();
        let _ = fs::remove_file(scene.lab.path("gate"));
    }
    assert_eq!(scene.how_often("end"), 2, "who was cut off has not gone on");
}

/// The second of two comes when nextest has heard the first.
fn send(run: &Running, signals: &[Signal]) {
    for (n_before, signal) in signals.iter().enumerate() {
        wait::until_true("the signal before is heard", || n_before == 0 || run.stderr().contains("Cancel"));
        run.signal(*signal);
    }
}

#[test]
fn a_run_that_takes_too_long_altogether_ends_and_its_slot_is_free() {
    let scene = Scene::new(&["a"], "", "[profile.default]\nglobal-timeout = '2s'\n");
    scene.lab.run(scene.nextest(&["run", "holds"])).expect_code(100);
    assert_eq!(scene.how_often("provision"), 1);
    scene.check_ended();
}

#[test]
fn a_server_that_a_test_leaves_behind_ends_with_the_run() {
    let scene = Scene::new(&["a"], "", "");
    let daemon = "#[test] fn leaves() { let actor = std::env::var_os(\"LAB_ACTOR\").unwrap();
        assert!(std::process::Command::new(actor).args([\"daemon\", \"server\"]).status().unwrap().success()) }";
    fs::write(scene.folder.join("tests/leaves.rs"), daemon).expect("the laboratory is writable");
    scene.lab.run(scene.nextest(&["run", "leaves"])).expect_success();
    scene.check_ended();
}

#[test]
fn a_run_that_ends_while_its_script_waits_leaves_the_queue() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let scene = Scene::new(&["a"], "", "");
        let holder = scene.lab.start(scene.lab.lease_actor(&[], &["hold", "other-gate"]));
        scene.lab.history().wait_for("start", |_| true);
        let run = scene.lab.start(scene.nextest(&["run"]));
        scene.lab.wait_for_queue(1);
        run.signal(signal);
        let run = run.finish();
        assert_ne!(run.status.code(), Some(0), "{}", run.account());
        scene.lab.wait_for_queue(0);
        wait::until_true("the script has ended", || scene.processes_with("setup-script").is_empty());
        scene.lab.open("other-gate");
        holder.finish().expect_success();
        scene.check_ended();
        assert_eq!((scene.how_often("provision"), scene.how_often("noted")), (1, 0), "nothing was done for it");
    }
}

#[test]
fn the_keeper_holds_nothing_that_anybody_waits_for() {
    for more in ["", "capture-stdout = true\ncapture-stderr = true\n"] {
        let scene = Scene::new(&["a"], "", more);
        let run = scene.lab.start(scene.piped_nextest("run holds"));
        scene.lab.history().wait_for("start", |_| true);
        let keeper = scene.keeper();
        let leads_to_null =
            |stream: i32| fs::read_link(format!("/proc/{keeper}/fd/{stream}")).is_ok_and(|open| open == *"/dev/null");
        // Only its own pipe to the script may be open a moment longer than the script lives.
        assert!(leads_to_null(0) && leads_to_null(2), "keeper {keeper}");
        wait::until_true("standard output is let go of", || leads_to_null(1));
        assert_eq!(fs::read_link(format!("/proc/{keeper}/cwd")).expect("it has one").to_str(), Some("/"));
        scene.lab.open("gate");
        let run = run.finish().expect_success();
        check_said(&run, &["SETUP PASS", "1 test run: 1 passed", "code=0"]);
        assert!(!run.stdout.contains("LEAK"), "{}", run.account());
        scene.check_ended();
    }
}

#[test]
fn who_reads_a_killed_runs_output_is_not_kept_waiting() {
    let scene = Scene::new(&["a"], "", "");
    let run = scene.lab.start(scene.piped_nextest("run holds"));
    let holder = scene.lab.history().wait_for("start", |_| true).pid();
    process::kill(process::ancestor_with(process::parent_of(holder), "nextest"));
    check_said(&run.finish(), &["code=137"]);
    scene.check_ended();
}

#[test]
fn two_runs_at_once_take_turns() {
    let scene = Scene::new(&["a"], "", "");
    let first = scene.lab.start(scene.nextest(&["run", "holds"]));
    scene.lab.history().wait_for("start", |_| true);
    let second = scene.lab.start(scene.nextest(&["run", "holds"]));
    scene.lab.wait_for_queue(1);
    scene.lab.open("gate");
    first.finish().expect_success();
    let second = second.finish().expect_success();
    check_said(&second, &["pool saturated — queue position 1"]);
    assert_eq!(scene.lab.history().check_one_user_a_slot(), 2);
    scene.check_ended();
}

#[test]
fn an_archive_runs_in_one_slot_too() {
    let scene = Scene::unconfigured(&["a"]);
    scene.configure(&script("lease", "--no-wait", ""), "");
    let archive = scene.lab.path("tests.tar.zst").display().to_string();
    scene.lab.run(scene.nextest(&["archive", "--archive-file", &archive])).expect_success();
    assert_eq!(scene.how_often("provision"), 0);
    scene.lab.run(scene.nextest(&["run", "--archive-file", &archive, "notes"])).expect_success();
    assert_eq!(scene.lab.history().wait_for("noted", |_| true).get("slot"), "a");
    scene.check_ended();
}
