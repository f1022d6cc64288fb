//! The help texts are files in `docs/cli`, so that a change of them is seen in review.
//!
//! `SNAPSHOTS=overwrite cargo test -p cargo-lease --test it help` writes them anew.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

#[track_caller]
fn check(file: &str, words: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-lease"))
        .args(words)
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .expect("cargo-lease starts");
    assert!(output.status.success(), "{words:?}: {output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/cli").join(file);
    if std::env::var_os("SNAPSHOTS").is_some_and(|wish| wish == "overwrite") {
        fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        fs::write(&path, &shown).expect("written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(shown, kept, "{} differs; SNAPSHOTS=overwrite writes it anew", path.display());
    let wide = shown.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "{file} has a line that a terminal of 100 columns would break");
}

#[test]
fn help() {
    check("lease.txt", &["--help"]);
}

#[test]
fn short_help() {
    check("lease-short.txt", &["lease", "-h"]);
}

#[test]
fn test() {
    check("test.txt", &["help", "test"]);
}

#[test]
fn nextest() {
    check("nextest.txt", &["help", "nextest"]);
}

#[test]
fn bench() {
    check("bench.txt", &["help", "bench"]);
}

#[test]
fn gc() {
    check("gc.txt", &["gc", "--help"]);
}

#[test]
fn run() {
    check("run.txt", &["run", "--help"]);
}

#[test]
fn setup_script() {
    check("setup-script.txt", &["setup-script", "--help"]);
}

#[test]
fn status() {
    check("status.txt", &["status", "--help"]);
}

#[test]
fn families() {
    let store = ["acquire", "heartbeat", "release", "status", "reap", "list", "reconcile"];
    let pool =
        ["acquire", "request", "claim", "cancel", "heartbeat", "reset", "release", "reprovision", "health", "status", "pump"];
    let claims = ["acquire", "renew", "release", "release-exact", "release-process", "assert", "list", "take-over", "step-down"];
    for (family, operations) in [("store", &store[..]), ("pool", &pool), ("claims", &claims)] {
        check(&format!("{family}.txt"), &[family, "--help"]);
        for operation in operations {
            check(&format!("{family}-{operation}.txt"), &[family, operation, "--help"]);
        }
    }
}
