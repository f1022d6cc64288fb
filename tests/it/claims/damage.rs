//! Errors are never "empty", and numbers never go back.

use std::fs;
use std::path::Path;

use lease_harness::claims::{ClaimsError, ClaimsResult};
use lease_harness::store::Clock;

use super::{Scope, acquire, is_blocked, references, with_wanted};

const DAY_MS: i64 = 86_400_000;

fn code<T: std::fmt::Debug>(result: ClaimsResult<T>) -> String {
    result.expect_err("it cannot be read").code().to_owned()
}

/// Every operation on a scope in which something cannot be read, by their codes.
fn codes(scope: &Scope) -> Vec<String> {
    let claims = scope.claims();
    let asked = with_wanted("c", &["write:k"], None, |wanted| claims.acquire(wanted, super::Visibility::Durable.into()));
    vec![code(asked), code(claims.list()), code(claims.assert("LEASE-0-nope", 1)), code(claims.release("a", None, None))]
}

fn owner_file(scope: &Scope) -> std::path::PathBuf {
    let files: Vec<_> =
        fs::read_dir(scope.path("owners")).expect("owners").map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[test]
fn a_damaged_record_counts_as_held_and_is_named() {
    let lease_without_end = r#"{"schemaVersion":1,"leases":[{"schemaVersion":1,"leaseId":"x"}]}"#;
    for text in ["", "{", "5", "[]", "null", "{\"schemaVersion\":99,\"leases\":[]}", "{\"schemaVersion\":1}", lease_without_end] {
        let scope = Scope::new();
        acquire(&scope.claims(), "a", &["write:k"]);
        let file = owner_file(&scope);
        fs::write(&file, text).expect("the store is writable");
        assert_eq!(codes(&scope), ["RECORD_CORRUPT"; 4], "{text:?}");
        let error = scope.claims().list().expect_err("damaged").to_string();
        assert!(error.contains(file.to_str().expect("text")), "{error}");
        assert_eq!(fs::read_to_string(&file).expect("it stays"), text);
    }
}

#[test]
fn what_cannot_be_listed_or_read_is_an_error() {
    let breaks: [fn(&Scope); 3] = [
        |scope| {
            fs::remove_dir_all(scope.path("owners")).expect("a folder");
            fs::write(scope.path("owners"), "").expect("a file in its place");
        },
        |scope| {
            let file = owner_file(scope);
            fs::remove_file(&file).expect("a file");
            fs::create_dir(&file).expect("a folder in its place");
        },
        |scope| {
            let file = owner_file(scope);
            fs::remove_file(&file).expect("a file");
            std::os::unix::fs::symlink(&file, &file).expect("a link that leads nowhere");
        },
    ];
    for (break_idx, break_it) in breaks.iter().enumerate() {
        let scope = Scope::new();
        acquire(&scope.claims(), "a", &["write:k"]);
        break_it(&scope);
        assert_eq!(codes(&scope), ["STORE_UNUSABLE"; 4], "{break_idx}");
    }
}

#[test]
fn other_files_are_passed_by() {
    let scope = Scope::new();
    acquire(&scope.claims(), "a", &["write:k"]);
    for name in [".tmp-a.json", "README", "X.JSON"] {
        fs::write(scope.path("owners").join(name), "{").expect("the store is writable");
    }
    assert_eq!(scope.list().len(), 1);
    assert!(is_blocked(&scope.claims(), "b", &["read:k"]));
}

#[test]
fn a_reader_whose_clock_is_a_day_ahead_removes_nothing() {
    let scope = Scope::new();
    acquire(&scope.claims(), "a", &["write:k"]);
    let before = tree(&scope.store());
    let ahead = scope.claims_at(Clock::from_fn(|| Clock::system().now_ms() + DAY_MS));
    assert!(ahead.list().expect("readable").is_empty());
    assert!(matches!(ahead.assert("LEASE-0-nope", 1), Err(ClaimsError::Refused(_))));
    assert!(ahead.waiters().expect("readable").is_empty());
    assert_eq!(tree(&scope.store()), before);
    assert!(is_blocked(&scope.claims(), "b", &["write:k"]));
}

/// Every file with its content.
fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(tree(&path));
        } else {
            files.push((path.display().to_string(), fs::read(&path).expect("a file")));
        }
    }
    files.sort();
    files
}

