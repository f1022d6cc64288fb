//! A program of another hand, in another language, on the same store.

use std::path::Path;
use std::process::{Command, Stdio};

use lease_tests::{Lab, Running, wait};

use crate::crowd::{Crowd, N_TESTS, Spread};
use crate::support::lab;

/// The other program. It takes part for as long as its standard input is open.
pub(crate) fn holder(lab: &Lab, args: &[&str]) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("third_party/holder.py");
    let version = lab.command("python3").arg("--version").stdout(Stdio::null()).status();
    assert!(version.is_ok_and(|status| status.success()), "this test needs python3 on the path, and there is none");
    let mut command = lab.command("python3");
    command.arg("-B").arg(script).args(args);
    command
}

/// Starts a client of a pool, which keeps its slot until its input ends.
fn start_client(lab: &Lab, store: &Path, pool: &Path, input: Stdio) -> Running {
    let (store, pool) = (store.display().to_string(), pool.display().to_string());
    let mut command = holder(lab, &["acquire", "--store", &store, "--pool", &pool]);
    command.stdin(input);
    lab.start(command)
}

/// A client of the laboratory's pool that keeps its slot until it is told to finish.
fn start_keeper(lab: &Lab) -> Running {
    start_client(lab, &lab.store(), &lab.pool_file(), Stdio::piped())
}

fn wait_for_word(run: &Running, word: &str) {
    wait::until_true(&format!("the other program says {word:?}"), || run.stdout().contains(word));
}

#[test]
fn two_worktrees_share_what_the_other_program_leaves() {
    let crowd = Crowd::new(Spread::OneEach);
    let pool = crowd.worktrees[0].join("pool.json");
    let holder = start_client(&crowd.lab, &crowd.store(), &pool, Stdio::piped());
    wait_for_word(&holder, "granted a");
    for run in crowd.run_in_both(&["test", "--tests"], 1, 2) {
        let run = run.expect_success();
        assert_eq!(run.stdout.matches("test result: ok. 1 passed").count(), N_TESTS, "{}", run.account());
    }
    let history = crowd.lab.history();
    let strangers = history.all("start").into_iter().filter(|event| event.get("slot") == "a").count();
    assert_eq!(strangers, 1, "nobody used the slot that the other program held");
    let holder = holder.finish().expect_success();
    assert!(holder.stdout.contains("released a"), "{}", holder.account());
    crowd.check_history();
}

#[test]
fn the_other_program_waits_for_what_we_hold() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let ours = lab.start(lab.lease_actor(&[], &["hold", "gate"]));
    lab.history().wait_for("start", |_| true);
    let client = start_keeper(&lab);
    lab.wait_for_queue(1);
    assert!(!client.stdout().contains("granted"), "the slot is ours");
    lab.open("gate");
    ours.finish().expect_success();
    wait_for_word(&client, "granted a");
    client.finish().expect_success();
    lab.history().check_one_user_a_slot();
    lab.check_all_given_back();
}

/// First come, first served, across both programs.
#[test]
fn we_wait_behind_the_other_program() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let first = start_keeper(&lab);
    wait_for_word(&first, "granted a");
    let second = start_keeper(&lab);
    lab.wait_for_queue(1);
    let ours = lab.start(lab.lease_actor(&[], &["note", "ours"]));
    lab.wait_for_queue(2);
    first.finish().expect_success();
    wait_for_word(&second, "granted a");
    assert_eq!(lab.history().all("ours").len(), 0, "it is the other's turn");
    second.finish().expect_success();
    ours.finish().expect_success();
    lab.history().check_one_user_a_slot();
    lab.check_all_given_back();
}

#[test]
fn a_crowd_of_both_programs_never_shares_a_slot() {
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
