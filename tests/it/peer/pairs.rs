//! One of ours and one of theirs: who waits, who is next, who takes what over.

use rustix::process::Signal;
use serde_json::{Value, json};

use lease_tests::{Lab, Running};

use super::{call, pool, start_keeper, wait_for_word};
use crate::support::lab;

fn one_slot() -> Lab {
    let lab = lab();
    lab.write_slots(&["a"]);
    lab
}

/// One of ours that has its slot until `gate` is open.
fn start_ours(lab: &Lab, options: &[&str], gate: &str) -> Running {
    let before = lab.history().all("start").len();
    let ours = lab.start(lab.lease_actor(options, &["hold", gate]));
    lease_tests::wait::until_true("ours has its slot", || before < lab.history().all("start").len());
    ours
}

/// The lines of the store's journal.
fn journal(lab: &Lab) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.store().join("reaped.log")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of the journal is JSON")).collect()
}

#[track_caller]
fn check_all_served(lab: &Lab) {
    lab.history().check_one_user_a_slot();
    lab.check_all_given_back();
    assert_eq!(journal(lab), Vec::<Value>::new(), "nobody took anything from anybody");
}

#[test]
fn theirs_waits_for_what_we_hold() {
    let lab = one_slot();
    let ours = start_ours(&lab, &[], "gate");
    let theirs = start_keeper(&lab);
    lab.wait_for_queue(1);
    assert!(!theirs.stdout().contains("granted"), "the slot is ours");
    lab.open("gate");
    ours.finish().expect_success();
    wait_for_word(&theirs, "granted a");
    theirs.finish().expect_success();
    check_all_served(&lab);
}

#[test]
fn we_wait_for_what_theirs_holds() {
    let lab = one_slot();
    let theirs = start_keeper(&lab);
    wait_for_word(&theirs, "granted a");
    let ours = lab.start(lab.lease_actor(&[], &["note", "ours"]));
    lab.wait_for_queue(1);
    assert_eq!(lab.history().all("ours").len(), 0, "the slot is theirs");
    theirs.finish().expect_success();
    ours.finish().expect_success();
    check_all_served(&lab);
}

#[test]
fn we_wait_behind_theirs() {
    let lab = one_slot();
    let first = start_keeper(&lab);
    wait_for_word(&first, "granted a");
    let second = start_keeper(&lab);
    lab.wait_for_queue(1);
    let ours = lab.start(lab.lease_actor(&[], &["note", "ours"]));
    lab.wait_for_queue(2);
    first.finish().expect_success();
    wait_for_word(&second, "granted a");
    assert_eq!(lab.history().all("ours").len(), 0, "it is their turn");
    second.finish().expect_success();
    ours.finish().expect_success();
    check_all_served(&lab);
}

#[test]
fn theirs_waits_behind_ours() {
    let lab = one_slot();
    let first = start_ours(&lab, &[], "gate");
    let second = lab.start(lab.lease_actor(&[], &["hold", "gate-of-the-second"]));
    lab.wait_for_queue(1);
    let theirs = start_keeper(&lab);
    lab.wait_for_queue(2);
    lab.open("gate");
    first.finish().expect_success();
    lease_tests::wait::until_true("ours has its slot", || lab.history().all("start").len() == 2);
    assert!(!theirs.stdout().contains("granted"), "it is our turn");
    lab.open("gate-of-the-second");
    second.finish().expect_success();
    wait_for_word(&theirs, "granted a");
    theirs.finish().expect_success();
    check_all_served(&lab);
}

#[test]
fn what_they_release_by_force_is_lost_to_us() {
    let lab = one_slot();
    let ours = start_ours(&lab, &["--heartbeat-secs", "1"], "gate");
    let token = lab.record("slot-a").expect("the slot is ours")["token"].clone();
    let released = call(&lab, "release", &json!({"slotId": "a", "owner": "peer", "force": true}));
    assert_eq!((&released["ok"], &released["code"]), (&json!(true), &json!("released")));
    ours.finish().expect_code(75);
    let journal = journal(&lab);
    assert_eq!(journal.len(), 1, "{journal:?}");
    assert_eq!((&journal[0]["event"], &journal[0]["previous"]["token"]), (&json!("force_release"), &token));
    lab.check_all_given_back();
}

#[test]
fn what_we_release_by_force_is_lost_to_them() {
    let lab = one_slot();
    let theirs = start_keeper(&lab);
    wait_for_word(&theirs, "granted a");
    let (pool, record) = (pool(&lab), lab.record("slot-a").expect("the slot is theirs"));
    let slot = pool.slot(Some(&"a".into())).expect("there is a slot a");
    assert!(pool.force_release(slot, Some("ours")).expect("the pool is usable").is_ok());
    lab.run(lab.lease_actor(&[], &["note", "ours"])).expect_success();
    let beat = call(&lab, "heartbeat", &json!({"slotId": "a", "owner": record["owner"], "token": record["token"]}));
    assert_eq!((&beat["ok"], &beat["code"]), (&json!(false), &json!("not_held")));
    let theirs = theirs.finish().expect_success();
    assert!(theirs.stdout.contains("lost"), "{}", theirs.account());
    assert_eq!((journal(&lab).len(), &journal(&lab)[0]["previous"]["token"]), (1, &record["token"]));
    lab.check_all_given_back();
}

#[test]
fn we_take_over_what_has_expired_of_theirs() {
    let lab = one_slot();
    let grant = call(&lab, "acquireNoWait", &json!({"owner": "peer", "ttlMinutes": 0.002}));
    assert_eq!(grant["state"], "ready", "{grant}");
    lab.run(lab.lease_actor(&[], &["note", "ours"])).expect_success();
    let journal = journal(&lab);
    assert_eq!(journal.len(), 1, "{journal:?}");
    assert_eq!(journal[0]["previous"]["token"], grant["token"]);
    let late = call(&lab, "heartbeat", &json!({"slotId": "a", "owner": "peer", "token": grant["token"]}));
    assert_eq!(late["ok"], false, "no revival: {late}");
    lab.check_all_given_back();
}

/// By its lifetime alone: they know no proof of life. We find out when we go on.
#[test]
fn they_take_over_what_has_expired_of_ours() {
    let lab = one_slot();
    let ours = start_ours(&lab, &["--ttl", "0.02"], "gate");
    ours.signal_group(Signal::STOP);
    let theirs = start_keeper(&lab);
    wait_for_word(&theirs, "granted a");
    let record = lab.record("slot-a").expect("the slot is theirs");
    assert_eq!(record["owner"], "peer");
    ours.signal_group(Signal::CONT);
    ours.finish().expect_code(75);
    assert_eq!(lab.record("slot-a").expect("the slot is theirs")["token"], record["token"], "their lease is not touched");
    let theirs = theirs.finish().expect_success();
    assert!(theirs.stdout.contains("released a"), "{}", theirs.account());
    lab.check_all_given_back();
}
