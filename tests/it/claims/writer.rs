//! Who may write: a newer generation fences the older one.

use std::fs;

use lease_harness::claims::{ClaimsError, ClaimsResult, SideEffects, Visibility, Writer};

use super::{Scope, acquire, is_blocked, references, with_wanted};
use crate::support::lab;

#[track_caller]
fn fenced<T: std::fmt::Debug>(result: ClaimsResult<T>, said: &str) {
    let error = result.expect_err("another writer has taken over");
    assert_eq!(error.code(), "WRITER_FENCED");
    assert!(error.is_refusal() && error.to_string() == format!("WRITER_FENCED:{said}"), "{error}");
}

#[test]
fn an_older_generation_writes_nothing_any_more() {
    let scope = Scope::new();
    let first = scope.claims().take_over("runtime").expect("nobody is in the way");
    let old = scope.claims().as_writer(Some(first.clone()));
    let leases = acquire(&old, "process:P1", &["write:k"]);
    let second = scope.claims().take_over("runtime").expect("nobody is in the way");
    assert!(first.generation < second.generation);

    let ask = |claims: &lease_harness::claims::ClaimStore| {
        with_wanted("b", &["write:j"], None, |wanted| claims.acquire(wanted, Visibility::Durable.into()))
    };
    let nobody = scope.claims();
    let another = scope.claims().as_writer(Some(Writer { instance: "other".to_owned(), ..second.clone() }));
    for (claims, reason) in [
        (&old, "writer_generation_superseded"),
        (&nobody, "runtime_write_claim_unbound_while_authority_present"),
        (&another, "writer_is_another"),
    ] {
        fenced(ask(claims), &format!("acquire_lease:{reason}"));
        fenced(claims.renew("process:P1", 60_000, None), &format!("renew_lease:{reason}"));
        fenced(claims.release("process:P1", None, None), &format!("release_lease:{reason}"));
        fenced(claims.release_exact("process:P1", &references(&leases), None), &format!("release_lease:{reason}"));
        assert_eq!(claims.list().expect("readable").len(), 1);
        claims.assert(&leases[0].id, leases[0].token).expect("it is held");
    }
    assert_eq!(old.release_process("P1", &references(&leases), None).expect("it has ended").len(), 1);

    let new = scope.claims().as_writer(Some(second.clone()));
    assert_eq!(acquire(&new, "b", &["write:k"])[0].token, 2);
    assert!(!new.step_down(&first).expect("readable"), "it is not the writer any more");
    assert!(new.step_down(&second).expect("readable"));
    assert!(is_blocked(&nobody, "c", &["write:k"]), "everybody may ask again");
    let third = scope.claims().take_over("runtime").expect("nobody is in the way");
    assert!(second.generation < third.generation, "a generation never comes again");
}

#[test]
fn a_damaged_writer_is_not_none() {
    for text in ["", "{", "5", "{\"schemaVersion\":9}", "{\"schemaVersion\":1,\"instanceId\":\"a\",\"generation\":1.5}"] {
        let scope = Scope::new();
        let leases = acquire(&scope.claims(), "a", &["write:k"]);
        let file = scope.path("../writer.json");
        fs::write(&file, text).expect("the store is writable");
        let claims = scope.claims();
        let codes = [
            claims.renew("a", 60_000, None).map(drop),
            claims.release("a", None, None).map(drop),
            claims.take_over("b").map(drop),
        ];
        for outcome in codes {
            let error = outcome.expect_err("it cannot be told who the writer is");
            assert!(matches!(error, ClaimsError::Damaged(_)) && error.code() == "RECORD_CORRUPT", "{text:?}: {error}");
        }
        claims.assert(&leases[0].id, leases[0].token).expect("looking needs no writer");
        assert_eq!(fs::read_to_string(&file).expect("it stays"), text);
    }
}

/// Whoever is inside a scope when another takes over has ended when that returns.
#[test]
fn a_takeover_waits_for_who_is_inside() {
    let scope = Scope::new();
    acquire(&scope.claims(), "a", &["write:k"]);
    let inside = fs::File::open(scope.claims().dir()).expect("a folder");
    inside.lock().expect("nobody is inside");
    let claims = scope.claims().lock_wait(std::time::Duration::from_millis(20));
    assert_eq!(claims.take_over("b").expect_err("somebody is inside").code(), "LOCK_HELD");
    drop(inside);
    fenced(claims.renew("a", 60_000, None), "renew_lease:runtime_write_claim_unbound_while_authority_present");
    assert_eq!(claims.take_over("b").expect("nobody is inside").generation, 2);
}

#[test]
fn a_script_takes_over() {
    let lab = lab();
    let run = |words: &[&str], writer: Option<(&str, &str)>| {
        let mut command = lab.lease(["claims", "--scope", "s"].iter().chain(words));
        if let Some((instance, generation)) = writer {
            command.env("FORGE_WRITER_INSTANCE_ID", instance).env("FORGE_WRITER_GENERATION", generation);
        }
        lab.run(command)
    };
    let taken = run(&["take-over", "--instance", "x"], None).expect_success();
    assert_eq!(taken.stdout.trim(), r#"{"ok":true,"instanceId":"x","generation":1}"#);
    let acquire = ["acquire", "--owner", "a", "--claim", "write:k"];
    let refused = run(&acquire, None).expect_code(1);
    assert!(refused.stdout.contains(r#""ok":false,"code":"WRITER_FENCED""#), "{}", refused.account());
    run(&acquire, Some(("x", "1"))).expect_success();
    run(&["take-over", "--instance", "y"], None).expect_success();
    run(&["renew", "--owner", "a"], Some(("x", "1"))).expect_code(1);
    let other = run(&["step-down", "--instance", "x", "--generation", "1"], None).expect_success();
    assert_eq!(other.stdout.trim(), r#"{"ok":true,"steppedDown":false}"#);
    run(&["step-down", "--instance", "y", "--generation", "2"], None).expect_success();
    run(&["renew", "--owner", "a"], None).expect_success();
}

#[test]
fn what_others_were_told_is_counted() {
    let scope = Scope::new();
    let claims = scope.claims();
    acquire(&claims, "a", &["write:k", "read:j"]);
    with_wanted("b", &["write:x"], None, |wanted| {
        let quiet = lease_harness::claims::SetWanted { visibility: Visibility::Ephemeral, owner: "b", ..*wanted };
        claims.acquire(&quiet, Visibility::Ephemeral.into()).expect("nobody is in the way");
    });
    let expected = SideEffects { durable_sets: 1, ephemeral_sets: 1, events: 2, marks: 1, wakes: 1, untold: 0 };
    assert_eq!(claims.side_effects(), expected);
    claims.clone().release("b", None, None).expect("released");
    assert_eq!(claims.side_effects(), expected, "an ephemeral set leaves nothing");
    claims.clone().release("a", None, None).expect("released");
    assert_eq!(claims.side_effects(), SideEffects { events: 4, marks: 2, wakes: 2, ..expected });
    // What cannot be told is counted too, and costs nobody a lease.
    fs::remove_file(scope.path("events.jsonl")).expect("a ledger");
    fs::create_dir(scope.path("events.jsonl")).expect("a folder in its place");
    claims.release("nobody", None, None).expect("nothing to release");
    assert_eq!(claims.side_effects().untold, 0);
}
