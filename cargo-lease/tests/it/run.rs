//! `run`: any command in a slot.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::lab::{Lab, PROGRAM, Started, expect_code, finished, has, stderr};

#[test]
fn a_command_sees_its_slot_and_gives_it_back() {
    let lab = Lab::new(1);
    let script = "echo $POOL_SLOT_ID $POOL_SLOT_PORT $POOL_RUN_SLOT $POOL_RUN_OWNER; pwd; echo seen >&2; cat; exit 7";
    let mut child = Started(
        lab.lease(&["run", "--", "sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo-lease starts"),
    );
    child.0.stdin.take().expect("piped").write_all(b"from stdin").expect("written");
    let (mut out, mut err) = (String::new(), String::new());
    child.0.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
    child.0.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
    assert_eq!(out, format!("1 4001 1 tester\n{}\nfrom stdin", lab.path("").display()).replace("/\n", "\n"));
    assert_eq!(err, "seen\n");
    assert_eq!(child.0.wait().expect("ended").code(), Some(7));
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn we_die_of_the_commands_signal() {
    let lab = Lab::new(1);
    let output = finished(&mut lab.lease(&["run", "--", "sh", "-c", "kill -TERM $$"]));
    assert_eq!(output.status.signal(), Some(15), "{}", stderr(&output));
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn arguments_arrive_word_for_word() {
    let lab = Lab::new(1);
    let words = ["run", "--", "printf", "[%s]", "a b", "", "--", "--help", "*"];
    let (out, _) = expect_code(&mut lab.lease(&words), 0);
    assert_eq!(out, "[a b][][--][--help][*]");
}

#[test]
fn a_command_that_is_not_there_leaves_the_slot_free() {
    let lab = Lab::new(1);
    let (_, err) = expect_code(&mut lab.lease(&["run", "--", "no-such-command"]), 127);
    has(&err, &["error: ", "no-such-command"]);
    lab.write("plain.txt", "no program");
    expect_code(&mut lab.lease(&["run", "--", "./plain.txt"]), 126);
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn no_slot_within_the_time_is_a_refusal_and_nothing_runs() {
    let lab = Lab::new(1);
    let holder = lab.holder(&[]);
    for wait in [&["--no-wait"][..], &["--wait", "20ms"], &["--wait-ms", "20"]] {
        let words = [wait, &["run", "--", "touch", "ran"]].concat();
        let (out, err) = expect_code(&mut lab.lease(&words), 1);
        assert_eq!(out, "");
        has(&err, &["error: ", "lab"]);
    }
    assert!(!lab.path("ran").exists());
    assert_eq!(holder.end().code(), Some(0));
    assert_eq!(lab.states(), ["free"]);
    assert_eq!(lab.status()["queue"], serde_json::json!([]));
}

#[test]
fn a_waiter_is_told_its_place_and_gets_the_slot() {
    let lab = Lab::new(1);
    let holder = lab.holder(&[]);
    let mut waiter = Started(
        lab.lease(&["run", "--", "sh", "-c", "echo got $POOL_SLOT_ID"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo-lease starts"),
    );
    let mut err = BufReader::new(waiter.0.stderr.take().expect("piped"));
    let mut line = String::new();
    err.read_line(&mut line).expect("text");
    assert_eq!(line, "… pool saturated — queue position 1, eta ~8m\n");
    assert_eq!(holder.end().code(), Some(0));
    let mut out = String::new();
    waiter.0.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
    assert_eq!(out, "got 1\n");
    assert_eq!(waiter.0.wait().expect("ended").code(), Some(0));
}

#[test]
fn a_nested_use_joins_the_outer_slot() {
    let lab = Lab::new(1);
    let inner = format!("echo $POOL_SLOT_ID; {PROGRAM} --no-wait run -- sh -c 'echo $POOL_SLOT_ID; exit 3'");
    let (out, _) = expect_code(&mut lab.lease(&["run", "--", "sh", "-c", &inner]), 3);
    assert_eq!(out, "1\n1\n");
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn a_lease_that_is_lost_ends_the_command_with_75() {
    let lab = Lab::new(1);
    let mut holder = lab.holder(&["--heartbeat-secs", "0.05"]);
    // Again and again, because a heartbeat that had just read the record writes it back.
    while holder.child.0.try_wait().expect("awaited").is_none() {
        let _ = std::fs::remove_file(lab.path("store/slot-1.json"));
        std::thread::yield_now();
    }
    assert_eq!(holder.child.0.wait().expect("ended").code(), Some(75));
    let mut err = String::new();
    holder.child.0.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
    has(&err, &["error: slot 1 of pool lab", "lost"]);
}

#[test]
fn broken_provision_is_a_refusal_that_says_so() {
    let lab = Lab::new(1);
    let words = ["run", "--provision-cmd", "exit 9;", "--", "touch", "ran"];
    let (_, err) = expect_code(&mut lab.lease(&words), 1);
    has(&err, &["error: ", "9"]);
    assert!(!lab.path("ran").exists());
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn what_the_alias_set_for_us_is_not_handed_on() {
    let lab = Lab::new(1);
    let words = ["run", "--", "sh", "-c", "echo \"$CARGO_PKG_NAME,$CARGO_MANIFEST_DIR,$CARGO_PKG_VERSION\""];
    let mut ours = lab.lease(&words);
    ours.env("CARGO_PKG_NAME", "cargo-lease").env("CARGO_MANIFEST_DIR", "/m").env("CARGO_PKG_VERSION", "1");
    assert_eq!(expect_code(&mut ours, 0).0, ",,\n");
    let mut theirs = lab.lease(&words);
    theirs.env("CARGO_PKG_NAME", "api").env("CARGO_MANIFEST_DIR", "/m");
    assert_eq!(expect_code(&mut theirs, 0).0, "api,/m,\n");
}
