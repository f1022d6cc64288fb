//! `pool`: the family for scripts on slots.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::lab::{Lab, PROGRAM, Started, broken_outputs, expect_code, has, stderr};

/// What an operation answers, which is one line, and nothing on standard error.
#[track_caller]
fn answer(lab: &Lab, words: &[&str], code: i32) -> Value {
    let (out, err) = expect_code(&mut lab.lease(words), code);
    assert_eq!((out.lines().count(), out.ends_with('\n'), err.as_str()), (1, true, ""), "{out}");
    serde_json::from_str(&out).expect("one JSON object")
}

const ACQUIRE: [&str; 5] = ["pool", "acquire", "--owner", "me", "--no-wait"];

/// A waiter that has said where it stands.
fn waiting(lab: &Lab, words: &[&str]) -> (Started, BufReader<std::process::ChildStderr>) {
    let mut waiter = lab.lease(words);
    let mut waiter = Started(waiter.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cargo-lease starts"));
    let mut err = BufReader::new(waiter.0.stderr.take().expect("piped"));
    let mut line = String::new();
    err.read_line(&mut line).expect("text");
    assert_eq!(line, "… pool saturated — queue position 1, eta ~8m\n");
    (waiter, err)
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().expect("kill starts");
    assert!(sent.success());
}

fn read(from: Option<impl Read>) -> String {
    let mut text = String::new();
    from.expect("piped").read_to_string(&mut text).expect("text");
    text
}

#[test]
fn a_slot_from_the_first_to_the_last() {
    let lab = Lab::new(2);
    let grant = answer(&lab, &ACQUIRE, 0);
    assert_eq!((&grant["slot_id"], &grant["env"]["POOL_SLOT_PORT"]), (&1.into(), &"4001".into()));
    let token = grant["token"].as_str().expect("a token");
    let by = |op: &'static str, token: &str, code: i32| {
        let got = answer(&lab, &["pool", op, "--slot", "1", "--owner", "me", "--token", token], code);
        assert_eq!(got["slot_id"], 1);
        got["code"].clone()
    };
    assert_eq!(by("heartbeat", token, 0), "refreshed");
    assert_eq!(by("heartbeat", "x", 1), "not_owner");
    assert_eq!(by("reset", token, 0), "reset");
    assert_eq!(by("reset", "x", 1), "not_owner");
    assert_eq!(by("release", "x", 1), "token_mismatch");
    assert_eq!(answer(&lab, &["pool", "reprovision", "--slot", "1", "--owner", "me"], 1)["holder"], "me");
    assert_eq!(answer(&lab, &["pool", "reprovision", "--slot", "2", "--owner", "me"], 0)["code"], "reprovisioned");
    assert_eq!(answer(&lab, &["pool", "health", "--slot", "2"], 0)["code"], "healthy");
    assert_eq!(answer(&lab, &["pool", "status"], 0)["slots"][0]["holder"], "me");
    assert_eq!(answer(&lab, &["pool", "pump", "--owner", "me"], 0)["status"]["slots"][1]["state"], "free");
    assert_eq!(by("release", token, 0), "released");
    assert_eq!(lab.states(), ["free", "free"]);
}

#[test]
fn a_slot_stays_held_when_the_command_has_ended() {
    let lab = Lab::new(1);
    let grant = answer(&lab, &ACQUIRE, 0);
    assert_eq!(answer(&lab, &ACQUIRE, 1)["code"], "saturated");
    assert_eq!(answer(&lab, &["pool", "pump", "--owner", "me"], 0)["reapedSlots"], Value::Array(Vec::new()));
    let record = &answer(&lab, &["store", "status", "--kind", "slot-1"], 0)["record"];
    assert_eq!((&record["token"], &record["payload"]["alive"]), (&grant["token"], &Value::Null));
    assert_eq!(answer(&lab, &["pool", "release", "--slot", "1", "--force", "--owner", "ops"], 0)["released"], true);
}

