//! The examples that guard a command by a slot: the script, the same by one command, and the shell that keeps its slot.

mod hook;

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use lease_tests::{Event, Running, process, wait};
use rustix::process::Signal;

use crate::script_lab::{SHELLS, ScriptLab};
use crate::support::Target;

/// A way to run a command in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `gate.sh`, in a bash that was started in this way.
    Script(&'static [&'static str]),
    /// `cargo lease run`.
    OneLine,
    /// `keep.sh`.
    Keep,
}

const FORMS: [Form; 4] = [Form::Script(SHELLS[0]), Form::Script(SHELLS[1]), Form::OneLine, Form::Keep];

/// Dies of the signal.
const DIES: &str = "\"$LAB_ACTOR\" note ready; exec \"$LAB_ACTOR\" hold never";
/// Cleans up and ends with a code of its own.
const CLEANS_UP: &str =
    "clean() { trap '' INT TERM; \"$LAB_ACTOR\" note cleaning; until [ -e gate ]; do sleep 0.01; done; exit 3; }
    trap clean INT TERM; \"$LAB_ACTOR\" note ready; while :; do sleep 0.01; done";

impl Form {
    /// A command in a slot, with options for the gate.
    fn command_with(self, lab: &ScriptLab, options: &[&str], words: &[&str]) -> Command {
        match self {
            Self::Script(shell) => lab.script(shell, "gate.sh", &[options, &["--"], words].concat()),
            Self::OneLine => {
                let mut command = lab.command("cargo-lease");
                command.args(options).args(["run", "--"]).args(words);
                command
            }
            Self::Keep => lab.script(&[], "keep.sh", words),
        }
    }

    fn command(self, lab: &ScriptLab, words: &[&str]) -> Command {
        self.command_with(lab, &[], words)
    }

    /// Starts a command in the slot, and waits until it says that it is ready.
    fn start(self, lab: &ScriptLab, options: &[&str], script: &str) -> Running {
        let run = lab.lab.start(self.command_with(lab, options, &["sh", "-c", script]));
        lab.lab.history().wait_for("ready", |_| true);
        run
    }
}

fn actor() -> &'static str {
    env!("CARGO_BIN_EXE_actor")
}

#[test]
fn a_command_sees_what_it_would_see_without_the_gate_and_ends_as_it_does() {
    let words = ["sh", "-c", "cat; printf '%s|%s|%s|' \"$1\" \"$owner\" \"$gate\"; echo err >&2; exit 7", "x", "a  b\n'\"$c"];
    for form in FORMS {
        let lab = ScriptLab::new();
        fs::write(lab.lab.path("input"), "given\n").unwrap();
        let mut command = form.command(&lab, &words);
        command.stdin(File::open(lab.lab.path("input")).unwrap()).env("owner", "kept").env("gate", "too");
        let run = lab.lab.run(command).expect_code(7);
        assert_eq!(run.stdout, "given\na  b\n'\"$c|kept|too|", "{form:?}: {}", run.account());
        assert_eq!(run.stderr, "err\n", "{form:?}: {}", run.account());
        lab.check_nothing_left();
    }
}

#[test]
fn a_command_sees_the_grant_whatever_is_in_it() {
    for form in FORMS {
        let lab = ScriptLab::new();
        let run = lab.lab.run(form.command(&lab, &[actor(), "env", "ODD", "POOL_RUN_SLOT", "token", "prefix"])).expect_success();
        let seen = "ODD=it's \"$HOME\" `id`\n$(id)\nPOOL_RUN_SLOT=a\ntoken=of the grant\nprefix=x\n";
        assert_eq!(run.stdout, seen, "{form:?}: {}", run.account());
    }
}

#[test]
fn gates_for_one_slot_take_turns() {
    let lab = ScriptLab::new();
    let runs: Vec<_> = FORMS.into_iter().map(|form| lab.lab.start(form.command(&lab, &[actor(), "work", "20"]))).collect();
    runs.into_iter().for_each(|run| drop(run.finish().expect_success()));
    assert_eq!(lab.lab.history().check_one_user_a_slot(), FORMS.len());
    lab.check_nothing_left();
}