#[test]
fn a_damaged_counter_is_no_number() {
    let damages =
        ["{\"sequence\":1,\"tokens\":{\"k\":1.5}}\n", "{\"sequence\":1,\"tokens\":{\"k\":-1}}\n", "{\"tokens\":{}}\n", "x\n"];
    for text in damages {
        let scope = Scope::new();
        fs::create_dir_all(scope.path("tokens")).expect("the store is writable");
        fs::write(scope.path("tokens/log.jsonl"), text).expect("the store is writable");
        let asked =
            with_wanted("a", &["write:k"], None, |wanted| scope.claims().acquire(wanted, super::Visibility::Durable.into()));
        assert_eq!(code(asked), "COUNTER_CORRUPT", "{text}");
        assert!(scope.list().is_empty());
    }
    let files = ["null", "{\"k\":[4]}", "{\"k\":\"4\"}", "{\"k\":9007199254740993}", "{\"k\":1e300}", "{"];
    for text in files {
        let scope = Scope::new();
        acquire(&scope.claims(), "a", &["write:k"]);
        scope.claims().release("a", None, None).expect("released");
        fs::remove_file(scope.path("tokens/log.jsonl")).expect("a log");
        for bucket in 0..256 {
            fs::write(scope.path(format!("tokens/{bucket:02x}.json")), text).expect("the store is writable");
        }
        let asked =
            with_wanted("a", &["write:k"], None, |wanted| scope.claims().acquire(wanted, super::Visibility::Durable.into()));
        assert_eq!(code(asked), "COUNTER_CORRUPT", "{text}");
    }
}

#[test]
fn a_counter_that_cannot_be_read_is_an_error() {
    for name in ["tokens/log.jsonl", "tokens"] {
        let scope = Scope::new();
        acquire(&scope.claims(), "a", &["write:other"]);
        let path = scope.path(name);
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        std::os::unix::fs::symlink(&path, &path).expect("a link that leads nowhere");
        let asked =
            with_wanted("b", &["write:k"], None, |wanted| scope.claims().acquire(wanted, super::Visibility::Durable.into()));
        assert_eq!(code(asked), "STORE_UNUSABLE", "{name}");
        assert_eq!(scope.list().len(), 1);
    }
}

#[test]
fn tokens_outlive_the_files_that_hold_them() {
    let scope = Scope::new();
    let mut last = 0;
    // A long key, so that the log begins anew every 30 rounds or so.
    let long = format!("write:{}", "j".repeat(500));
    for round in 0..80 {
        let leases = acquire(&scope.claims(), "a", &["write:k", &long]);
        assert_eq!((leases[0].token, leases[1].token), (last + 1, last + 1), "{round}");
        last += 1;
        scope.claims().release_exact("a", &references(&leases), None).expect("released");
        if round % 20 == 19 {
            // The last line had not reached the disk, and nobody was granted anything by it.
            let mut log = fs::read(scope.path("tokens/log.jsonl")).expect("a log");
            log.extend_from_slice(b"{\"sequence\":");
            fs::write(scope.path("tokens/log.jsonl"), log).expect("the store is writable");
        }
    }
    // All numbers gone: the ledger knows better.
    fs::remove_dir_all(scope.path("tokens")).expect("a folder");
    assert_eq!(acquire(&scope.claims(), "a", &["write:k"])[0].token, last + 1);
    // Ledger and numbers gone while somebody holds it: the record knows better.
    fs::remove_dir_all(scope.path("tokens")).expect("a folder");
    fs::remove_file(scope.path("events.jsonl")).expect("a ledger");
    assert_eq!(acquire(&scope.claims(), "a", &["write:k"])[0].token, last + 2);
}

/// What a power cut leaves: of the files that were not flushed, any may be as it was before.
#[test]
fn a_power_cut_takes_no_number_back() {
    let scope = Scope::new();
    let unflushed = ["owners", "index", "events.jsonl", "dirty.json"];
    let mut largest = 0;
    for _ in 0..20 {
        let before = unflushed.map(|name| tree_or_file(&scope.path(name)));
        let leases = acquire(&scope.claims(), "a", &["write:k"]);
        assert!(largest < leases[0].token, "{leases:?}");
        largest = leases[0].token;
        for (name, before) in unflushed.iter().zip(before) {
            restore(&scope.path(name), before);
        }
    }
}

type Saved = Option<Vec<(String, Vec<u8>)>>;

fn tree_or_file(path: &Path) -> Saved {
    if path.is_dir() { Some(tree(path)) } else { fs::read(path).ok().map(|bytes| vec![(path.display().to_string(), bytes)]) }
}

fn restore(path: &Path, saved: Saved) {
    let _ = fs::remove_dir_all(path);
    let _ = fs::remove_file(path);
    for (file, bytes) in saved.unwrap_or_default() {
        fs::create_dir_all(Path::new(&file).parent().expect("a folder")).expect("the store is writable");
        fs::write(file, bytes).expect("the store is writable");
    }
}

#[test]
fn an_index_of_another_start_of_the_machine_is_made_anew() {
    let scope = Scope::new();
    acquire(&scope.claims(), "a", &["write:k", "write:path:src"]);
    for lost in ["key", "repository"] {
        for entry in fs::read_dir(scope.path("index")).expect("an index") {
            let path = entry.expect("an entry").path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(lost)) {
                fs::write(path, "").expect("the store is writable");
            }
        }
        fs::write(scope.path("index/boot"), "another").expect("the store is writable");
        assert!(is_blocked(&scope.claims(), "b", &["write:k"]) && is_blocked(&scope.claims(), "b", &["read:path:src/x"]));
    }
    fs::remove_dir_all(scope.path("index")).expect("an index");
    assert!(is_blocked(&scope.claims(), "b", &["write:k"]));
}
