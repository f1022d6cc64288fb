//! Bad input: one clear error on standard error, exit code 2, and nothing started.

use std::ffi::OsString;

use crate::lab::{Lab, cargo, expect_code, has, path_behind, path_with};

/// A cargo that writes down how it was started.
const FAKE: &str = "#!/bin/sh
case $1 in -vV) echo 'host: x86_64-unknown-linux-gnu'; exit ;; esac
printf '[%s]' \"$@\" >> \"$RECORD\"
";

/// A `PATH` on which cargo and nextest are such ones.
fn fakes(lab: &Lab) -> OsString {
    lab.write("bin/cargo", FAKE);
    lab.write("bin/cargo-nextest", FAKE);
    path_behind(&lab.path("bin"))
}

#[test]
fn mistakes_on_the_command_line() {
    let lab = Lab::new(1);
    let table: [(&[&str], &[&str]); 9] = [
        (&["--hold", "runs", "nextest", "run"], &["--hold", "runs", "'run'"]),
        (&["--reset-between", "test"], &["--reset-between has no effect without --hold run"]),
        (&["statsu"], &["statsu", "status"]),
        (&["--pol", "x", "test"], &["--pol", "--pool"]),
        (&["--ttl", "x", "status"], &["--ttl", "x", "minutes"]),
        (&["--wait", "10", "status"], &["--wait", "10", "10m"]),
        (&["--wait", "1m", "--no-wait", "status"], &["--wait", "--no-wait"]),
        (&["--owner", "a", "--owner", "b", "status"], &["--owner", "multiple times"]),
        (&["run", "x"], &["put `--` before the command", "x"]),
    ];
    lab.expect_usage_errors(&table);
}

#[test]
fn a_setup_script_is_nextests() {
    let lab = Lab::new(1);
    let (out, err) = expect_code(&mut lab.lease(&["setup-script"]), 2);
    assert_eq!(out, "");
    has(&err, &["error: ", "NEXTEST_ENV", "experimental = [\"setup-scripts\"]", "[scripts.setup.lease]", "cargo lease nextest"]);
    for (run_id, parts) in [("", "NEXTEST_RUN_ID"), ("7", "'7': expected a UUID")] {
        let mut command = lab.lease(&["setup-script"]);
        command.env("NEXTEST_ENV", lab.path("env")).env("NEXTEST_RUN_ID", run_id);
        has(&expect_code(&mut command, 2).1, &[parts]);
    }
    assert!(!lab.path("env").exists() && !lab.path("store").exists(), "nothing was created");
}

