//! A run whose lease is taken away stops, says so, and never ends well.

use std::fs;

use lease_tests::{Event, Lab, Running, scratch, wait};
use serde_json::json;

use crate::support::lab;

/// Beats often enough that the loss is seen soon.
const BEATS: [&str; 2] = ["--heartbeat-secs", "1"];

#[test]
fn a_run_whose_record_is_overwritten_ends_with_75() {
    let lab = lab();
    let mut run = start_run(&lab);
    take_away(&lab, &mut run, overwrite);
    check_lost(&lab, run, "thief");
    assert_eq!(lab.record("slot-a").expect("the thief holds it")["owner"], "thief", "the thief's lease is not touched");
}

#[test]
fn a_run_whose_record_is_deleted_ends_with_75() {
    let lab = lab();
    let mut run = start_run(&lab);
    // A release that is just happening may have deleted it.
    take_away(&lab, &mut run, |lab| drop(fs::remove_file(lab.store().join("slot-a.json"))));
    check_lost(&lab, run, "slot a");
    lab.check_all_given_back();
}

#[cfg(feature = "node")]
#[test]
fn a_run_whose_lease_is_stolen_through_the_format_ends_with_75() {
    let lab = lab();
    let run = start_run(&lab);
    let free = json!({"kind": "slot-a", "force": true});
    let take = json!({"kind": "slot-a", "owner": "thief", "ttlMinutes": 30});
    let answers = crate::peer::calls(&lab, &[("store.release", &free), ("store.acquire", &take)]);
    assert_eq!((&answers[0]["code"], &answers[1]["code"]), (&json!("released"), &json!("acquired")));
    check_lost(&lab, run, "thief");
    assert_eq!(lab.record("slot-a").expect("the thief holds it")["owner"], "thief", "the thief's lease is not touched");
}

#[test]
fn a_test_whose_lease_is_taken_does_not_pass() {
    let lab = lab();
    let mut run = start_test(&lab, &["test", "--test", "solo", "holds"]);
    take_away(&lab, &mut run, overwrite);
    let run = run.finish().expect_code(75);
    assert!(!run.stdout.contains("test result: ok"), "{}", run.account());
    assert!(run.stderr.contains("thief"), "{}", run.account());
    check_stopped(&lab);
}

#[cfg(feature = "nextest")]
#[test]
fn a_nextest_test_whose_lease_is_taken_does_not_pass() {
    let lab = lab();
    let mut run = start_test(&lab, &["nextest", "run", "holds"]);
    take_away(&lab, &mut run, overwrite);
    let run = run.finish().expect_code(100);
    assert!(run.stderr.contains("1 test run: 0 passed, 1 failed"), "{}", run.account());
    check_stopped(&lab);
}

fn start_run(lab: &Lab) -> Running {
    lab.write_slots(&["a"]);
    let run = lab.start(lab.lease_actor(&BEATS, &["hold", "gate"]));
    lab.history().wait_for("start", |_| true);
    run
}

fn start_test(lab: &Lab, args: &[&str]) -> Running {
    lab.write_slots(&["a"]);
    let folder = scratch::fixture(lab, "solo", "solo");
    let mut command = lab.lease(BEATS.iter().chain(args));
    command.current_dir(folder).env("LAB_GATE", lab.path("gate"));
    let run = lab.start(command);
    lab.history().wait_for("start", |_| true);
    run
}

/// Does `how` to the record of the run, without the guard, until the run ends of it. A heartbeat that had just read the
/// record writes it back once; then it is done again.
fn take_away(lab: &Lab, run: &mut Running, how: impl Fn(&Lab)) {
    let token = |lab: &Lab| lab.record("slot-a").map(|record| record["token"].clone());
    let of_the_run = token(lab).expect("the slot is held");
    wait::until_true("the run ends", || {
        if token(lab).as_ref() == Some(&of_the_run) {
            how(lab);
        }
        run.has_ended()
    });
}

/// Puts another's live lease in the place of ours.
fn overwrite(lab: &Lab) {
    let Some(mut record) = lab.record("slot-a") else { return };
    record["owner"] = json!("thief");
    record["token"] = json!(uuid::Uuid::new_v4().to_string());
    record["payload"] = json!(null);
    let path = lab.path("record");
    fs::write(&path, serde_json::to_string_pretty(&record).expect("a value prints")).expect("the laboratory is writable");
    fs::rename(path, lab.store().join("slot-a.json")).expect("the store is writable");
}

/// The command was ended, and the sentence on stderr names the slot and `who` has it now.
#[track_caller]
fn check_lost(lab: &Lab, run: Running, who: &str) {
    let run = run.finish().expect_code(75);
    assert!(run.stderr.contains(who) && run.stderr.contains('a'), "{}", run.account());
    check_stopped(lab);
}

#[track_caller]
fn check_stopped(lab: &Lab) {
    let holder = lab.history().all("start").remove(0).pid();
    wait::until_true("the command is ended", || lease_tests::process::arguments_of(holder).is_empty());
    assert_eq!(lab.history().all("end"), Vec::<Event>::new(), "the command was ended in the middle of its work");
}

/// The lease lives for half an hour, so that no heartbeat tells of it for minutes.
#[test]
fn a_forced_release_ends_what_works_on_the_slot_at_once() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let run = lab.start(lab.lease_actor(&[], &["tick", "child"]));
    let child = lab.history().wait_for("tick", |event| event.get("who") == "child").pid();
    lab.run(lab.lease(["pool", "release", "--slot", "a", "--force", "--owner", "ops"])).expect_success();
    assert!(!lease_tests::reap::marked(lab.id()).contains(&child), "it is gone when the release is told");
    let lost = run.finish().expect_code(75);
    assert!(lost.stderr.contains("was lost"), "{}", lost.account());
    lab.check_all_given_back();
}