#[test]
fn a_signal_ends_the_command_and_then_the_gate_and_gives_the_slot_back() {
    for (form, signal, target) in ways_to_signal() {
        let lab = ScriptLab::new();
        let run = form.start(&lab, &[], DIES);
        target.send(&run, signal);
        let run = run.finish();
        assert_eq!(run.status.signal(), Some(signal.as_raw()), "{form:?} {target:?}: {}", run.account());
        lab.check_nothing_left();
    }
}

#[test]
fn a_command_that_cleans_up_after_a_signal_has_its_slot_meanwhile() {
    for (form, signal, target) in ways_to_signal() {
        let lab = ScriptLab::new();
        let run = form.start(&lab, &[], CLEANS_UP);
        target.send(&run, signal);
        lab.lab.history().wait_for("cleaning", |_| true);
        assert!(lab.lab.record("slot-a").is_some(), "{form:?} {signal:?} {target:?}");
        fs::write(lab.work().join("gate"), "").unwrap();
        run.finish().expect_code(3);
        lab.check_nothing_left();
    }
}

fn ways_to_signal() -> impl Iterator<Item = (Form, Signal, Target)> {
    let signals = [Signal::INT, Signal::TERM].into_iter().flat_map(|signal| Target::ALL.map(|target| (signal, target)));
    signals.flat_map(|(signal, target)| FORMS.map(|form| (form, signal, target)))
}

#[test]
fn a_killed_gate_takes_its_command_along_and_gives_the_slot_back() {
    for form in FORMS {
        let lab = ScriptLab::new();
        // Longer than any test waits: it is not the TTL that frees the slot.
        let run = form.start(&lab, &["--ttl", "60"], DIES);
        let command = lab.lab.history().wait_for("start", |_| true).pid();
        run.signal(Signal::KILL);
        run.finish();
        let next = lab.lab.run(Form::OneLine.command(&lab, &["sh", "-c", &format!("[ ! -e /proc/{command}/exe ] && echo gone")]));
        assert_eq!(next.expect_success().stdout, "gone\n", "{form:?}: the command has ended before another has the slot");
        lab.check_nothing_left();
    }
}

#[test]
fn a_gate_that_is_killed_while_it_waits_leaves_the_queue() {
    let lab = ScriptLab::new();
    lab.lease(&["pool", "acquire", "--owner", "other"]);
    let run = lab.lab.start(Form::Script(&[]).command(&lab, &[actor(), "note", "ran"]));
    lab.lab.wait_for_queue(1);
    run.signal(Signal::KILL);
    run.finish();
    lab.lab.wait_for_queue(0);
    lab.lease(&["pool", "release", "--slot", "a", "--force", "--owner", "ops"]);
    lab.check_nothing_left();
    assert_eq!(lab.lab.history().all("ran"), Vec::<Event>::new());
}

#[test]
fn a_gate_that_is_killed_with_all_that_it_started_costs_its_ttl() {
    let lab = ScriptLab::new();
    let run = Form::Script(&[]).start(&lab, &["--ttl", "0.02"], DIES);
    run.signal_group(Signal::KILL);
    run.finish();
    lab.lab.run(Form::Script(&[]).command(&lab, &[actor(), "note", "next"])).expect_success();
    assert_eq!(lab.lab.history().all("next").len(), 1);
    lab.lab.check_all_given_back();
}

#[test]
fn a_shell_that_is_killed_with_all_that_it_started_costs_nothing_if_its_slot_is_kept_for_it() {
    let lab = ScriptLab::new();
    let run = Form::Keep.start(&lab, &[], DIES);
    run.signal_group(Signal::KILL);
    run.finish();
    lab.check_nothing_left();
}

#[test]
fn a_gate_that_loses_its_lease_stops_the_command_leaves_a_marker_and_ends_with_75() {
    for shell in SHELLS {
        let lab = ScriptLab::new();
        let run = Form::Script(shell).start(
            &lab,
            &["--ttl", "0.1", "--marker", "lost it"],
            &format!("printf %s \"$GATE_LOST\" >marker; {DIES}"),
        );
        let command = lab.lab.history().wait_for("start", |_| true).pid();
        lab.steal();
        let run = run.finish().expect_code(75);
        assert!(process::arguments_of(command).is_empty(), "the command was stopped");
        assert_eq!(lab.lab.history().all("end"), Vec::<Event>::new(), "in the middle of its work");
        assert!(run.stderr.contains("the lease of slot a was lost") && run.stderr.contains("thief"), "{}", run.account());
        let marker = fs::read_to_string(lab.work().join("lost it")).expect("there is a marker");
        assert!(marker.contains("not_owner") && marker.contains("thief"), "{marker}");
        assert_eq!(fs::read_to_string(lab.work().join("marker")).unwrap(), lab.work().join("lost it").to_str().unwrap());
        assert_eq!(lab.lab.record("slot-a").expect("the thief has it")["owner"], "thief");
        lab.check_no_files();
    }
}

