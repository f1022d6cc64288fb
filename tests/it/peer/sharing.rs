//! A crowd of both on the same slots.

use std::process::Stdio;

use super::{start_client, wait_for_word};
use crate::crowd::{Crowd, N_TESTS, Spread};
use crate::support::lab;

#[test]
fn two_worktrees_share_what_the_peer_leaves() {
    let crowd = Crowd::new(Spread::OneEach);
    let pool = crowd.worktrees[0].join("pool.json");
    let peer = start_client(&crowd.lab, &crowd.store(), &pool, Stdio::piped());
    wait_for_word(&peer, "granted a");
    for run in crowd.run_in_both(&["test", "--tests"], 1, 2) {
        let run = run.expect_success();
        assert_eq!(run.stdout.matches("test result: ok. 1 passed").count(), N_TESTS, "{}", run.account());
    }
    let history = crowd.lab.history();
    let strangers = history.all("start").into_iter().filter(|event| event.get("slot") == "a").count();
    assert_eq!(strangers, 1, "nobody used the slot that the peer held");
    let peer = peer.finish().expect_success();
    assert!(peer.stdout.contains("released a"), "{}", peer.account());
    crowd.check_history();
}

#[test]
fn a_crowd_of_both_never_shares_a_slot() {
    const EACH: usize = 8;
    let lab = lab();
    lab.write_slots(&["a", "b"]);
    lab.open("gate");
    let clients: Vec<_> = (0..EACH).map(|_| start_client(&lab, &lab.store(), &lab.pool_file(), Stdio::null())).collect();
    let ours: Vec<_> = (0..EACH).map(|_| lab.start(lab.lease_actor(&[], &["hold", "gate"]))).collect();
    for run in ours {
        run.finish().expect_success();
    }
    for client in clients {
        client.finish().expect_success();
    }
    assert_eq!(lab.history().check_one_user_a_slot(), 2 * EACH);
    lab.check_all_given_back();
}
