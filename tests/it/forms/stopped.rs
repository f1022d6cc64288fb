//! What `docs/ide.md` says of breakpoints. A debugger stops all threads of a process, as SIGSTOP does.

use std::fs;
use std::process::Command;

use lease_tests::{Running, process, wait};
use rustix::process::Signal;
use serde_json::json;

use super::project::Project;

/// Both forms of a test that stays until the gate is opened.
const TESTS: [&str; 2] = ["with_a_slot", "with_the_slot_of_its_process"];
/// A life of some seconds without a heartbeat, in minutes.
const SHORT: &str = "0.05";
/// For a lease that must not end on a busy machine: it lives long without a heartbeat, and has one often.
const LONG: [&str; 4] = ["--ttl", "480", "--heartbeat-secs", "0.2"];
/// So many heartbeats show that the heart has not been stopped with the test.
const N_BEATS: usize = 8;

/// The package, with a pool of one slot.
struct Scene {
    project: Project,
}

impl Scene {
    fn new() -> Self {
        let project = Project::new();
        project.lab.write_pool(&json!({"name": "one", "slots": [{"id": "a"}]}));
        Self { project }
    }

    /// A command as a debugger's: in the folder where the pool file is.
    fn within(&self, command: Command) -> Command {
        let mut command = self.project.within(command);
        command.env("FORMS_GATE", self.project.lab.path("gate")).current_dir(self.project.lab.root());
        command
    }

    /// Starts the test binary itself.
    fn start(&self, test: &str, ttl: &str) -> Running {
        let mut command = self.project.lab.command(self.project.binary("stays"));
        command.args([test, "--exact"]).env("POOL_TTL_MINUTES", ttl);
        self.begin(self.within(command))
    }

    /// Starts a command, and waits until its test is at work.
    fn begin(&self, command: Command) -> Running {
        let run = self.project.lab.start(command);
        wait::until_true("the test is at work", || self.tester().is_some());
        run
    }

    /// The process of the test.
    fn tester(&self) -> Option<u32> {
        let log = fs::read_to_string(self.project.lab.path("log")).ok()?;
        log.lines().next()?.split(' ').nth(2)?.parse().ok()
    }

    /// Somebody else who wants the slot.
    fn successor(&self, options: &[&str]) -> Running {
        let actor = env!("CARGO_BIN_EXE_actor");
        let words = [&["--pool", "pool.json"], options, &["run", "--", actor, "note", "successor"]].concat();
        self.project.lab.start(self.within(self.project.lab.bare_lease(words)))
    }

    /// Goes on with a process that was stopped, whose test has nothing more to do.
    fn go_on(&self, run: &Running) {
        self.project.lab.open("gate");
        run.signal(Signal::CONT);
    }
}

#[test]
fn who_stands_at_a_breakpoint_for_longer_than_the_ttl_loses_the_slot_to_whoever_waits() {
    for test in TESTS {
        let scene = Scene::new();
        let run = scene.start(test, SHORT);
        run.signal(Signal::STOP);
        scene.successor(&[]).finish().expect_success();
        scene.go_on(&run);
        let run = run.finish().expect_code(75);
        assert!(run.stderr.contains("slot a"), "{}", run.account());
    }
}

#[test]
fn who_stands_there_for_longer_than_the_ttl_has_lost_the_slot_also_if_nobody_wants_it() {
    for test in TESTS {
        let scene = Scene::new();
        let run = scene.start(test, SHORT);
        run.signal(Signal::STOP);
        wait::until_true("the lease has expired", || {
            let status = scene.project.lab.bare_lease(["store", "status", "--kind", "slot-a"]);
            scene.project.lab.run(scene.within(status)).stdout.contains(r#""state":"unknown""#)
        });
        // The test stays: one that ended at once would give the slot back before the heart sees that it is too late.
        run.signal(Signal::CONT);
        let run = run.finish().expect_code(75);
        assert!(run.stderr.contains("slot a"), "{}", run.account());
    }
}

#[test]
fn a_debugger_that_is_killed_gives_the_slot_back_however_long_the_ttl_is() {
    for test in TESTS {
        let scene = Scene::new();
        let run = scene.start(test, "480");
        run.signal(Signal::STOP);
        scene.successor(&["--no-wait"]).finish().expect_code(1);
        run.signal(Signal::KILL);
        assert!(!run.finish().status.success());
        scene.successor(&["--no-wait"]).finish().expect_success();
    }
}

#[test]
fn with_the_slot_around_the_debugger_the_heartbeat_goes_on() {
    check_goes_on("with_the_slot_of_its_process", |scene, test| {
        let stays = scene.project.binary("stays").display().to_string();
        let words = [&["--pool", "pool.json"], &LONG[..], &["run", "--", &stays, test, "--exact"]].concat();
        scene.within(scene.project.lab.bare_lease(words))
    });
}

#[test]
fn with_a_debugger_attached_to_a_test_of_ours_the_heartbeat_goes_on() {
    check_goes_on("with_a_slot", |scene, test| {
        let pool = scene.project.lab.pool_file().display().to_string();
        let words = [&["--pool", &pool], &LONG[..], &["test", "--test", "stays", test]].concat();
        let mut command = scene.within(scene.project.lab.bare_lease(words));
        command.current_dir(&scene.project.folder);
        command
    });
}

/// The test stands still, and its lease has a heartbeat all the same.
#[track_caller]
fn check_goes_on(test: &str, command: impl FnOnce(&Scene, &str) -> Command) {
    let scene = Scene::new();
    let run = scene.begin(command(&scene, test));
    let tester = scene.tester().expect("it is at work");
    process::signal(tester, Signal::STOP);
    let beat = || scene.project.lab.record("slot-a").map(|record| record["heartbeat"].clone());
    let mut beats = vec![beat().expect("the slot is held")];
    wait::until_true("the heartbeat goes on", || {
        beats.extend(beat().filter(|new| Some(new) != beats.last()));
        N_BEATS < beats.len()
    });
    scene.successor(&["--no-wait"]).finish().expect_code(1);
    scene.project.lab.open("gate");
    process::signal(tester, Signal::CONT);
    run.finish().expect_success();
}
