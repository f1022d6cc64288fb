//! A dead holder costs nothing, a silent one its time, and busy is neither blocked nor lost.

use std::fs::{self, File};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lease_harness::ClaimRequest;
use lease_harness::claims::{SetOutcome, Visibility};
use lease_harness::harness::Wait;

use super::{Scope, acquire, is_blocked, references, try_acquire, with_wanted};

const ID: &str = "6b2a0f0e-3b57-4c56-9df6-0e5f6a1d2c3b";

/// A proof of life; its process is gone when it is dropped.
fn proof(scope: &Scope, id: &str) -> File {
    let folder = scope.store().join(".alive");
    fs::create_dir_all(&folder).expect("the store is writable");
    let file = File::create(folder.join(id)).expect("the store is writable");
    file.lock().expect("a new file can be locked");
    file
}

#[test]
fn a_dead_holder_is_reaped_at_once_and_it_is_told() {
    let scope = Scope::new();
    let claims = scope.claims();
    let alive = proof(&scope, ID);
    let outcome = with_wanted("a", &["write:k", "read:j"], Some(ID), |wanted| claims.acquire(wanted, Visibility::Durable.into()));
    assert!(matches!(outcome.expect("a store"), SetOutcome::Granted(_)));
    assert!(is_blocked(&claims, "b", &["write:k"]));
    drop(alive);
    assert!(scope.list().is_empty());
    assert_eq!(acquire(&claims, "b", &["write:k"])[0].token, 2);
    let told = fs::read_to_string(scope.path("events.jsonl")).expect("a ledger");
    assert_eq!(told.matches("lease_reaped").count(), 2, "{told}");
}

#[test]
fn a_set_that_runs_out_is_told() {
    let scope = Scope::new();
    let claims = scope.claims();
    let now = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(1_800_000_000_000));
    let clock = std::sync::Arc::clone(&now);
    let moved = scope.claims_at(lease_harness::store::Clock::from_fn(move || clock.load(Ordering::SeqCst)));
    acquire(&moved, "a", &["write:k"]);
    now.fetch_add(600_000, Ordering::SeqCst);
    acquire(&moved, "b", &["write:k"]);
    let told = fs::read_to_string(scope.path("events.jsonl")).expect("a ledger");
    assert!(told.contains("lease_expired"), "{told}");
    drop(claims);
}

#[test]
fn no_lifetime_is_none() {
    let scope = Scope::new();
    let leases = acquire(&scope.claims(), "a", &["write:k"]);
    for ttl_ms in [0, -1, i64::MIN] {
        assert_eq!(scope.claims().renew("a", ttl_ms, None).expect_err("refused").code(), "LEASE_TTL_INVALID");
        assert_eq!(scope.list(), leases);
    }
    for minutes in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let request = ClaimRequest::new().store(scope.store()).scope("scope").ttl_minutes(minutes);
        let refused = request.write("other").expect("a key").acquire().expect_err("refused");
        assert_eq!(refused.kind(), lease_harness::SlotErrorKind::Usage, "{minutes}: {refused}");
    }
}

#[test]
fn a_held_set_is_given_back_when_it_is_dropped() {
    let scope = Scope::new();
    let request = || ClaimRequest::new().store(scope.store()).scope("scope").owner("a").wait(Wait::No);
    let set = request().write("k").expect("a key").read("j").expect("a key").acquire().expect("all of it");
    assert_eq!((set.fence("k"), set.fence("j"), set.fence("x")), (Some(1), Some(1), None));
    // Also one of the same owner is another set.
    let refused = request().read("k").expect("a key").acquire().expect_err("it is held");
    assert!(refused.to_string().contains("k is held by a/"), "{refused}");
    assert!(request().read("j").expect("a key").acquire().is_ok());
    drop(set);
    request().write("k").expect("a key").acquire().expect("all of it").release().expect("ours");
    assert!(scope.list().is_empty());
}

#[test]
fn a_set_that_somebody_gave_back_is_lost() {
    let scope = Scope::new();
    let set = ClaimRequest::new().store(scope.store()).scope("scope").write("k").expect("a key").acquire().expect("all of it");
    let owner = set.leases()[0].owner.clone();
    scope.claims().release(&owner, None, None).expect("a store");
    let error = set.release().expect_err("it is lost").to_string();
    assert!(error.contains("write:k") && error.contains("lost"), "{error}");
}

/// Renewals, while others keep the scope busy: none fails for that.
#[test]
fn renewing_under_traffic_never_fails() {
    let scope = Scope::new();
    let leases = acquire(&scope.claims(), "renewer", &["write:mine"]);
    let is_over = AtomicBool::new(false);
    let n_others = AtomicUsize::new(0);
    let begin = Barrier::new(5);
    std::thread::scope(|threads| {
        for worker in 0..4 {
            let (scope, is_over, n_others, begin) = (&scope, &is_over, &n_others, &begin);
            threads.spawn(move || {
                let (claims, owner) = (scope.claims().lock_wait(Duration::from_secs(60)), format!("worker-{worker}"));
                begin.wait();
                while !is_over.load(Ordering::SeqCst) {
                    acquire(&claims, &owner, &[&format!("write:other-{worker}")]);
                    claims.release(&owner, None, None).expect("released");
                    n_others.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        begin.wait();
        let (claims, mine) = (scope.claims().lock_wait(Duration::from_secs(60)), references(&leases));
        for _ in 0..100 {
            claims.renew("renewer", 600_000, Some(&mine)).expect("renewed");
        }
        is_over.store(true, Ordering::SeqCst);
    });
    assert!(n_others.load(Ordering::SeqCst) > 0);
    assert_eq!(scope.list().len(), 1);
}

#[test]
fn a_busy_scope_has_its_own_error() {
    let scope = Scope::new();
    acquire(&scope.claims(), "a", &["write:k"]);
    let folder = File::open(scope.claims().dir()).expect("a folder");
    folder.lock().expect("nobody is inside");
    let claims = scope.claims().lock_wait(Duration::from_millis(20));
    let asked = with_wanted("b", &["write:other"], None, |wanted| claims.acquire(wanted, Visibility::Durable.into()));
    for code in [
        asked.map(drop),
        claims.renew("a", 1000, None).map(drop),
        claims.release("a", None, None).map(drop),
        claims.release_exact("a", &[], None).map(drop),
        claims.release_process("p", &[], None).map(drop),
    ] {
        assert_eq!(code.expect_err("busy").code(), "LOCK_HELD");
    }
    assert_eq!(scope.list().len(), 1, "readers take no lock");
    drop(folder);
    assert!(matches!(try_acquire(&claims, "b", &["write:other"]), SetOutcome::Granted(_)));
}
