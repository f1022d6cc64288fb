//! Tests under nextest whose slots the parent of the run holds for them, since their pool has no commands: nothing of ours is
//! beside a test, and all the same it has its slot as long as it lives, and no longer.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use lease_harness::harness::SlotProxy;
use lease_tests::{Event, Lab, Running, process, reap, scratch, wait};
use rustix::process::Signal;
use serde_json::json;

use crate::solo::processes_with;
use crate::support::{Target, lab};

/// A laboratory whose pool has these slots and no commands.
fn plain_lab(slots: &[&str]) -> Lab {
    let lab = lab();
    let slots: Vec<_> = slots.iter().map(|id| json!({"id": id})).collect();
    lab.write_pool(&json!({ "slots": slots }));
    lab
}

/// `cargo lease … nextest run TEST`.
fn nextest(lab: &Lab, options: &[&str], words: &[&str]) -> Command {
    let folder = lab.path("solo");
    let folder: PathBuf = if folder.exists() { folder } else { scratch::fixture(lab, "solo", "solo") };
    let mut command = lab.lease(options.iter().chain(&["nextest", "run"]).chain(words));
    // Whoever is killed cleans nothing up.
    command.current_dir(folder).env("LAB_GATE", lab.path("gate")).env("TMPDIR", lab.root());
    command
}

/// Another run that has the only slot, until the gate `first` is opened.
fn other_holder(lab: &Lab) -> Running {
    let holder = lab.start(lab.lease_actor(&[], &["hold", lab.path("first").to_str().expect("text")]));
    lab.history().wait_for("start", |_| true);
    holder
}

/// The processes above a test, up to the `cargo lease` that runs it.
fn above(test: u32, leader: u32) -> Vec<Vec<String>> {
    let line = std::iter::successors(Some(process::parent_of(test)), |pid| Some(process::parent_of(*pid)));
    line.take_while(|pid| *pid != leader).map(process::arguments_of).collect()
}

#[test]
fn nothing_of_ours_is_beside_a_test() {
    let lab = plain_lab(&["a"]);
    let run = lab.start(nextest(&lab, &[], &["holds"]));
    let test = process::parent_of(lab.history().wait_for("start", |_| true).pid());
    let is_ours = |words: &Vec<String>| words.iter().any(|word| word == "__runner");
    assert_eq!(above(test, run.pid()).iter().any(is_ours), !SlotProxy::is_possible());
    let record = lab.record("slot-a").expect("the slot is held");
    assert_eq!(record["payload"]["session"].as_str(), Some("solo solo holds"), "{record}");
    lab.open("gate");
    run.finish().expect_success();
    lab.check_all_given_back();
}

/// A run whose only test works for ever, and has left behind a process that does the same.
fn busy(lab: &Lab) -> (Running, u32) {
    let mut command = nextest(lab, &[], &["works_for_ever"]);
    command.env("LAB_RUN", "killed");
    let run = lab.start(command);
    lab.history().wait_for("tick", |event| event.get("who") == "grandchild");
    let test = lab.history().wait_for("tick", |event| event.get("who") == "child").pid();
    (run, test)
}

/// Kills some of those who take part while somebody waits for the slot.
#[track_caller]
fn killed(victims: impl Fn(&Lab, u32, &Running) -> Vec<u32>) {
    let lab = plain_lab(&["a"]);
    let (run, test) = busy(&lab);
    let successor = lab.start(lab.lease_actor(&[], &["note", "successor"]));
    lab.wait_for_queue(1);
    victims(&lab, test, &run).into_iter().for_each(process::kill);
    successor.finish().expect_success();
    assert!(!run.finish().status.success(), "the killed run must not end well");
    let events = lab.history().events();
    let successor = events.iter().position(|event| event.word == "successor").expect("the successor ran");
    let late: Vec<_> = events[successor..].iter().filter(|event| event.word == "tick").collect();
    assert!(late.is_empty(), "still at work when its successor had the slot: {:?}", late.first());
    wait::until_true("nothing of the killed run is left", || reap::marked(lab.id()).is_empty());
    lab.check_all_given_back();
}

#[test]
fn a_killed_test_frees_its_slot() {
    killed(|_, test, _| vec![test]);
}

#[test]
fn a_killed_nextest_takes_its_tests_with_it() {
    killed(|_, test, _| vec![process::ancestor_with(test, "nextest")]);
}

