//! Keys that one side does not know survive the other's rewrites.

use std::fs;
use std::process::Stdio;

use lease_harness::store::Refreshed;
use lease_tests::{Lab, wait};
use serde_json::{Value, json};

use super::burial::{change_entries, replace};
use super::{call, start_client, start_keeper, store, wait_for_word};
use crate::support::lab;

fn one_slot() -> Lab {
    let lab = lab();
    lab.write_slots(&["a"]);
    lab
}

/// An entry without its heartbeat.
fn but_for_heartbeat(entry: &Value) -> Value {
    let mut rest = entry.clone();
    rest["heartbeat"] = json!(null);
    rest
}

/// The record as it lies on the disk, and the same without its heartbeat.
fn lines_of_record(lab: &Lab) -> (String, Vec<String>) {
    let text = fs::read_to_string(lab.store().join("slot-a.json")).expect("the slot is held");
    let lines = text.lines().filter(|line| !line.starts_with("  \"heartbeat\": ")).map(str::to_owned).collect();
    (text, lines)
}

#[track_caller]
fn entry_of(lab: &Lab, owner: &str) -> Value {
    let entries = Lab::queue(&lab.store(), "pool");
    entries.iter().find(|entry| entry["owner"] == owner).unwrap_or_else(|| panic!("no entry of {owner}: {entries:?}")).clone()
}

#[test]
fn a_lease_of_ours_keeps_its_proof_and_its_fence() {
    let lab = one_slot();
    let ours = lab.start(lab.lease_actor(&["--owner", "ours"], &["hold", "gate"]));
    lab.history().wait_for("start", |_| true);
    let before = lab.record("slot-a").expect("the slot is ours");
    assert!(before["payload"]["alive"].is_string() && before["payload"]["fence"].is_number(), "{before}");
    let (text, lines) = lines_of_record(&lab);
    let beat = call(&lab, "heartbeat", &json!({"slotId": "a", "owner": "ours", "token": before["token"]}));
    assert_eq!(beat["code"], "refreshed", "{beat}");
    let (new_text, new_lines) = lines_of_record(&lab);
    assert_ne!(text, new_text, "the peer has rewritten it");
    assert_eq!(lines, new_lines);
    lab.open("gate");
    ours.finish().expect_success();
    lab.check_all_given_back();
}

#[test]
fn a_place_of_ours_keeps_its_proof() {
    let lab = one_slot();
    let holder = start_keeper(&lab);
    wait_for_word(&holder, "granted a");
    let ours = lab.start(lab.lease_actor(&["--owner", "ours"], &["note", "ours"]));
    lab.wait_for_queue(1);
    let before = entry_of(&lab, "ours");
    assert!(before["alive"].is_string(), "{before}");
    let place = call(&lab, "heartbeatEntry", &json!({"entryId": before["id"], "owner": "ours"}));
    assert_eq!(place["position"], 1, "{place}");
    let refused = call(&lab, "acquireBlocking", &json!({"owner": "peer", "waitMs": 0}));
    assert_eq!(refused["code"], "timeout", "{refused}");
    let after = entry_of(&lab, "ours");
    assert_ne!(before["heartbeat"], after["heartbeat"], "the peer has rewritten it");
    assert_eq!(but_for_heartbeat(&before), but_for_heartbeat(&after));
    holder.finish().expect_success();
    ours.finish().expect_success();
    lab.check_all_given_back();
}

#[test]
fn a_lease_of_theirs_keeps_what_we_do_not_know() {
    let lab = one_slot();
    let theirs = start_keeper(&lab);
    wait_for_word(&theirs, "granted a");
    let mut before = lab.record("slot-a").expect("the slot is theirs");
    before["mood"] = json!({"z": [1, 2.5, null], "a": "ü"});
    before["payload"]["colour"] = json!("blue");
    replace(&lab.store().join("slot-a.json"), &before);
    let (text, lines) = lines_of_record(&lab);
    let [owner, token] = ["owner", "token"].map(|key| before[key].as_str().expect("a text").to_owned());
    let beat = store(&lab).heartbeat("slot-a", &owner, &token).expect("the store is usable");
    assert!(matches!(beat, Refreshed::Refreshed { .. }), "{beat:?}");
    let (new_text, new_lines) = lines_of_record(&lab);
    assert_ne!(text, new_text, "we have rewritten it");
    assert_eq!(lines, new_lines);
    theirs.finish().expect_success();
    lab.check_all_given_back();
}

#[test]
fn a_place_of_theirs_keeps_what_we_do_not_know() {
    let lab = one_slot();
    let ours = lab.start(lab.lease_actor(&["--owner", "ours"], &["hold", "gate"]));
    lab.history().wait_for("start", |_| true);
    let theirs = start_client(&lab, &lab.store(), &lab.pool_file(), Stdio::null());
    lab.wait_for_queue(1);
    change_entries(&lab.store(), |entry| entry["mood"] = json!({"z": [1, 2.5, null], "a": "ü"}));
    let before = entry_of(&lab, "peer");
    let second = lab.start(lab.lease_actor(&["--owner", "second"], &["note", "second"]));
    lab.wait_for_queue(2);
    second.signal(rustix::process::Signal::TERM);
    second.finish();
    lab.wait_for_queue(1);
    wait::until_true("the peer says that it waits", || entry_of(&lab, "peer")["heartbeat"] != before["heartbeat"]);
    assert_eq!(but_for_heartbeat(&before), but_for_heartbeat(&entry_of(&lab, "peer")));
    lab.open("gate");
    ours.finish().expect_success();
    theirs.finish().expect_success();
    lab.check_all_given_back();
}
