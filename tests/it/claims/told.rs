//! What others are told: the ledger rotates, the signal never goes back, and a full disk costs words and no leases.

use std::collections::BTreeSet;
use std::fs;

use lease_harness::claims::Visibility;
use serde_json::Value;

use super::{Scope, acquire, references, with_wanted};

/// From this size on the ledger begins anew.
const LONGEST: u64 = 1024 * 1024;

fn lines(scope: &Scope, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(scope.path(name)).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect()
}

#[test]
fn the_ledger_begins_anew_and_the_one_before_is_kept() {
    let scope = Scope::new();
    let claims = scope.claims();
    let long = format!("write:{}", "k".repeat(60_000));
    for _ in 0..12 {
        let leases = acquire(&claims, "a", &[&long]);
        claims.release_exact("a", &references(&leases), None).expect("released");
    }
    let size = |name: &str| fs::metadata(scope.path(name)).expect("a ledger").len();
    assert!(LONGEST < size("events.1.jsonl") && size("events.1.jsonl") < 2 * LONGEST, "{}", size("events.1.jsonl"));
    assert!(size("events.jsonl") < LONGEST);
    let told: Vec<_> = lines(&scope, "events.1.jsonl").into_iter().chain(lines(&scope, "events.jsonl")).collect();
    let tokens: BTreeSet<_> = told.iter().map(|event| event["revision"].as_u64().expect("a number")).collect();
    assert_eq!((told.len(), tokens.len()), (24, 12), "every line is in one of the two");
    assert_eq!(
        fs::read_dir(claims.dir())
            .expect("a folder")
            .filter(|entry| { entry.as_ref().expect("an entry").file_name().to_string_lossy().starts_with("events") })
            .count(),
        2
    );
}

/// What a writer leaves that is killed in the middle of a line, or between the two ledgers.
#[test]
fn a_line_without_an_end_costs_one_event() {
    let scope = Scope::new();
    let claims = scope.claims();
    acquire(&claims, "a", &["write:k"]);
    let ledger = scope.path("events.jsonl");
    let mut text = fs::read(&ledger).expect("a ledger");
    text.extend_from_slice(br#"{"at":"2027-01-15T08:00:00.000Z","eventType":"lease_rel"#);
    fs::write(&ledger, text).expect("the store is writable");
    claims.release("a", None, None).expect("released");
    fs::remove_dir_all(scope.path("tokens")).expect("a folder");
    assert!(1 < acquire(&claims, "a", &["write:k"])[0].token, "the whole lines still count");
    // Killed when the old ledger had its new name and there was no new one.
    fs::rename(&ledger, scope.path("events.1.jsonl")).expect("a ledger");
    claims.release("a", None, None).expect("released");
    fs::remove_dir_all(scope.path("tokens")).expect("a folder");
    assert!(2 < acquire(&claims, "a", &["write:k"])[0].token, "the one before counts too");
}

#[test]
fn a_damaged_signal_never_goes_back() {
    let scope = Scope::new();
    let claims = scope.claims();
    let path = scope.path("../wake.json");
    let mut last = 0;
    for damage in [None, Some("{"), Some(""), Some("{\"revision\":\"7\"}"), Some("{\"revision\":-1}"), Some("\0\0\0"), None] {
        if let Some(damage) = damage {
            fs::write(&path, damage).expect("the store is writable");
        }
        acquire(&claims, "a", &["write:k"]);
        claims.release("a", None, None).expect("released");
        let signal: Value = serde_json::from_slice(&fs::read(&path).expect("a signal")).expect("JSON");
        let revision = signal["revision"].as_u64().expect("a number");
        assert!(last < revision, "{damage:?}: {last} {revision}");
        last = revision;
    }
}

#[test]
fn a_mark_stays_until_who_shows_the_state_removes_it() {
    let scope = Scope::new();
    let claims = scope.claims();
    acquire(&claims, "a", &["write:k"]);
    let first = fs::read_to_string(scope.path("dirty.json")).expect("a mark");
    assert!(first.contains("leases-acquired:a"), "{first}");
    claims.release("a", None, None).expect("released");
    assert_eq!(fs::read_to_string(scope.path("dirty.json")).expect("a mark"), first);
    fs::remove_file(scope.path("dirty.json")).expect("a mark");
    acquire(&claims, "b", &["write:k"]);
    assert!(fs::read_to_string(scope.path("dirty.json")).expect("a mark").contains("leases-acquired:b"));
}

#[test]
fn a_ledger_that_cannot_be_written_costs_words_and_no_lease() {
    let scope = Scope::new();
    let claims = scope.claims();
    acquire(&claims, "a", &["write:k"]);
    for name in ["events.jsonl", "dirty.json", "../wake.json"] {
        fs::remove_file(scope.path(name)).expect("it was told");
        fs::create_dir(scope.path(name)).expect("a folder in its place");
    }
    claims.release("a", None, None).expect("released");
    assert!(scope.list().is_empty());
    assert_eq!(claims.side_effects().untold, 3);
}

/// On a full disk a set is given back, and one that is asked for is granted whole or not at all.
#[cfg(feature = "namespaces")]
#[test]
fn a_full_disk_takes_no_set_apart() {
    let lab = crate::support::lab();
    let script = r#"
        set -e
        mkdir full && mount -t tmpfs -o size=256k lease-full full
        export LEASE_STORE=$PWD/full/store
        lease() { "$LEASE" claims "$@" --scope s; }
        lease acquire --owner a --claim write:k --claim write:j > leases
        head -c 1m /dev/zero > full/filler 2> /dev/null || true
        lease acquire --owner b --claim write:x --claim write:y >> leases 2>> leases || true
        echo "between $(lease list)"
        lease release --owner a
        echo "after $(lease list)"
        rm full/filler
        lease acquire --owner c --claim write:k --claim write:j
    "#;
    let run = lab.run(crate::refusals::in_namespace(&lab, script)).expect_success();
    let document = |word: &str| -> Value {
        let line = run.stdout.lines().find_map(|line| line.strip_prefix(word)).expect("a line");
        serde_json::from_str(line).expect("JSON")
    };
    let count = |word: &str, owner: &str| {
        let listed = document(word);
        listed["leases"].as_array().expect("leases").iter().filter(|lease| lease["ownerJobId"] == owner).count()
    };
    assert_eq!(count("between ", "a"), 2, "{}", run.account());
    assert!([0, 2].contains(&count("between ", "b")), "{}", run.account());
    assert_eq!(count("after ", "a"), 0, "{}", run.account());
    let last: Value = serde_json::from_str(run.stdout.lines().last().expect("a line")).expect("JSON");
    let tokens: Vec<_> = last["leases"].as_array().expect("leases").iter().map(|lease| lease["fencingToken"].clone()).collect();
    assert!(tokens.iter().all(|token| token.as_u64().is_some_and(|token| 1 < token)), "{tokens:?}");
}

/// An ephemeral set leaves nothing for others.
#[test]
fn an_ephemeral_set_is_not_told_of() {
    let scope = Scope::new();
    let claims = scope.claims();
    with_wanted("a", &["write:k"], None, |wanted| {
        let quiet = lease_harness::claims::SetWanted { visibility: Visibility::Ephemeral, owner: "a", ..*wanted };
        claims.acquire(&quiet, Visibility::Ephemeral.into()).expect("nobody is in the way");
    });
    claims.release("a", None, None).expect("released");
    for name in ["events.jsonl", "dirty.json", "../wake.json"] {
        assert!(!scope.path(name).exists(), "{name}");
    }
}