#[test]
fn who_holds_the_slots_takes_its_tests_with_it() {
    killed(|_, _, run| vec![run.pid()]);
}

/// Then whoever is granted the slot ends what works in it.
#[test]
fn so_does_who_holds_the_slots_without_a_guard() {
    killed(|lab, _, run| {
        let guards = processes_with(lab, "__guard");
        assert_eq!(guards.len(), usize::from(SlotProxy::is_possible()));
        guards.into_iter().chain([run.pid()]).collect()
    });
}

/// Ends the grant of a test that shows nothing of it and does not end when it is asked to; also if nobody else asks for the slot.
#[track_caller]
fn sheds_its_environment(victims: impl Fn(&Lab, u32, &Running) -> Vec<u32>) {
    let lab = plain_lab(&["a"]);
    let run = lab.start(nextest(&lab, &["--heartbeat-secs", "0.2"], &["sheds_its_environment"]));
    let test = lab.history().wait_for("tick", |event| event.get("who") == "child").pid();
    victims(&lab, test, &run).into_iter().for_each(process::kill);
    assert!(!run.finish().status.success());
    wait::until_true("the test has ended", || process::arguments_of(test).is_empty());
    wait::until_true("the slot is given back", || lab.record("slot-a").is_none());
}

#[test]
fn a_test_that_sheds_its_environment_does_not_outlive_its_grant() {
    sheds_its_environment(|_, test, _| vec![process::ancestor_with(test, "nextest")]);
    sheds_its_environment(|_, _, run| vec![run.pid()]);
    sheds_its_environment(|lab, _, _| {
        std::fs::remove_file(lab.store().join("slot-a.json")).expect("the slot is held");
        Vec::new()
    });
}

#[test]
fn what_a_test_leaves_that_ends_by_itself_lives_on() {
    let lab = plain_lab(&["a"]);
    lab.run(nextest(&lab, &[], &["leaves_a_process"])).expect_success();
    lab.check_all_given_back();
    let left = lab.history().wait_for("tick", |event| event.get("who") == "left").pid();
    assert!(!process::arguments_of(left).is_empty(), "it was ended");
}

#[test]
fn what_a_test_leaves_that_was_cut_off_is_ended() {
    let lab = plain_lab(&["a"]);
    let (run, _) = busy(&lab);
    run.signal_group(Signal::INT);
    assert!(!run.finish().status.success());
    wait::until_true("nothing of the run is left", || reap::marked(lab.id()).is_empty());
    lab.check_all_given_back();
}

/// The same as a shell starts what a script runs in the background: with what the keys of a terminal send ignored.
fn in_background(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' INT QUIT; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.current_dir(command.get_current_dir().expect("it has a folder"));
    shell
}

#[test]
fn a_signalled_run_ends_as_without_us() {
    for (signal, is_ignored) in [(Signal::INT, false), (Signal::TERM, false), (Signal::INT, true)] {
        for target in Target::ALL {
            let [bare, ours] = [false, true].map(|is_ours| {
                let lab = plain_lab(&["a"]);
                let mut command = nextest(&lab, &[], &["holds"]);
                if !is_ours {
                    let mut bare = lab.cargo(["nextest", "run", "holds"]);
                    bare.current_dir(lab.path("solo")).env("LAB_GATE", lab.path("gate"));
                    command = bare;
                }
                if is_ignored {
                    command = in_background(&command);
                }
                let run = lab.start(command);
                lab.history().wait_for("start", |_| true);
                target.send(&run, signal);
                let finished = run.finish();
                assert!(lab.record("slot-a").is_none(), "{}", finished.account());
                finished
            });
            assert_eq!(ours.status, bare.status, "{signal:?} to the {target:?}: {}", ours.account());
        }
    }
}