#[test]
fn everything_is_checked_before_cargo_is_started() {
    let lab = Lab::new(1);
    let path = fakes(&lab);
    lab.write("bad.json", r#"{"slots": [{"id": 1}, {"id": "1"}]}"#);
    lab.write("plain", "a file");
    let (bad, plain) = (lab.path("bad.json"), lab.path("plain/store"));
    let (bad, plain) = (bad.to_str().expect("text"), plain.to_str().expect("text"));
    let table: [(&[&str], i32, &[&str]); 6] = [
        (&["--pool", bad], 2, &["bad.json", "1"]),
        (&["--pool", "none.json"], 2, &["none.json"]),
        (&["--owner", "not an owner"], 2, &["not an owner"]),
        (&["--owner-pattern", "^team-", "--owner", "x"], 2, &["^team-"]),
        (&["--store", plain], 3, &["plain"]),
        (&["--ttl", "0.5", "--heartbeat-secs", "30"], 2, &["30 seconds", "0.5 minutes"]),
    ];
    for (options, code, parts) in table {
        for command in ["test", "bench", "nextest"] {
            let mut words = options.to_vec();
            words.push(command);
            words.extend((command == "nextest").then_some("run"));
            let mut command = lab.lease(&words);
            command.env("CARGO", lab.path("bin/cargo")).env("PATH", &path).env("RECORD", lab.path("record"));
            let (out, err) = expect_code(&mut command, code);
            assert_eq!(out, "");
            assert!(err.starts_with("error: "), "{err}");
            has(&err, parts);
        }
    }
    assert!(!lab.path("record").exists(), "cargo was started: {}", lab.read("record"));
}

#[test]
fn no_pool_file_names_the_five_places() {
    let lab = Lab::new(1);
    lab.write("elsewhere/x", "");
    for words in [&["run", "--", "true"][..], &["test"]] {
        let mut command = lab.lease(words);
        command.env_remove("LEASE_POOL_FILE").current_dir(lab.path("elsewhere"));
        let (_, err) = expect_code(&mut command, 2);
        has(&err, &["--pool", "LEASE_POOL_FILE", "[package.metadata.lease]", "[workspace.metadata.lease]", "pool.json"]);
    }
}

#[test]
fn wrapped_words_reach_cargo_in_their_order() {
    let lab = Lab::new(2);
    let path = fakes(&lab);
    // Without our library in it there is nothing to list.
    lab.write("Cargo.lock", "version = 4\n");
    let cases: [(&[&str], &str, &str); 4] = [
        (&["test", "--help"], "[test][--help]", ""),
        (&["nextest", "list", "-E", "all()"], "[nextest][list][-E][all()]", ""),
        (&["test", "-p", "a b", "--", "--nocapture"], "[test][-p][a b][--config][target.", "][--][--nocapture]"),
        (&["nextest", "-v", "run", "name", "--", "--skip"], "[nextest][-v][run][--config][target.", ".toml][--][--skip]"),
    ];
    for (words, start, end) in cases {
        let record = lab.path("record");
        let _ = std::fs::remove_file(&record);
        expect_code(lab.lease(words).env("CARGO", lab.path("bin/cargo")).env("PATH", &path).env("RECORD", &record), 0);
        let line = lab.read("record");
        assert!(line.starts_with(start) && line.ends_with(end), "{words:?}: {line}");
    }
    has(&lab.read("record"), &["[name][--tool-config-file][lease:/", "__runner"]);
}

#[test]
fn an_option_of_ours_behind_the_command_is_warned_of_and_still_handed_on() {
    let lab = Lab::new(2);
    let path = fakes(&lab);
    for command in [&["test"][..], &["nextest", "run"], &["bench"]] {
        let words = [command, &["--wait=10s", "--no-wait", "--", "--pool", "x"]].concat();
        let record = lab.path("record");
        let _ = std::fs::remove_file(&record);
        let mut lease = lab.lease(&words);
        lease.env("CARGO", lab.path("bin/cargo")).env("PATH", &path).env("RECORD", &record);
        let (_, err) = expect_code(&mut lease, 0);
        has(&err, &["warning: --wait ", "warning: --no-wait ", "before"]);
        assert!(!err.contains("--pool"), "what the tests are given was looked at: {err}");
        has(&lab.read("record"), &["[--wait=10s]", "[--no-wait]", "[--][--pool][x]"]);
    }
}

#[test]
fn a_pool_file_that_cannot_be_read_says_why_in_words() {
    let lab = Lab::new(1);
    let (_, err) = expect_code(&mut lab.lease(&["--pool", "none.json", "status"]), 2);
    has(&err, &["none.json", "No such file or directory"]);
}

#[test]
fn a_missing_cargo_is_no_missing_command() {
    let lab = Lab::new(1);
    lab.write("Cargo.toml", "");
    let mut command = lab.lease(&["run", "--", "/bin/true"]);
    command.env_remove("LEASE_POOL_FILE").env("PATH", lab.path("bin"));
    let (_, err) = expect_code(&mut command, 2);
    has(&err, &["cannot run cargo", "pool file", "--pool"]);
}

#[test]
fn nextest_that_is_not_installed_is_said() {
    let lab = Lab::new(1);
    let path = path_with(&lab, &[("cargo", &cargo())]);
    let mut command = lab.lease(&["nextest", "run"]);
    command.env("PATH", path).env("CARGO_HOME", lab.path("home"));
    let (_, err) = expect_code(&mut command, 2);
    has(&err, &["error: cargo-nextest is not installed", "cargo install"]);
}