#[test]
fn a_command_whose_lease_was_lost_just_before_its_end_does_not_end_well() {
    let lab = ScriptLab::new();
    // A new run begins without the marker of an old one.
    fs::write(lab.work().join("marker"), "old").unwrap();
    let steal = "[ ! -e marker ] && cargo-lease pool release --slot a --force --owner ops";
    let run = lab.lab.run(Form::Script(&[]).command_with(&lab, &["--marker", "marker"], &["sh", "-c", steal])).expect_code(75);
    assert!(run.stderr.contains("not_held"), "{}", run.account());
    assert!(lab.work().join("marker").exists());
    lab.check_nothing_left();
}

#[test]
fn a_gate_whose_watcher_was_killed_and_whose_lease_expired_does_not_end_well() {
    let lab = ScriptLab::new();
    let run = Form::Script(&[]).start(&lab, &["--ttl", "0.02"], &DIES.replace("never", "gate"));
    let command = lab.lab.history().wait_for("start", |_| true).pid();
    let waits = process::parent_of(command);
    let watcher = wait::until("the watcher", || {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.pid())).unwrap_or_default();
        children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()).find(|pid| *pid != waits)
    });
    process::kill(watcher);
    wait::until_true("the lease expires", || lab.lease(&["store", "status", "--kind", "slot-a"]).contains("\"unknown\""));
    fs::write(lab.work().join("gate"), "").unwrap();
    let run = run.finish().expect_code(75);
    assert!(run.stderr.contains("expired"), "{}", run.account());
    lab.check_nothing_left();
}

#[test]
fn without_a_slot_the_command_does_not_run() {
    let lab = ScriptLab::new();
    lab.lease(&["pool", "acquire", "--owner", "other"]);
    for shell in SHELLS {
        let run =
            lab.lab.run(Form::Script(shell).command_with(&lab, &["--wait-ms", "20"], &[actor(), "note", "ran"])).expect_code(1);
        assert!(
            run.stderr.contains("there is no slot, so the command did not run: {\"ok\":false,\"code\":\"timeout\""),
            "{}",
            run.account()
        );
    }
    assert_eq!(lab.lab.history().all("ran"), Vec::<Event>::new());
    lab.check_no_files();
}

#[test]
fn wrong_use_is_told_before_anything_is_taken() {
    let lab = ScriptLab::new();
    for (args, what) in [
        (&[][..], "no command"),
        (&["--"], "no command"),
        (&["true"], "unknown option \"true\""),
        (&["--ttl", "", "--", "true"], "--ttl needs a value"),
        (&["--marker"], "--marker needs a value"),
        (&["--ttl", "soon", "--", "true"], "invalid ttlMinutes"),
    ] {
        let run = lab.lab.run(lab.script(&[], "gate.sh", args)).expect_code(2);
        assert!(run.stderr.contains(what), "{args:?}: {}", run.account());
    }
    lab.check_no_files();
    assert!(!lab.lab.store().join("slot-a.json").exists());
}

#[test]
fn a_gate_that_is_signalled_while_it_waits_leaves_the_queue() {
    for (form, signal, target) in ways_to_signal().filter(|(form, ..)| matches!(form, Form::Script(_))) {
        let lab = ScriptLab::new();
        let other = lab.lease(&["pool", "acquire", "--owner", "other"]);
        assert!(other.contains("\"ready\""), "{other}");
        let run = lab.lab.start(form.command(&lab, &[actor(), "note", "ran"]));
        lab.lab.wait_for_queue(1);
        target.send(&run, signal);
        let run = run.finish();
        assert_eq!(run.status.signal(), Some(signal.as_raw()), "{form:?} {target:?}: {}", run.account());
        lab.lease(&["pool", "release", "--slot", "a", "--force", "--owner", "ops"]);
        assert_eq!(lab.lab.history().all("ran"), Vec::<Event>::new());
        lab.check_nothing_left();
    }
}