/// However often it is interrupted, also behind nextest, it gives all back and removes its folder.
#[test]
fn a_run_that_is_interrupted_again_and_again_clears_up() {
    let lab = plain_lab(&["a"]);
    let mut run = lab.start(nextest(&lab, &[], &["holds"]));
    lab.history().wait_for("start", |_| true);
    let interrupted = || {
        Target::Group.send(&run, Signal::INT);
        run.has_ended()
    };
    wait::until_true("the run ends", interrupted);
    let run = run.finish().expect_code(100);
    lab.check_all_given_back();
    let is_of_run = |name: &String| name.starts_with("cargo-lease-of-run-");
    let names = std::fs::read_dir(lab.root()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = names.filter_map(|name| name.into_string().ok()).filter(is_of_run).collect();
    assert_eq!(left, Vec::<String>::new(), "{}", run.account());
}

/// A record that is not ours any more: the test is ended, says why, and does not pass.
#[test]
fn a_test_whose_lease_is_taken_fails_and_says_why() {
    let lab = plain_lab(&["a"]);
    let mut run = lab.start(nextest(&lab, &["--heartbeat-secs", "1"], &["holds"]));
    lab.history().wait_for("start", |_| true);
    let token = |lab: &Lab| lab.record("slot-a").map(|record| record["token"].clone());
    let of_the_test = token(&lab).expect("the slot is held");
    wait::until_true("the run ends", || {
        if token(&lab).as_ref() == Some(&of_the_test) {
            // A heartbeat that had just read the record writes it back once.
            let _ = std::fs::remove_file(lab.store().join("slot-a.json"));
        }
        run.has_ended()
    });
    let run = run.finish().expect_code(100);
    assert!(run.stderr.contains("1 test run: 0 passed, 1 failed"), "{}", run.account());
    let said = run.stderr.matches("slot a of pool pool, held since").count();
    // By the test, and behind the run by who has held the slot for it.
    let n_tellers = if SlotProxy::is_possible() { 2 } else { 1 };
    assert!(n_tellers <= said, "{}", run.account());
    assert_eq!(lab.history().all("end"), Vec::<Event>::new(), "it was ended in the middle of its work");
    wait::until_true("nothing of the run is left", || reap::marked(lab.id()).is_empty());
}

/// One that passes before it can be ended is not believed: its own process says so where that is ours, else the run does.
#[test]
fn a_run_whose_test_passed_without_a_lease_does_not_pass() {
    let lab = plain_lab(&["a"]);
    let run = lab.start(nextest(&lab, &[], &["holds"]));
    lab.history().wait_for("start", |_| true);
    std::fs::remove_file(lab.store().join("slot-a.json")).expect("the slot is held");
    lab.open("gate");
    let run = run.finish().expect_code(if SlotProxy::is_possible() { 75 } else { 100 });
    assert_eq!(run.stderr.contains("1 test run: 1 passed"), SlotProxy::is_possible(), "{}", run.account());
    assert!(run.stderr.contains("error: slot a of pool pool, held since"), "{}", run.account());
}

#[test]
fn who_waits_for_another_run_says_so_and_is_granted_in_turn() {
    let lab = plain_lab(&["a"]);
    let holder = other_holder(&lab);
    let run = lab.start(nextest(&lab, &[], &["ends_at_once", "--success-output", "immediate"]));
    lab.wait_for_queue(1);
    // A wait that is hardly one is not reported.
    std::thread::sleep(std::time::Duration::from_millis(150));
    lab.open("first");
    holder.finish().expect_success();
    let run = run.finish().expect_success();
    assert!(run.stderr.contains("pool saturated \u{2014} queue position 1"), "{}", run.account());
    assert!(run.stderr.contains("waited"), "the report behind the run: {}", run.account());
    lab.check_all_given_back();
}

/// At once, without that anybody else has to look; of a process of ours that waits, others find out.
#[test]
fn a_test_that_is_ended_while_it_waits_leaves_the_queue() {
    if !SlotProxy::is_possible() {
        return;
    }
    let lab = plain_lab(&["a"]);
    let holder = other_holder(&lab);
    let run = lab.start(nextest(&lab, &[], &["ends_at_once"]));
    lab.wait_for_queue(1);
    let entry = &Lab::queue(&lab.store(), "pool")[0];
    assert_eq!(entry["session"].as_str(), Some("solo solo ends_at_once"), "{entry}");
    let waits = wait::until("the test waits", || processes_with(&lab, "__runner").into_iter().next());
    process::kill(waits);
    lab.wait_for_queue(0);
    lab.open("first");
    holder.finish().expect_success();
    assert!(!run.finish().status.success());
    assert_eq!(lab.history().all("ran"), Vec::<Event>::new(), "who has been killed is never granted");
    lab.check_all_given_back();
}

#[test]
fn a_test_that_may_not_wait_fails_as_the_command_line_says() {
    let lab = plain_lab(&["a"]);
    let holder = other_holder(&lab);
    let run = lab.run(nextest(&lab, &["--no-wait"], &["ends_at_once"])).expect_code(100);
    assert!(run.stderr.contains("pool pool is saturated"), "{}", run.account());
    lab.open("first");
    holder.finish().expect_success();
}

/// Every attempt of a test is a grant of its own.
#[test]
fn a_retry_has_a_grant_of_its_own() {
    let lab = plain_lab(&["a"]);
    let run = lab.run(nextest(&lab, &[], &["shows_its_grant_and_fails", "--retries", "2", "--failure-output", "immediate"]));
    let run = run.expect_code(100);
    let fences: std::collections::BTreeSet<_> =
        run.stderr.lines().filter_map(|line| line.trim().strip_prefix("fence=")).collect();
    assert_eq!(fences.len(), 3, "{}", run.account());
    lab.check_all_given_back();
}

#[test]
fn where_nobody_can_be_asked_each_test_holds_its_slot_itself() {
    let lab = plain_lab(&["a"]);
    let (pool, store) = (format!("--pool={}", lab.pool_file().display()), format!("--store={}", lab.store().display()));
    let nobody = format!("--proxy={}", lab.path("nobody").display());
    let mut command = lab.bare_lease(["__runner", "--for=nextest", &pool, &store, &nobody, "--"]);
    command.arg(env!("CARGO_BIN_EXE_actor")).args(["note", "ran"]).env("NEXTEST_TEST_PHASE", "run");
    lab.run(command).expect_success();
    assert_eq!(lab.history().all("ran").len(), 1);
    assert!(lab.store().join(".fence/slot-a").exists(), "it ran in a slot");
    lab.check_all_given_back();
}

#[test]
fn the_temporary_folder_may_have_a_long_path() {
    let lab = plain_lab(&["a"]);
    let deep = lab.path("d".repeat(120));
    std::fs::create_dir(&deep).expect("the laboratory is writable");
    let mut command = nextest(&lab, &[], &["holds"]);
    command.env("TMPDIR", deep);
    let run = lab.start(command);
    let test = process::parent_of(lab.history().wait_for("start", |_| true).pid());
    assert_eq!(above(test, run.pid()).iter().flatten().any(|word| word == "__runner"), !SlotProxy::is_possible());
    lab.open("gate");
    run.finish().expect_success();
    lab.check_all_given_back();
}

#[test]
fn an_empty_temporary_folder_is_none() {
    let lab = plain_lab(&["a"]);
    let mut command = nextest(&lab, &[], &["ends_at_once"]);
    command.env("TMPDIR", "");
    lab.run(command).expect_success();
    lab.check_all_given_back();
}

/// A test that clears its temporary folder, say.
#[test]
fn the_folder_of_the_run_may_be_gone() {
    let lab = plain_lab(&["a"]);
    let words = ["--test-threads", "1", "holds", "shows_its_environment"];
    let run = lab.start(nextest(&lab, &[], &words));
    lab.history().wait_for("start", |_| true);
    let is_of_run = |name: &OsString| name.to_string_lossy().starts_with("cargo-lease-of-run-");
    let names = std::fs::read_dir(lab.root()).expect("the laboratory can be read").map(|entry| entry.expect("entry").file_name());
    let folder = names.into_iter().find(is_of_run).expect("the run has a folder");
    std::fs::remove_dir_all(lab.path(folder)).expect("the laboratory is writable");
    lab.open("gate");
    run.finish().expect_success();
    let behind = lab.history().all("ran");
    assert_eq!(behind.iter().map(|event| event.get("slot")).collect::<Vec<_>>(), ["a"]);
    lab.check_all_given_back();
}

/// A pool's command runs in the surroundings of the test, and what it says is in the test's output.
#[test]
fn beside_a_pool_with_commands_each_test_holds_its_slot_itself() {
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a"}], "provision": "echo made ready for $NEXTEST_TEST_NAME; :"}));
    let run = lab.run(nextest(&lab, &[], &["ends_at_once", "--success-output", "immediate"])).expect_success();
    assert!(run.stderr.contains("made ready for ends_at_once"), "{}", run.account());
}

#[test]
fn what_is_not_wrapped_waits_for_nothing() {
    let lab = plain_lab(&["a"]);
    let holder = other_holder(&lab);
    lab.run(nextest(&lab, &["--wrap", "solo"], &["ends_at_once"])).expect_success();
    lab.open("first");
    holder.finish().expect_success();
}
