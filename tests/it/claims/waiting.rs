//! First come, first served, as far as sets exclude each other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lease_harness::claims::{Claim, ClaimStore, SetOutcome, Visibility};
use lease_tests::wait;

use super::{Scope, acquire, is_blocked, with_wanted};

/// Waits for a set, and does something while it has it.
fn wait_for(scope: &Scope, owner: &str, words: &[&str], work: impl FnOnce(&ClaimStore)) {
    let claims = scope.claims().lock_wait(Duration::from_secs(60));
    let mut go_on = |_: &lease_harness::claims::Standing<'_>| true;
    let outcome =
        with_wanted(owner, words, None, |wanted| claims.acquire_within(wanted, Visibility::Ephemeral.into(), None, &mut go_on));
    assert!(matches!(outcome.expect("a store"), SetOutcome::Granted(_)));
    work(&claims);
    claims.release(owner, None, None).expect("released");
}

fn wait_for_queue(scope: &Scope, length: usize) {
    wait::until_true("a queue", || scope.claims().waiters().expect("readable").len() == length);
}

#[test]
fn a_writer_among_twenty_readers_is_served_in_its_turn() {
    let scope = Scope::new();
    let holder = scope.claims();
    acquire(&holder, "holder", &["write:k"]);
    let served = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for place in 0..21 {
            let (scope, served) = (&scope, &served);
            let (owner, word) =
                if place == 10 { ("writer".to_owned(), "write:k") } else { (format!("reader-{place}"), "read:k") };
            threads.spawn(move || wait_for(scope, &owner, &[word], |_| served.lock().expect("a list").push(place)));
            wait_for_queue(scope, place + 1);
        }
        // Who does not wait does not pass by either.
        assert!(is_blocked(&scope.claims(), "late", &["read:k"]));
        holder.release("holder", None, None).expect("released");
    });
    let served = served.into_inner().expect("a list");
    assert_eq!(served.len(), 21);
    assert_eq!(served[10], 10, "the writer came behind ten readers and before ten: {served:?}");
    assert!(served[..10].iter().all(|place| *place < 10), "{served:?}");
}

#[test]
fn sets_that_do_not_exclude_each_other_pass_each_other_by() {
    let scope = Scope::new();
    let holder = scope.claims();
    acquire(&holder, "holder", &["write:k"]);
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| wait_for(&scope, "first", &["write:k", "write:a"], |_| {}));
        wait_for_queue(&scope, 1);
        acquire(&scope.claims(), "other", &["write:b"]);
        assert!(is_blocked(&scope.claims(), "another", &["write:a"]), "whoever waits for it came first");
        assert!(!waiting.is_finished());
        holder.release("holder", None, None).expect("released");
    });
    assert!(scope.claims().waiters().expect("readable").is_empty());
}

#[test]
fn nobody_waits_while_he_holds() {
    let scope = Scope::new();
    let (a, b) = (scope.claims(), scope.claims());
    acquire(&a, "a", &["write:1"]);
    acquire(&b, "b", &["write:2"]);
    let mut go_on = |_: &lease_harness::claims::Standing<'_>| true;
    let refused =
        with_wanted("a", &["write:2"], None, |wanted| a.acquire_within(wanted, Visibility::Durable.into(), None, &mut go_on));
    assert_eq!(refused.expect_err("refused").code(), "LEASE_HOLD_AND_WAIT");
    assert!(a.waiters().expect("readable").is_empty());
    // What is free he may have besides.
    acquire(&a, "a", &["write:3"]);
}

#[test]
fn a_wait_ends_at_its_limit_and_when_it_is_told_to() {
    let scope = Scope::new();
    acquire(&scope.claims(), "holder", &["write:k"]);
    let claims = scope.claims();
    let told = AtomicUsize::new(0);
    let wait = |limit, goes_on: bool| {
        let mut go_on = |standing: &lease_harness::claims::Standing<'_>| {
            assert_eq!((standing.position, standing.blockers.len()), (1, 1));
            told.fetch_add(1, Ordering::SeqCst);
            goes_on
        };
        with_wanted("b", &["read:k"], None, |wanted| claims.acquire_within(wanted, Visibility::Durable.into(), limit, &mut go_on))
    };
    for (limit, goes_on) in [(Some(Duration::ZERO), true), (Some(Duration::from_millis(30)), true), (None, false)] {
        let outcome = wait(limit, goes_on).expect("a store");
        assert!(matches!(outcome, SetOutcome::Blocked(blockers) if blockers.len() == 1));
        assert!(scope.claims().waiters().expect("readable").is_empty(), "its place is given up");
    }
    assert_eq!(told.load(Ordering::SeqCst), 3);
}

/// By a count of grants in a given number, not by time: of 80 grants to 8, each has at least half of the most.
#[test]
fn the_luckiest_of_eight_gets_at_most_twice_the_unluckiest() {
    const GRANTS: usize = 80;
    let scope = Scope::new();
    let all: Vec<AtomicUsize> = (0..8).map(|_| AtomicUsize::new(0)).collect();
    let total = AtomicUsize::new(0);
    let holder = scope.claims();
    acquire(&holder, "holder", &["write:k"]);
    std::thread::scope(|threads| {
        for (worker, mine) in all.iter().enumerate() {
            let (scope, total) = (&scope, &total);
            threads.spawn(move || {
                let words = if worker % 4 == 0 { ["write:k", "read:x"] } else { ["write:k", "write:y"] };
                while total.load(Ordering::SeqCst) < GRANTS {
                    wait_for(scope, &format!("worker-{worker}"), &words, |_| {
                        mine.fetch_add(1, Ordering::SeqCst);
                        total.fetch_add(1, Ordering::SeqCst);
                    });
                }
            });
        }
        wait_for_queue(&scope, 8);
        holder.release("holder", None, None).expect("released");
    });
    let counts: Vec<_> = all.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    let (least, most) = (counts.iter().min().expect("eight"), counts.iter().max().expect("eight"));
    assert!(*most <= 2 * *least, "{counts:?}");
}

#[test]
fn a_blank_key_is_refused() {
    assert!(Claim::new(" \t", lease_harness::claims::Mode::Read).is_err());
}