#[test]
fn a_mistake_prints_nothing_on_standard_output_and_changes_nothing() {
    let lab = Lab::new(1);
    lab.write("bad.json", r#"{"slots": [{"id": 1}], "shellPrefix": "a b"}"#);
    let table: [(&[&str], &[&str]); 9] = [
        (&["pool"], &["missing op", "usage:", "acquire", "pump"]),
        (&["pool", "acquire", "--ownr", "me"], &["--ownr", "'--owner'"]),
        (&["pool", "acquire"], &["--owner"]),
        (&["pool", "acquire", "--owner", "me", "--ttl", "soon"], &["--ttl", "soon", "invalid ttlMinutes"]),
        (&["pool", "status", "--poll-ms", "x"], &["--poll-ms", "x"]),
        (&["pool", "acquire", "--owner", "a b"], &["invalid owner", "a b"]),
        (&["pool", "health", "--slot", "7"], &["invalid slot id", "7"]),
        (&["pool", "acquire", "--owner", "me", "--pool", "bad.json"], &["bad.json", "shellPrefix", "a b"]),
        (&["pool", "status", "--pool", "none.json"], &["none.json", "ENOENT"]),
    ];
    lab.expect_usage_errors(&table);
    let mut command = lab.lease(&["pool", "status"]);
    lab.write("elsewhere/x", "");
    let (_, err) = expect_code(command.env_remove("LEASE_POOL_FILE").current_dir(lab.path("elsewhere")), 2);
    has(
        &err,
        &["no pool file", "--pool", "LEASE_POOL_FILE", "[package.metadata.lease]", "[workspace.metadata.lease]", "pool.json"],
    );
}

#[test]
fn a_bad_lifetime_in_the_environment_is_the_matter_of_who_makes_a_lease() {
    let lab = Lab::new(1);
    for words in [&["pool", "status"][..], &["pool", "release", "--slot", "1", "--owner", "me", "--token", "x"]] {
        expect_code(lab.lease(words).env("POOL_TTL_MINUTES", "soon"), 0);
    }
    let (_, err) = expect_code(lab.lease(&ACQUIRE).env("POOL_TTL_MINUTES", "soon"), 2);
    has(&err, &["invalid ttlMinutes", "POOL_TTL_MINUTES", "soon"]);
}

#[test]
fn what_is_doubtful_about_the_pool_is_said_on_standard_error() {
    let lab = Lab::new(1);
    lab.write("pool.json", r#"{"slots": [{"id": 1}], "provison": "true"}"#);
    let (out, err) = expect_code(&mut lab.lease(&["pool", "status"]), 0);
    assert_eq!(out.lines().count(), 1);
    has(&err, &["warning: ", "provison", "provision"]);
    // Once, also where two processes do the work.
    let own = std::process::id().to_string();
    let acquire = [&ACQUIRE[..], &["--keep", &own, "--owner-pattern", "^me|you$"]].concat();
    let (_, err) = expect_code(&mut lab.lease(&acquire), 0);
    // Its keeper ends when the slot is not its own any more.
    expect_code(&mut lab.lease(&["pool", "release", "--slot", "1", "--force", "--owner", "ops"]), 0);
    assert_eq!((err.matches("provison").count(), err.matches("alternation").count()), (1, 1), "{err}");
}

#[test]
fn a_slot_that_cannot_be_made_clean_is_a_refusal_with_its_failure() {
    let lab = Lab::new(1);
    for (option, state, said) in [
        ("--provision-cmd", "reset_failed", "slot 1 reset failed (provision command exit 7)"),
        ("--health-cmd", "health_failed", "slot 1 health check failed (exit 7; exit 7)"),
    ] {
        let (out, err) = expect_code(&mut lab.lease(&[&ACQUIRE[..], &[option, "exit 7;"]].concat()), 1);
        let failure: Value = serde_json::from_str(&out).expect("one JSON object");
        assert_eq!((&failure["ok"], &failure["state"], &failure["error"]), (&false.into(), &state.into(), &said.into()));
        assert_eq!(err, format!("error: {said}\n"));
        assert_eq!(lab.states(), ["free"]);
    }
}

#[test]
fn a_command_that_cannot_be_run_is_no_answer_about_the_slot() {
    let lab = Lab::new(1);
    lab.write("pool.json", r#"{"slots": [{"id": 1}], "provision": "true", "cwd": "absent"}"#);
    let (out, err) = expect_code(&mut lab.lease(&ACQUIRE), 1);
    assert_eq!(out, "");
    has(&err, &["error: slot 1 reset failed (provision command could not be run in ", "absent: ENOENT: "]);
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn who_waits_tells_its_place_and_has_the_slot_of_a_holder_that_was_killed() {
    let lab = Lab::new(1);
    let mut holder = lab.holder(&[]);
    let (mut waiter, err) = waiting(&lab, &["pool", "acquire", "--owner", "me", "--wait-ms", "3600000"]);
    holder.child.0.kill().expect("killed");
    let grant: Value = serde_json::from_str(&read(waiter.0.stdout.take())).expect("one JSON object");
    assert_eq!((&grant["slot_id"], &grant["owner"]), (&1.into(), &"me".into()));
    assert_eq!(read(Some(err)), "", "its place did not change");
}

#[test]
fn the_end_of_a_wait_is_a_refusal() {
    let lab = Lab::new(1);
    let holder = lab.holder(&[]);
    let (out, err) = expect_code(&mut lab.lease(&["pool", "acquire", "--owner", "me", "--wait-ms", "20.5", "--shell"]), 1);
    let refusal: Value = serde_json::from_str(&out).expect("JSON, also with --shell");
    assert_eq!((&refusal["code"], &refusal["waitedMs"]), (&"timeout".into(), &20.5.into()));
    has(&err, &["queue position 1"]);
    assert_eq!(answer(&lab, &["pool", "acquire", "--owner", "me", "--wait-ms", "20", "--no-wait"], 1)["code"], "saturated");
    drop(holder);
}

#[test]
fn a_waiter_that_is_told_to_end_leaves_the_queue_and_dies_of_the_signal() {
    let lab = Lab::new(1);
    let _holder = lab.holder(&[]);
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
        let (mut waiter, err) = waiting(&lab, &["pool", "acquire", "--owner", "me"]);
        signal(&waiter.0, name);
        assert_eq!(waiter.0.wait().expect("ended").signal(), Some(number));
        assert_eq!((read(waiter.0.stdout.take()), read(Some(err))), (String::new(), String::new()));
        assert_eq!(lab.status()["queue"], Value::Array(Vec::new()));
    }
}

#[test]
fn who_is_told_to_end_while_a_slot_is_provisioned_gives_it_back() {
    let lab = Lab::new(1);
    let mut acquire = lab.lease(&[&ACQUIRE[..], &["--provision-cmd", "echo begun; while :; do sleep 0.01; done;"]].concat());
    let acquire = acquire.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut acquire = Started(acquire.spawn().expect("cargo-lease starts"));
    let mut err = BufReader::new(acquire.0.stderr.take().expect("piped"));
    let mut line = String::new();
    err.read_line(&mut line).expect("text");
    assert_eq!(line, "begun\n");
    signal(&acquire.0, "TERM");
    assert_eq!(acquire.0.wait().expect("ended").signal(), Some(15));
    assert_eq!(read(acquire.0.stdout.take()), "");
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn a_slot_that_nobody_is_told_of_is_given_back() {
    let lab = Lab::new(1);
    for shape in ["--pretty", "--shell"] {
        for (out, why) in broken_outputs() {
            let mut command = lab.lease(&[&ACQUIRE[..], &[shape]].concat());
            let output = command.stdout(out).stderr(Stdio::piped()).output().expect("cargo-lease starts");
            assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
            has(&stderr(&output), &["standard output", why]);
            assert_eq!(lab.states(), ["free"]);
        }
    }
    let line = format!("'{PROGRAM}' {} >&-", ACQUIRE.join(" "));
    let (_, err) = expect_code(lab.command("sh").args(["-c", &line]), 3);
    has(&err, &["standard output", "closed"]);
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn two_stores_for_one_pool_file_are_warned_of() {
    let lab = Lab::new(1);
    let elsewhere = lab.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let mut status = lab.lease(&["pool", "status"]);
    status.current_dir(&elsewhere).env_remove("LEASE_STORE").env("LEASE_POOL_FILE", lab.path("pool.json"));
    let (_, err) = expect_code(&mut status, 0);
    has(&err, &["warning: the store here is", "elsewhere/logs/leases", "set LEASE_STORE"]);
    let mut status = lab.lease(&["pool", "status"]);
    status.current_dir(lab.path("")).env_remove("LEASE_STORE").env("LEASE_POOL_FILE", lab.path("pool.json"));
    let (_, err) = expect_code(&mut status, 0);
    assert_eq!(err, "");
}
