//! A debugger of nextest's gets the test itself, in a slot.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use lease_tests::{binary, wait};
use rustix::process::Signal;

use super::{Scene, check_grants, check_said};
use crate::support::in_workspace;

/// Writes down what it is to debug, and what the user types.
const DEBUGGER: &str = "#!/bin/sh
\"$LAB_ACTOR\" note debugging
echo \"debugs $1\"
read typed && echo \"typed $typed\"
exec \"$@\"
";

impl Scene {
    /// `cargo lease nextest run` of one test, with that as a debugger or tracer.
    fn debugged(&self, option: &str, text: &str, test: &str) -> Command {
        let program = self.lab.path("debugger");
        fs::write(&program, text).expect("the laboratory is writable");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        self.lease(&[
            "--no-wait",
            "nextest",
            "run",
            "-E",
            &format!("test(={test})"),
            option,
            program.to_str().expect("a path is text"),
        ])
    }
}

#[test]
fn the_test_is_what_is_debugged() {
    for (option, typed) in [("--debugger", "typed go on"), ("--tracer", "debugs ")] {
        let scene = Scene::new(&["a", "b"]);
        let mut command = scene.debugged(option, DEBUGGER, "notes");
        let words = scene.lab.path("words");
        fs::write(&words, "go on\n").expect("the laboratory is writable");
        command.stdin(fs::File::open(words).expect("it is there"));
        let run = scene.lab.run(command).expect_success();
        check_said(&run, &["/deps/all-", typed]);
        assert!(!run.stdout.contains("__runner"), "{}", run.account());
        let history = scene.lab.history();
        let (noted, debugging) = (&history.all("noted")[0], &history.all("debugging")[0]);
        assert_eq!((noted.get("slot"), debugging.get("slot")), ("a", "a"), "one slot, also for the debugger");
        assert_eq!(scene.how_often("provision"), 1);
        scene.check_ended();
    }
}

#[cfg(feature = "gdb")]
#[test]
fn gdb_sees_the_test() {
    let scene = Scene::new(&["a"]);
    let gdb = "#!/bin/sh\nexec gdb --nx --batch -ex 'break all::notes' -ex run -ex backtrace -ex continue --args \"$@\"\n";
    let mut command = scene.debugged("--debugger", gdb, "notes");
    command.env("CARGO_PROFILE_DEV_DEBUG", "1");
    let run = scene.lab.run(command);
    check_said(&run, &["all::notes", "exited normally"]);
    assert_eq!(scene.lab.history().all("noted")[0].get("slot"), "a");
    scene.check_ended();
}

/// In debugger mode nextest leaves Ctrl-C to the debugger.
#[test]
fn a_debugger_that_is_ended_frees_the_slot() {
    for signal in [Signal::TERM, Signal::KILL] {
        let scene = Scene::new(&["a"]);
        let run = scene.lab.start(scene.debugged("--debugger", "#!/bin/sh\nexec \"$@\"\n", "holds"));
        scene.lab.history().wait_for("start", |_| true);
        run.signal_group(signal);
        let run = run.finish();
        assert!(!run.status.success(), "{}", run.account());
        wait::until_true("the slot can be had", || {
            scene.lab.run(scene.lab.lease_actor(&["--no-wait"], &["note", "next"])).status.success()
        });
        scene.check_ended();
        assert_eq!(scene.how_often("end"), 0);
    }
}

/// Without us, and with us: tests that take their slot by themselves, before `main` or when they start.
#[test]
fn annotated_tests_can_be_debugged() {
    for is_leased in [false, true] {
        for (tests, test) in [("process", "plain::above_test"), ("slot", "plain::borrowed")] {
            let scene = Scene::new(&["a"]);
            let debugger = scene.lab.path("debugger");
            fs::write(&debugger, "#!/bin/sh\nexec \"$@\"\n").expect("the laboratory is writable");
            fs::set_permissions(&debugger, fs::Permissions::from_mode(0o755)).expect("it is ours");
            let debugger = debugger.display().to_string();
            for option in [&["--debugger", &debugger][..], &["--tracer", &debugger], &["--no-capture"]] {
                let words = ["nextest", "run", "-p", "lease-compositions", "--test", tests, test];
                let words = words.iter().chain(option);
                let mut command = if is_leased { scene.lab.bare_lease(words) } else { scene.lab.cargo(words) };
                let pool = binary::workspace().join("tests/compositions/pool.json");
                command.env("LEASE_POOL_FILE", pool).env("LEASE_STORE", scene.lab.store());
                in_workspace(&mut command);
                check_said(&scene.lab.run(command).expect_success(), &["1 passed"]);
            }
            check_grants(&scene.lab, "compositions", 3);
        }
    }
}
