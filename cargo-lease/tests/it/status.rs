//! `status`: who holds what.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::lab::{Lab, Started, expect_code, has};

#[test]
fn a_table_for_people() {
    let lab = Lab::new(2);
    let holder = lab.holder(&["--session", "nightly run"]);
    let (out, err) = expect_code(&mut lab.lease(&["status"]), 0);
    assert_eq!(err, "");
    let lines: Vec<&str> = out.lines().collect();
    has(lines[0], &[lab.path("store").to_str().expect("text")]);
    let columns: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(columns, ["SLOT", "STATE", "HOLDER", "SESSION", "SINCE", "EXPIRES"]);
    has(lines[3], &[&holder.slot, "held", "tester", "nightly run", " ago", "in "]);
    assert_eq!(lines[4].split_whitespace().collect::<Vec<_>>(), ["2", "free"]);
    let session = lines[2].find("SESSION").expect("column");
    assert_eq!(lines[3].find("nightly run"), Some(session));
    assert_eq!(lines.len(), 5, "{out}");
}

#[test]
fn the_queue_is_shown() {
    let lab = Lab::new(1);
    let _holder = lab.holder(&[]);
    let mut waiter = lab.lease(&["run", "--session", "patient", "--", "true"]);
    let mut waiter = Started(waiter.stderr(Stdio::piped()).spawn().expect("cargo-lease starts"));
    let mut line = String::new();
    BufReader::new(waiter.0.stderr.take().expect("piped")).read_line(&mut line).expect("text");
    let (out, _) = expect_code(&mut lab.lease(&["status"]), 0);
    has(&out, &["PLACE", "patient", "blocking", "~8m", "a lease lasts 8m on average"]);
    assert_eq!(lab.status()["queue"][0]["position"], 1);
}

#[test]
fn what_a_killed_holder_left_is_said() {
    let lab = Lab::new(1);
    let mut holder = lab.holder(&[]);
    holder.child.0.kill().expect("killed");
    holder.child.0.wait().expect("ended");
    let (out, _) = expect_code(&mut lab.lease(&["status"]), 0);
    has(&out, &["1     left behind", "goes to the next who asks"]);
    assert_eq!(lab.states(), ["unknown"]);
    expect_code(&mut lab.lease(&["--no-wait", "run", "--", "true"]), 0);
    assert_eq!(lab.states(), ["free"]);
}

#[test]
fn outside_of_repositories_the_store_is_beside_the_pool_file() {
    let lab = Lab::new(1);
    lab.write("deep/down/x", "");
    let expected = format!("store {}\n", lab.path("logs/leases").display());
    for (folder, pool) in [("", "pool.json"), ("deep", "../pool.json"), ("deep/down", "../../pool.json")] {
        let mut command = lab.lease(&["--pool", pool, "status"]);
        let (out, _) = expect_code(command.env_remove("LEASE_STORE").current_dir(lab.path(folder)), 0);
        assert!(out.starts_with(&expected), "{folder}: {out}");
    }
}

#[test]
fn empty_paths_leave_it_to_the_environment() {
    let lab = Lab::new(1);
    let (out, _) = expect_code(&mut lab.lease(&["--pool=", "status", "--store", ""]), 0);
    assert!(out.starts_with(&format!("store {}\n", lab.path("store").display())), "{out}");
}

#[test]
fn json_is_one_object_and_creates_nothing() {
    let lab = Lab::new(2);
    let status = lab.status();
    assert_eq!(status["ok"], true);
    assert_eq!(status["slots"].as_array().map(Vec::len), Some(2));
    assert!(!lab.path("store").exists());
    let (after, _) = expect_code(&mut lab.lease(&["status", "--pool", "pool.json", "--json"]), 0);
    assert_eq!(after.lines().count(), 1);
}

#[test]
fn who_does_not_read_on_is_no_failure() {
    let lab = Lab::new(1);
    let mut status = lab.lease(&["status"]);
    let mut status = Started(status.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("cargo-lease starts"));
    drop(status.0.stdout.take());
    let mut err = String::new();
    std::io::Read::read_to_string(&mut status.0.stderr.take().expect("piped"), &mut err).expect("text");
    assert_eq!((status.0.wait().expect("ended").code(), err.as_str()), (Some(0), ""));
}

