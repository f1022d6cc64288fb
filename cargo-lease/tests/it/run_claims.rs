//! `run --claim`: a command that holds particular resources.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::lab::{Lab, PROGRAM, Started, expect_code, has};

/// What is held, as `mode:key`.
fn held(lab: &Lab) -> Vec<String> {
    words_of(&lab.status()["claims"]["leases"])
}

fn words_of(claims: &Value) -> Vec<String> {
    let text = |claim: &Value, name: &str| claim[name].as_str().expect("text").to_owned();
    let claims = claims.as_array().expect("a list");
    claims.iter().map(|claim| format!("{}:{}", text(claim, "mode"), text(claim, "resourceKey"))).collect()
}

/// Starts a command that has to wait, and waits until it says so; what it says.
fn waiter(lab: &Lab, words: &[&str]) -> (Started, String) {
    let mut command = lab.lease(words);
    let mut waiter = Started(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cargo-lease starts"));
    let mut line = String::new();
    BufReader::new(waiter.0.stderr.take().expect("piped")).read_line(&mut line).expect("text");
    (waiter, line)
}

#[test]
fn the_command_runs_under_its_claims_and_ends_as_it_ends() {
    let lab = Lab::new(1);
    let script = "echo \"$LEASE_CLAIMS\"; echo \"slot $POOL_SLOT_ID\"; exit 3";
    let words = ["run", "--claim", "read:schema", "--claim", "write:path:fixtures/users", "--", "sh", "-c", script];
    let (out, err) = expect_code(&mut lab.lease(&words), 3);
    assert_eq!(err, "");
    let (claims, slot) = out.trim_end().split_once('\n').expect("two lines");
    assert_eq!(slot, "slot", "without --pool it takes none");
    let claims: Value = serde_json::from_str(claims).expect("a document");
    assert_eq!(words_of(&claims), ["read:schema", "write:path:fixtures/users"]);
    assert_eq!(claims[0]["fencingToken"], 1);
    assert_eq!(Path::new(claims[0]["scope"].as_str().expect("text")), lab.path(""));
    assert!(held(&lab).is_empty());
}

#[test]
fn with_a_pool_it_has_a_slot_as_well() {
    let lab = Lab::new(1);
    let script = format!("echo $POOL_SLOT_ID; {PROGRAM} status --json");
    let words = ["run", "--pool", "pool.json", "--claim", "write:k", "--", "sh", "-c", &script];
    let (out, _) = expect_code(&mut lab.lease(&words), 0);
    let (slot, status) = out.split_once('\n').expect("two lines");
    let status: Value = serde_json::from_str(status).expect("a document");
    assert_eq!((slot, &status["slots"][0]["state"]), ("1", &json!("held")));
    assert_eq!(words_of(&status["claims"]["leases"]), ["write:k"]);
    assert_eq!(lab.states(), ["free"]);
    assert!(held(&lab).is_empty());
}

/// Slots come first, so who waits for a slot holds no claim yet.
#[test]
fn a_slot_is_taken_before_the_claims() {
    let lab = Lab::new(1);
    let holder = lab.holder(&[]);
    let (waiter, line) = waiter(&lab, &["run", "--pool", "pool.json", "--claim", "write:k", "--", "true"]);
    has(&line, &["pool saturated"]);
    assert!(held(&lab).is_empty());
    assert_eq!(holder.end().code(), Some(0));
    drop(waiter);
}

#[test]
fn what_others_hold_is_waited_for() {
    let lab = Lab::new(1);
    let holder = lab.holder(&["--claim", "write:k"]);
    let (mut next, line) = waiter(&lab, &["run", "--claim", "read:k", "--", "echo", "got it"]);
    has(&line, &["… queue position 1: k is held by tester/", " to write"]);
    assert_eq!(holder.end().code(), Some(0));
    let mut out = String::new();
    next.0.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
    assert_eq!((out.as_str(), next.0.wait().expect("ended").code()), ("got it\n", Some(0)));
}

#[test]
fn what_is_not_had_in_time_is_a_refusal_and_nothing_runs() {
    let lab = Lab::new(1);
    let holder = lab.holder(&["--claim", "write:path:fixtures"]);
    for wait in [&["--no-wait"][..], &["--wait", "20ms"], &["--wait-ms", "20"]] {
        let words = [wait, &["run", "--claim", "read:path:fixtures/users", "--", "touch", "ran"]].concat();
        let (out, err) = expect_code(&mut lab.lease(&words), 1);
        assert_eq!(out, "");
        has(&err, &["error: not all claims could be had: path:fixtures is held by tester/"]);
    }
    assert!(!lab.path("ran").exists());
    // Readers of one thing, and claims of another scope, do not meet.
    expect_code(&mut lab.lease(&["--no-wait", "run", "--claim", "write:path:src", "--", "true"]), 0);
    let elsewhere = ["--no-wait", "run", "--scope", "other", "--claim", "write:path:fixtures", "--", "true"];
    expect_code(&mut lab.lease(&elsewhere), 0);
    assert_eq!(holder.end().code(), Some(0));
    assert_eq!(lab.status()["claims"]["waiters"], json!([]));
}

#[test]
fn a_signal_ends_the_wait_and_leaves_the_queue() {
    let lab = Lab::new(1);
    let _holder = lab.holder(&["--claim", "write:k"]);
    let (mut waiter, _) = waiter(&lab, &["run", "--claim", "write:k", "--", "touch", "ran"]);
    let waits = lab.status()["claims"]["waiters"].clone();
    assert_eq!((&waits[0]["position"], words_of(&waits[0]["blockers"])), (&json!(1), vec!["write:k".to_owned()]));
    let sent = std::process::Command::new("kill").args(["-TERM", &waiter.0.id().to_string()]).status().expect("kill starts");
    assert!(sent.success());
    assert_eq!(waiter.0.wait().expect("ended").signal(), Some(15));
    assert_eq!(lab.status()["claims"]["waiters"], json!([]));
    assert!(!lab.path("ran").exists());
}

#[test]
fn a_nested_use_joins_what_it_is_under() {
    let lab = Lab::new(1);
    let inner = ["read:k", "exclusive:k", "write:path:a/b", "write:path:x:a"].map(|claim| format!("--claim {claim}")).join(" ");
    let script = format!("{PROGRAM} --no-wait run {inner} -- sh -c 'echo \"$LEASE_CLAIMS\"'; {PROGRAM} status --json");
    let words = ["run", "--claim", "write:k", "--claim", "write:path:a", "--", "sh", "-c", &script];
    let (out, _) = expect_code(&mut lab.lease(&words), 0);
    let (claims, status) = out.split_once('\n').expect("two lines");
    let status: Value = serde_json::from_str(status).expect("a document");
    assert_eq!(words_of(&serde_json::from_str(claims).expect("a document")), ["write:k", "write:path:a"]);
    assert_eq!(words_of(&status["claims"]["leases"]), ["write:k", "write:path:a"]);
}

/// Two who do that could wait for each other for ever.
#[test]
fn what_goes_beyond_the_outer_claims_is_taken_if_it_is_free_and_not_waited_for() {
    let lab = Lab::new(1);
    let holder = lab.holder(&["--claim", "write:other"]);
    let script = format!(
        "{PROGRAM} run --claim write:free --claim read:k -- true || exit 9
        {PROGRAM} run --claim write:other -- touch ran; echo $?
        {PROGRAM} run --claim write:k -- touch ran; echo $?"
    );
    let (out, err) = expect_code(&mut lab.lease(&["run", "--claim", "read:k", "--", "sh", "-c", &script]), 0);
    assert_eq!(out, "1\n1\n");
    has(&err, &["other is held by tester/", "k is held by tester/", "LEASE_HOLD_AND_WAIT", "claim all of it at once"]);
    assert!(!lab.path("ran").exists());
    assert_eq!(holder.end().code(), Some(0));
    assert!(held(&lab).is_empty());
}

#[test]
fn outer_claims_that_are_gone_are_not_joined() {
    let lab = Lab::new(1);
    let script = "echo \"$LEASE_CLAIMS\"";
    let (claims, _) = expect_code(&mut lab.lease(&["run", "--claim", "write:k", "--", "sh", "-c", script]), 0);
    let mut late = lab.lease(&["run", "--claim", "read:k", "--", "touch", "ran"]);
    let (_, err) = expect_code(late.env("LEASE_CLAIMS", claims.trim_end()), 75);
    has(&err, &["the claim write:k", "LEASE_CLAIMS", "is not held any more"]);
    assert!(!lab.path("ran").exists());
}

#[test]
fn claims_that_are_lost_end_the_command_with_75() {
    let lab = Lab::new(1);
    let mut holder = lab.holder(&["--claim", "write:k", "--claim", "read:j", "--heartbeat-secs", "0.05"]);
    let owner = lab.status()["claims"]["leases"][0]["ownerJobId"].as_str().expect("text").to_owned();
    expect_code(&mut lab.lease(&["claims", "release", "--owner", &owner]), 0);
    assert_eq!(holder.child.0.wait().expect("ended").code(), Some(75));
    let mut err = String::new();
    holder.child.0.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
    has(&err, &["error: the claims write:k, read:j were lost: "]);
}

/// The claims of a killed wrapper are free at once, and what still works under them is ended before anybody has them.
#[test]
fn a_killed_wrapper_leaves_nothing() {
    let lab = Lab::new(1);
    let script = "setsid sh -c 'echo left; sleep 240; echo survived' & read wait";
    let mut command = lab.lease(&["run", "--claim", "write:k", "--", "sh", "-c", script]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut wrapper = Started(command.spawn().expect("cargo-lease starts"));
    let mut out = BufReader::new(wrapper.0.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    assert_eq!(line, "left\n");
    wrapper.0.kill().expect("killed");
    wrapper.0.wait().expect("ended");
    assert!(held(&lab).is_empty());
    expect_code(&mut lab.lease(&["--no-wait", "run", "--claim", "write:k", "--", "true"]), 0);
    // Its output ends with the last who can write there.
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "");
}

/// What is started as `nohup` does, deaf to SIGHUP, outlives who started it, and so do its claims.
#[test]
fn a_command_that_is_to_outlive_its_starter_keeps_its_claims() {
    let lab = Lab::new(1);
    let script = format!(
        "trap '' HUP
        {PROGRAM} run --claim write:k -- sh -c 'echo in; until test -e gone; do sleep 0.01; done' > out 2>&1 &
        until grep -q in out; do kill -0 $! || exit; sleep 0.01; done"
    );
    let mut starter = lab.command("sh");
    expect_code(starter.args(["-c", &script]), 0);
    assert_eq!(held(&lab), ["write:k"]);
    lab.write("gone", "");
    // It ends, and what it held is free.
    expect_code(&mut lab.lease(&["run", "--claim", "write:k", "--", "true"]), 0);
}

#[test]
fn mistakes_in_claims() {
    let lab = Lab::new(1);
    lab.expect_usage_errors(&[
        (&["run", "--claim", "schema", "--", "true"], &["--claim", "schema", "MODE:KEY", "read:schema"]),
        (&["run", "--claim", "raed:schema", "--", "true"], &["raed", "read, write or exclusive"]),
        (&["run", "--claim", "read: ", "--", "true"], &["blank"]),
        (&["run", "--claim", "read:x"], &["COMMAND"]),
        (&["run", "--ttl", "0.1", "--heartbeat-secs", "6", "--claim", "read:x", "--", "true"], &["too slow"]),
        (&["run", "--pool", "none.json", "--claim", "read:x", "--", "true"], &["none.json"]),
    ]);
}
