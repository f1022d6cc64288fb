//! `store`: the family for scripts on bare leases.

use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::lab::{Lab, PROGRAM, Started, broken_outputs, expect_code, has, stderr};

/// What an operation answers, which is one line, and nothing on standard error.
#[track_caller]
fn answer(lab: &Lab, words: &[&str], code: i32) -> Value {
    let (out, err) = expect_code(&mut lab.lease(words), code);
    assert_eq!((out.lines().count(), out.ends_with('\n'), err.as_str()), (1, true, ""), "{out}");
    serde_json::from_str(&out).expect("one JSON object")
}

const ACQUIRE: [&str; 8] = ["store", "acquire", "--kind", "baton", "--owner", "me", "--ttl", "5"];

#[test]
fn a_lease_from_the_first_to_the_last() {
    let lab = Lab::new(1);
    let got = answer(&lab, &[&ACQUIRE[..], &["--payload", r#"{"why": ["release"]}"#]].concat(), 0);
    assert_eq!((&got["code"], &got["record"]["payload"]["why"][0]), (&"acquired".into(), &"release".into()));
    let token = got["record"]["token"].as_str().expect("a token");
    let by = |op: &'static str, token: &str, code: i32| {
        answer(&lab, &["store", op, "--kind", "baton", "--owner", "me", "--token", token], code)["code"].clone()
    };
    assert_eq!(answer(&lab, &ACQUIRE, 1)["heldBySelf"], true);
    assert_eq!(by("heartbeat", token, 0), "refreshed");
    assert_eq!(by("heartbeat", "x", 1), "not_owner");
    assert_eq!(by("release", "x", 1), "token_mismatch");
    assert_eq!(answer(&lab, &["store", "reap", "--kind", "baton"], 1)["code"], "held");
    assert_eq!(answer(&lab, &["store", "status", "--kind", "baton"], 0)["state"], "held");
    assert_eq!(answer(&lab, &["store", "list"], 0)["leases"][0]["kind"], "baton");
    assert_eq!(answer(&lab, &["store", "reconcile"], 0)["held"][0]["kind"], "baton");
    assert_eq!(by("release", token, 0), "released");
    assert_eq!(answer(&lab, &["store", "status", "--kind", "baton"], 0)["state"], "free");
}

#[test]
fn three_spellings_and_any_order_are_one() {
    let lab = Lab::new(1);
    let (plain, _) = expect_code(&mut lab.lease(&["store", "status", "--kind", "a"]), 0);
    let other = lab.path("other");
    let other = other.to_str().expect("text");
    for words in [
        &["lease", "store", "--kind", "a", "status"][..],
        &["--store", "x", "store", "--store", other, "status", "--kind=a"],
        &["store", "status", "--store", other, "--token", "--force", "--kind", "a"],
    ] {
        assert_eq!(expect_code(&mut lab.lease(words), 0).0, plain, "{words:?}");
    }
    let (pretty, _) = expect_code(&mut lab.lease(&["store", "status", "--kind", "a", "--pretty"]), 0);
    assert_eq!(pretty, "{\n  \"kind\": \"a\",\n  \"state\": \"free\"\n}\n");
}

#[test]
fn documents_are_javascripts() {
    let lab = Lab::new(1);
    let payload = r#"{"b": 1.0, "7": "\ud83d", "a": [1e21, -0]}"#;
    let (out, _) = expect_code(&mut lab.lease(&[&ACQUIRE[..], &["--payload", payload]].concat()), 0);
    has(&out, &[r#""payload":{"7":"\ud83d","b":1,"a":[1e+21,0]}"#]);
}

#[test]
fn a_mistake_prints_nothing_on_standard_output_and_changes_nothing() {
    let lab = Lab::new(1);
    let table: [(&[&str], &[&str]); 6] = [
        (&["store"], &["missing op", "usage:"]),
        (&["store", "acquire", "--knd", "a"], &["--knd", "--kind"]),
        (&["store", "acquire", "--kind", "a", "--owner", "b", "--ttl="], &["invalid ttlMinutes"]),
        (&["store", "acquire", "--kind", "A", "--owner", "b", "--ttl", "1"], &["invalid kind", "A"]),
        (&["store", "acquire", "--kind", "a", "--owner", "a b", "--ttl", "1"], &["invalid owner", "a b"]),
        (&["store", "list", "--owner-pattern", "x"], &["anchored"]),
    ];
    lab.expect_usage_errors(&table);
}

#[test]
fn a_doubtful_owner_pattern_is_warned_of() {
    let lab = Lab::new(1);
    let (out, err) = expect_code(&mut lab.lease(&["store", "list", "--owner-pattern", "^a|b$"]), 0);
    assert_eq!(out, "{\"ok\":true,\"leases\":[]}\n");
    has(&err, &["warning: ", "^a|b$"]);
}

#[test]
fn who_waits_has_the_lease_of_a_holder_that_was_killed() {
    let lab = Lab::new(1);
    let mut holder = lab.holder(&[]);
    let words = ["store", "acquire", "--kind", "slot-1", "--owner", "me", "--ttl", "5"];
    assert_eq!(answer(&lab, &[&words[..], &["--wait-ms", "20"]].concat(), 1)["code"], "timeout");
    let mut waiter = lab.lease(&[&words[..], &["--wait-ms", "3600000"]].concat());
    let mut waiter = Started(waiter.stdout(Stdio::piped()).spawn().expect("cargo-lease starts"));
    holder.child.0.kill().expect("killed");
    let mut out = String::new();
    waiter.0.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
    let got: Value = serde_json::from_str(&out).expect("one JSON object");
    assert_eq!((&got["code"], &got["tookOverExpired"]), (&"acquired".into(), &true.into()));
}

#[test]
fn a_lease_that_nobody_is_told_of_is_given_back() {
    let lab = Lab::new(1);
    for (out, why) in broken_outputs() {
        let output = lab.lease(&ACQUIRE).stdout(out).stderr(Stdio::piped()).output().expect("cargo-lease starts");
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        has(&stderr(&output), &["standard output", why]);
        assert_eq!(answer(&lab, &["store", "list"], 0)["leases"], Value::Array(Vec::new()));
    }
    let mut shell = lab.command("sh");
    let line = format!("'{PROGRAM}' {} >&-", ACQUIRE.join(" "));
    let (_, err) = expect_code(shell.args(["-c", &line]), 3);
    has(&err, &["standard output", "closed"]);
    assert_eq!(answer(&lab, &["store", "list"], 0)["leases"], Value::Array(Vec::new()));
}

#[test]
fn an_answer_that_nobody_reads_is_no_success() {
    let lab = Lab::new(1);
    let (read, write) = std::io::pipe().expect("a pipe");
    drop(read);
    let output = lab.lease(&["store", "list"]).stdout(write).output().expect("cargo-lease starts");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}