#[test]
fn a_watch_prints_again_when_something_changed() {
    let lab = Lab::new(1);
    let mut watch = lab.lease(&["status", "--watch", "--json"]);
    let mut watch = Started(watch.stdout(Stdio::piped()).spawn().expect("cargo-lease starts"));
    let mut out = BufReader::new(watch.0.stdout.take().expect("piped")).lines();
    // There may be lines between that show a waiter in the queue.
    let mut wait_for = |state: &str| {
        let shown = format!(r#""state":"{state}""#);
        out.by_ref().map(|line| line.expect("text")).find(|line| line.contains(&shown)).expect("a line with the state");
    };
    wait_for("free");
    let holder = lab.holder(&[]);
    wait_for("held");
    assert_eq!(holder.end().code(), Some(0));
    wait_for("free");
}

#[test]
fn claims_are_shown_with_who_waits_for_whom() {
    let lab = Lab::new(1);
    let _holder = lab.holder(&["--claim", "write:schema", "--claim", "read:path:fixtures"]);
    let mut waiter = lab.lease(&["--owner", "patient", "run", "--claim", "read:schema", "--", "true"]);
    let mut waiter = Started(waiter.stderr(Stdio::piped()).spawn().expect("cargo-lease starts"));
    let mut line = String::new();
    BufReader::new(waiter.0.stderr.take().expect("piped")).read_line(&mut line).expect("text");
    let (out, _) = expect_code(&mut lab.lease(&["status"]), 0);
    let lines: Vec<&str> = out.lines().skip(5).collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["CLAIM", "MODE", "HOLDER", "FENCE", "SINCE", "EXPIRES"]);
    has(lines[1], &["schema ", "write", "tester ", "1", " ago", "in "]);
    has(lines[2], &["path:fixtures", "read"]);
    has(lines[4], &["PLACE", "WAITS FOR", "OWNER", "SINCE", "BEHIND"]);
    has(lines[5], &["1 ", "read:schema", "patient ", " ago", "tester with write:schema"]);
    let claims = &lab.status()["claims"];
    assert_eq!(claims["leases"].as_array().map(Vec::len), Some(2));
    assert_eq!((&claims["waiters"][0]["position"], &claims["waiters"][0]["blockers"][0]["mode"]), (&1.into(), &"write".into()));
}

#[test]
fn without_a_pool_only_claims_are_shown() {
    let lab = Lab::new(1);
    let status = |words: &[&str]| {
        let mut command = lab.lease(&[&["status"], words].concat());
        expect_code(command.env_remove("LEASE_POOL_FILE").current_dir(lab.path("empty")), 0)
    };
    lab.write("empty/x", "");
    let scope = ["--scope", "shared"];
    let (out, err) = status(&scope);
    has(&out, &["store ", "nothing is claimed in shared"]);
    has(&err, &["note: no pool file, so only claims are shown"]);
    let _holder = lab.holder(&["--scope", "shared", "--claim", "write:k"]);
    has(&status(&scope).0, &["CLAIM", "k ", "write", "tester"]);
    let (out, _) = status(&["--scope", "shared", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).expect("a document");
    assert_eq!((&document["ok"], &document["claims"]["leases"][0]["resourceKey"]), (&true.into(), &"k".into()));
    assert_eq!(document.get("slots"), None);
    // A pool that is named must be there.
    let (_, err) = expect_code(&mut lab.lease(&["status", "--pool", "none.json"]), 2);
    has(&err, &["none.json"]);
}

#[test]
fn a_watch_shows_claims_that_come_and_go() {
    let lab = Lab::new(1);
    let mut watch = lab.lease(&["status", "--watch", "--json"]);
    let mut watch = Started(watch.stdout(Stdio::piped()).spawn().expect("cargo-lease starts"));
    let mut out = BufReader::new(watch.0.stdout.take().expect("piped")).lines();
    let mut wait_for = |shown: &str| {
        out.by_ref().map(|line| line.expect("text")).find(|line| line.contains(shown)).expect("a line with it");
    };
    wait_for(r#""leases":[]"#);
    let holder = lab.holder(&["--claim", "write:k"]);
    wait_for(r#""resourceKey":"k""#);
    assert_eq!(holder.end().code(), Some(0));
    wait_for(r#""leases":[]"#);
}
