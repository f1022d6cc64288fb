//! Every way in which a run can end frees its slots, and nothing of it works on.

use std::fs;

use lease_tests::{Event, Running, binary, environment, process, reap, wait};
use rustix::process::Signal;

use super::{Scene, check_said};
use crate::support::Target;

/// How a run that works in its slots is brought to its end.
enum End {
    /// The test ends by itself.
    Gate,
    Signals(&'static [Signal]),
}

/// What the run is told, how it ends, and the exit code.
const ENDS: [(&[&str], End, i32); 7] = [
    (&[], End::Gate, 0),
    (&["LAB_FAILS"], End::Gate, 100),
    (&[], End::Signals(&[Signal::INT]), 100),
    (&["LAB_DEAF"], End::Signals(&[Signal::INT, Signal::INT]), 100),
    (&[], End::Signals(&[Signal::TERM]), 100),
    (&[], End::Signals(&[Signal::HUP]), 100),
    (&[], End::Signals(&[Signal::QUIT]), 100),
];

#[test]
fn however_a_run_ends_its_slots_are_free_and_nothing_works_on() {
    let scene = Scene::new(&["a", "b"]);
    for target in Target::ALL {
        for (variables, end, code) in &ENDS {
            let n_before = scene.how_often("start");
            let run = start(&scene, variables);
            wait::until_true("both tests work", || scene.how_often("start") == n_before + 2);
            assert!(["slot-a", "slot-b"].iter().all(|kind| scene.lab.record(kind).is_some()), "they are held");
            match end {
                End::Gate => scene.lab.open("gate"),
                End::Signals(signals) => send(target, &run, signals),
            }
            let run = run.finish();
            assert_eq!(run.status.code(), Some(*code), "{}", run.account());
            scene.check_ended();
            let _ = fs::remove_file(scene.lab.path("gate"));
        }
    }
    assert_eq!(scene.how_often("end"), 8, "who was cut off has not gone on");
}

fn start(scene: &Scene, variables: &[&str]) -> Running {
    let mut command = scene.held(&["nextest", "run", "holds", "-j2"]);
    command.envs(variables.iter().map(|name| (name, "yes")));
    scene.lab.start(command)
}

/// The second of two comes when nextest has heard the first.
fn send(target: Target, run: &Running, signals: &[Signal]) {
    for (n_before, signal) in signals.iter().enumerate() {
        wait::until_true("the signal before is heard", || n_before == 0 || run.stderr().contains("Cancel"));
        target.send(run, *signal);
    }
}

/// Who is killed while a test works, given the test's process and the run.
type Victim = fn(&Scene, &Event, &Running);

const PARENT: Victim = |_, _, run| run.signal(Signal::KILL);
const GROUP: Victim = |_, _, run| run.signal_group(Signal::KILL);
const NEXTEST: Victim = |_, test, _| process::kill(process::ancestor_with(process::parent_of(test.pid()), "nextest"));

#[test]
fn whoever_is_killed_nothing_works_on_and_the_slots_can_be_had() {
    for (victim, leaves_leases) in [(PARENT, true), (GROUP, true), (NEXTEST, false)] {
        let scene = Scene::new(&["a", "b"]);
        let run = start(&scene, &["LAB_DEAF"]);
        wait::until_true("both tests work", || scene.how_often("start") == 2);
        let test = scene.lab.history().wait_for("start", |_| true);
        scene.lab.history().wait_for("tick", |event| event.get("who") == "grandchild");
        victim(&scene, &test, &run);
        let run = run.finish();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&run.status), Some(9), "{}", run.account());
        // Nobody has come by yet for the slots.
        wait::until_true("nobody is left", || reap::marked(scene.lab.id()).is_empty());
        assert_eq!(scene.lab.record("slot-a").is_some(), leaves_leases);
        scene.lab.run(scene.lab.lease_actor(&["--no-wait"], &["note", "next"])).expect_success();
        scene.check_ended();
        assert_eq!(scene.how_often("end"), 0);
    }
}

/// Where the guard of a killed run is killed as well, whoever takes a slot over ends what works in it, as ever.
#[test]
fn without_its_guard_the_next_in_line_ends_what_a_killed_run_left() {
    let scene = Scene::new(&["a"]);
    let run = start(&scene, &["LAB_DEAF"]);
    scene.lab.history().wait_for("tick", |event| event.get("who") == "grandchild");
    scene.lab.history().wait_for("start", |_| true);
    let guards = scene.processes_with("__guard");
    assert_eq!(guards.len(), 1);
    process::kill(guards[0]);
    run.signal(Signal::KILL);
    run.finish();
    scene.lab.run(scene.lab.lease_actor(&[], &["note", "next"])).expect_success();
    let events = scene.lab.history().events();
    let fresh = events.iter().rposition(|event| event.word == "provision").expect("it is made clean for the next");
    assert!(events[fresh..].iter().all(|event| event.word != "tick"), "nothing works on it any more");
    wait::until_true("nobody is left", || reap::marked(scene.lab.id()).is_empty());
    // The folder of the killed run goes with the next run of its kind.
    scene.lab.run(scene.held(&["nextest", "run", "notes"])).expect_success();
    scene.check_ended();
}

