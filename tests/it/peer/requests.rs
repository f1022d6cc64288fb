//! A request that one side has queued is claimed through the other.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lease_harness::harness::detached::{Deferred, wait_for_claim};
use lease_harness::json::Json;
use lease_harness::pool::{Claimed, Pool, SlotWanted, Tended};
use lease_harness::store::Refreshed;
use lease_tests::{Lab, wait};
use serde_json::{Value, json};

use super::{call, calls, pool, start_keeper, wait_for_word};
use crate::support::lab;

/// Longer than a test takes; shorter than the wait for one that fails.
const LONG: Duration = Duration::from_secs(60);

/// A slot that is held by the peer, so that whoever asks for it has to wait.
fn held_slot() -> (Lab, lease_tests::Running) {
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a"}]}));
    let holder = start_keeper(&lab);
    wait_for_word(&holder, "granted a");
    (lab, holder)
}

#[test]
fn they_claim_what_we_have_queued() {
    let (lab, holder) = held_slot();
    let pool = &pool(&lab);
    thread::scope(|scope| {
        let (announce, announced) = mpsc::channel();
        let waiter = scope.spawn(move || {
            let told = |requested: &lease_harness::pool::Requested| {
                announce.send(requested.request_id.clone()).expect("somebody listens");
                Ok(())
            };
            wait_for_claim(pool, &SlotWanted::by("ours"), Some(LONG), told).expect("the pool is usable")
        });
        let id = announced.recv().expect("it is announced");
        let claim = json!({"requestId": id, "owner": "ours"});
        let queued = call(&lab, "claim", &claim);
        assert_eq!((&queued["queued"], &queued["position"]), (&json!(true), &json!(1)), "{queued}");
        holder.finish().expect_success();
        wait::until_true("it is granted", || pool.dir().join("grants").join(format!("{id}.json")).exists());
        let grant = call(&lab, "claim", &claim);
        assert_eq!(
            (&grant["state"], &grant["mode"], &grant["owner"]),
            (&json!("ready"), &json!("async"), &json!("ours")),
            "{grant}"
        );
        let lease = json!({"slotId": "a", "owner": "ours", "token": grant["token"]});
        // Their claim changes nothing on the disk. It is their heartbeat by which our waiter knows that it has been relieved.
        assert_eq!(call(&lab, "heartbeat", &lease)["code"], "refreshed");
        assert_eq!(waiter.join().expect("nobody panicked"), Deferred::Granted(Tended::HandedOver));
        assert_eq!(lab.record("slot-a").expect("the slot is held")["token"], grant["token"], "the lease outlives our waiter");
        assert_eq!(call(&lab, "release", &lease)["code"], "released");
    });
    lab.check_all_given_back();
}

fn our_claim(pool: &Pool, id: &str, owner: &str) -> Claimed {
    pool.claim(id, owner).expect("the store is usable")
}

#[test]
fn we_claim_what_they_have_queued() {
    let (lab, holder) = held_slot();
    let pool = pool(&lab);
    let requested = call(&lab, "request", &json!({"owner": "theirs", "session": "s1"}));
    let id = requested["request_id"].as_str().expect("a request has an id");
    let (beat, grant) = (json!({"entryId": id, "owner": "theirs"}), json!({"entryId": id, "owner": "theirs"}));
    let waiting = calls(&lab, &[("heartbeatEntry", &beat), ("tryGrant", &grant)]);
    assert_eq!((&waiting[0]["position"], &waiting[1]), (&json!(1), &json!(null)), "the slot is held");
    assert!(matches!(our_claim(&pool, id, "theirs"), Claimed::Queued { position: 1, .. }));
    holder.finish().expect_success();
    let granted = call(&lab, "tryGrant", &grant);
    assert_eq!(granted["state"], "ready", "{granted}");
    assert!(matches!(our_claim(&pool, id, "somebody"), Claimed::NotOwner { .. }), "a token is shown to its owner only");
    let Claimed::Ready(claimed) = our_claim(&pool, id, "theirs") else { panic!("it is granted") };
    assert_eq!(serde_json::from_str::<Value>(&claimed.to_text()).expect("JSON"), granted, "as it was granted");
    let token = claimed.get("token").and_then(Json::as_str).expect("a grant has a token");
    let slot = pool.slot(claimed.get("slot_id")).expect("there is such a slot");
    assert!(matches!(pool.heartbeat(slot, "theirs", token).expect("the store is usable"), Refreshed::Refreshed { .. }));
    assert!(pool.release(slot, "theirs", token).expect("the store is usable").is_ok());
    lab.check_all_given_back();
}
