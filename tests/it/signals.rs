//! Signals: the wrapped command sees what it would have seen without us, its end is ours, and the slot is given back
//! after it ended, not before.

use std::process::Command;

use lease_tests::{Event, Finished, Lab, scratch, wait};
use rustix::process::Signal;

use crate::support::{Target, lab};

/// Dies of the signal.
const DIES: &str = "\"$LAB_ACTOR\" note ready; exec \"$LAB_ACTOR\" hold never";
/// Cleans up and ends with a code of its own.
const CLEANS_UP: &str = "clean() { \"$LAB_ACTOR\" note cleaning; until [ -e gate ]; do sleep 0.01; done; exit 3; }
    trap clean INT TERM; \"$LAB_ACTOR\" note ready; while :; do sleep 0.01; done";
/// Goes on as if nothing had happened.
const IGNORES: &str = "trap '' INT TERM; \"$LAB_ACTOR\" note ready; until [ -e gate ]; do sleep 0.01; done";

#[test]
fn a_command_that_dies_of_a_signal() {
    each_way(|signal, target| same_end_as_without_us(DIES, signal, target, |_, _| {}));
}

#[test]
fn a_command_that_cleans_up() {
    each_way(|signal, target| {
        same_end_as_without_us(CLEANS_UP, signal, target, |lab, is_wrapped| {
            lab.history().wait_for("cleaning", |_| true);
            assert_eq!(lab.record("slot-a").is_some(), is_wrapped, "the slot is kept while the command cleans up");
            lab.open("gate");
        });
    });
}

#[test]
fn a_command_that_ignores_signals() {
    each_way(|signal, target| {
        same_end_as_without_us(IGNORES, signal, target, |lab, is_wrapped| {
            assert_eq!(lab.record("slot-a").is_some(), is_wrapped, "the slot is kept while the command works");
            lab.open("gate");
        });
    });
}

fn each_way(check: impl Fn(Signal, Target)) {
    for signal in [Signal::INT, Signal::TERM] {
        for target in [Target::Group, Target::Leader] {
            check(signal, target);
        }
    }
}

/// Runs a script with and without us, sends it a signal when it is ready, and compares the ends.
fn same_end_as_without_us(script: &str, signal: Signal, target: Target, meanwhile: impl Fn(&Lab, bool)) {
    let [bare, wrapped] = [false, true].map(|is_wrapped| {
        let lab = lab();
        lab.write_slots(&["a"]);
        let mut command = if is_wrapped { lab.lease(["run", "--", "sh"]) } else { lab.command("sh") };
        command.args(["-c", script]);
        let finished = signalled(&lab, command, signal, target, &|lab| meanwhile(lab, is_wrapped));
        if is_wrapped {
            lab.check_all_given_back();
        }
        finished
    });
    assert_eq!(wrapped.status, bare.status, "{signal:?} to the {target:?}: {}", wrapped.account());
}

fn signalled(lab: &Lab, command: Command, signal: Signal, target: Target, meanwhile: &dyn Fn(&Lab)) -> Finished {
    let run = lab.start(command);
    lab.history().wait_for("ready", |_| true);
    target.send(&run, signal);
    meanwhile(lab);
    run.finish()
}

#[test]
fn a_waiter_that_is_interrupted_leaves_the_queue() {
    for signal in [Signal::INT, Signal::TERM] {
        let lab = lab();
        lab.write_slots(&["a"]);
        let gate = lab.path("gate").display().to_string();
        let holder = lab.start(lab.lease_actor(&[], &["hold", &gate]));
        lab.history().wait_for("start", |_| true);
        let waiter = lab.start(lab.lease_actor(&[], &["note", "ran"]));
        lab.wait_for_queue(1);
        waiter.signal(signal);
        let waiter = waiter.finish();
        assert!(!waiter.status.success(), "{}", waiter.account());
        assert_eq!(Lab::queue(&lab.store(), "pool").len(), 0, "the waiter left the queue");
        lab.open("gate");
        holder.finish().expect_success();
        assert_eq!(lab.history().all("ran"), Vec::<Event>::new(), "a cancelled waiter is never granted");
        lab.check_all_given_back();
    }
}

#[test]
fn a_signalled_cargo_test_gives_its_slot_back() {
    each_way(|signal, target| same_end_of_tests(&["test", "--test", "solo", "holds"], signal, target));
}

#[cfg(feature = "nextest")]
#[test]
fn a_signalled_nextest_gives_its_slot_back() {
    each_way(|signal, target| same_end_of_tests(&["nextest", "run", "holds"], signal, target));
}

/// Runs a test with and without us, sends the run a signal while it works, and compares the ends.
fn same_end_of_tests(args: &[&str], signal: Signal, target: Target) {
    let [bare, wrapped] = [false, true].map(|is_wrapped| {
        let lab = lab();
        lab.write_slots(&["a"]);
        let folder = scratch::fixture(&lab, "solo", "solo");
        let mut command = if is_wrapped { lab.lease(args) } else { lab.cargo(args) };
        command.current_dir(folder).env("LAB_GATE", "no-gate");
        let run = lab.start(command);
        lab.history().wait_for("start", |_| true);
        target.send(&run, signal);
        let finished = run.finish();
        if is_wrapped {
            wait::until_true("the slot is given back", || lab.record("slot-a").is_none());
        }
        finished
    });
    assert_eq!(wrapped.status, bare.status, "{signal:?} to the {target:?}: {}", wrapped.account());
}