/// What works in the outer slot besides goes on.
#[test]
fn the_guard_ends_tests_in_the_slot_of_an_outer_lease_too() {
    let scene = Scene::new(&["a"]);
    let script = "\"$LAB_LEASE\" --hold run nextest run -E 'test(=holds)'\nexec \"$LAB_ACTOR\" hold \"$LAB_OUTER_GATE\"";
    let mut command = scene.lease(&["run", "--", "sh", "-c", script]);
    command.env("LAB_DEAF", "yes").env("LAB_OUTER_GATE", scene.lab.path("outer-gate"));
    let outer = scene.lab.start(command);
    scene.lab.history().wait_for("tick", |event| event.get("who") == "grandchild");
    scene.lab.history().wait_for("start", |_| true);
    let runs = scene.processes_with("--hold");
    assert_eq!(runs.len(), 1);
    process::kill(runs[0]);
    wait::until_true("nobody of the run is left", || {
        ["--exact", "tick-in-own-session", "__guard"].iter().all(|word| scene.processes_with(word).is_empty())
    });
    wait::until_true("the outer one goes on", || scene.how_often("start") == 2);
    scene.lab.open("outer-gate");
    outer.finish().expect_success();
    scene.check_ended();
    assert_eq!(scene.how_often("end"), 1);
}

#[test]
fn a_run_that_ends_while_it_waits_leaves_the_queue() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let scene = Scene::new(&["a"]);
        let holder = scene.lab.start(scene.lab.lease_actor(&[], &["hold", "other-gate"]));
        scene.lab.history().wait_for("start", |_| true);
        let run = scene.lab.start(scene.held(&["nextest", "run"]));
        scene.lab.wait_for_queue(1);
        run.signal(signal);
        let run = run.finish();
        assert!(!run.status.success(), "{}", run.account());
        scene.lab.open("other-gate");
        holder.finish().expect_success();
        scene.lab.run(scene.lab.lease_actor(&[], &["note", "next"])).expect_success();
        scene.check_ended();
        assert_eq!(scene.how_often("noted"), 0, "nothing was done for it");
    }
}

/// Ctrl-Z and `fg`.
#[test]
fn a_run_that_is_stopped_for_a_while_goes_on() {
    let scene = Scene::new(&["a"]);
    let run = start(&scene, &[]);
    let test = scene.lab.history().wait_for("start", |_| true).pid();
    run.signal_group(Signal::TSTP);
    wait::until_true("all of it is stopped", || is_stopped(run.pid()) && is_stopped(test));
    assert!(scene.lab.record("slot-a").is_some());
    run.signal_group(Signal::CONT);
    wait::until_true("all of it goes on", || !is_stopped(run.pid()) && !is_stopped(test));
    scene.lab.open("gate");
    run.finish().expect_success();
    scene.check_ended();
}

fn is_stopped(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:\tT"))
}

#[test]
fn the_guard_holds_nothing_that_anybody_waits_for() {
    let scene = Scene::new(&["a"]);
    let mut command = scene.lab.command("sh");
    command
        .args(["-c", "{ \"$0\" --hold run nextest run -E 'test(=holds)' 2>&1; echo code=$?; } | cat"])
        .arg(binary::cargo_lease());
    command.env("LEASE_STORE", scene.lab.store()).env("LEASE_POOL_FILE", scene.lab.pool_file());
    command.env("CARGO", environment::cargo());
    let run = scene.lab.start(scene.in_package(command));
    scene.lab.history().wait_for("start", |_| true);
    let guards = scene.processes_with("__guard");
    let leads_to = |guard: u32, what: &str| fs::read_link(format!("/proc/{guard}/{what}")).expect("it lives");
    let places = ["fd/1", "fd/2", "cwd"].map(|what| leads_to(guards[0], what).display().to_string());
    assert_eq!((guards.len(), places), (1, ["/dev/null", "/dev/null", "/"].map(str::to_owned)));
    scene.lab.open("gate");
    check_said(&run.finish().expect_success(), &["1 passed", "code=0"]);
    scene.check_ended();
}
