//! Both ways of waiting live together: those who hear of a change at once, and those who look after a fixed pause. The order of
//! arrival decides.
//!
//! Whoever has a slot gives it back at once. So the queue's lock and its critical section are asked for all the time by some that
//! pause for microseconds between two attempts, beside some that pause for 10 to 50 ms and give up after seconds.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use lease_harness::pool::{Outcome, Pool, SlotWanted};
use lease_tests::order::{self, QueueWatcher};
use lease_tests::{Lab, Running, wait};
use serde_json::json;

use super::{part, pool};
use crate::support::lab;

/// How often each side is to be served at least.
const N_TURNS: usize = 20;

#[test]
fn a_slow_poller_has_its_turn_among_fast_waiters() {
    assert!(0 < race(&Field { n_slots: 1, n_ours: 4, n_theirs: 1 }), "nobody waited for the other side");
}

#[test]
fn a_fast_waiter_has_its_turn_among_slow_pollers() {
    assert!(0 < race(&Field { n_slots: 1, n_ours: 1, n_theirs: 4 }), "nobody waited for the other side");
}

/// Nobody of ours has to wait here, so there is no queue that gives the poller its turn at the lock.
#[test]
fn a_slow_poller_gets_the_lock_that_fast_ones_ask_for_all_the_time() {
    race(&Field { n_slots: 5, n_ours: 4, n_theirs: 1 });
}

/// Who takes part, and for how many slots.
struct Field {
    n_slots: usize,
    n_ours: usize,
    n_theirs: usize,
}

/// Lets everybody take a slot and give it back until both sides have been served often enough, in turn. Tells how often one side
/// stood behind the other.
#[track_caller]
fn race(field: &Field) -> usize {
    let Field { n_slots, n_ours, n_theirs } = *field;
    let lab = lab();
    let slots: Vec<_> = (0..n_slots).map(|id| json!({"id": id})).collect();
    lab.write_pool(&json!({"slots": slots}));
    let folder = lab.store().join("pool");
    let queue = QueueWatcher::start(&folder);
    let (stop, n_served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let theirs: Vec<_> = (0..n_theirs).map(|n| start_poller(&lab, n)).collect();
    thread::scope(|scope| {
        for n in 0..n_ours {
            let (pool, stop, n_served) = (pool(&lab), &stop, &n_served);
            scope.spawn(move || take_turns(&pool, &format!("ours-{n}"), stop, n_served));
        }
        let _stop = StopOnDrop(&stop);
        let served = || [n_served.load(Ordering::Relaxed), lab.history().all("end").len()];
        wait::until_true("both sides are served", || served().iter().all(|n| N_TURNS <= *n));
        lab.open("stop");
        for poller in theirs {
            poller.finish().expect_success();
        }
    });
    let verdict = order::judge(&queue.finish(), &order::granted(&folder), n_slots);
    let mixed =
        verdict.pairs.iter().filter(|(first, second)| first.owner.starts_with("ours") != second.owner.starts_with("ours"));
    let (n_mixed, n_of_theirs) = (mixed.count(), lab.history().all("end").len());
    eprintln!(
        "{n_ours} of ours: {} grants, {n_theirs} of theirs: {n_of_theirs}, {n_mixed} times one behind the other, {} passed by at most",
        n_served.into_inner(),
        verdict.n_passed_by
    );
    assert!(verdict.faults.is_empty(), "{:#?}", verdict.faults);
    if n_slots == 1 {
        // Each of ours may just have found the queue empty, and one grant may be told late.
        assert!(verdict.n_passed_by <= n_ours + 1, "{} passed by one that waited", verdict.n_passed_by);
    }
    lab.check_all_given_back();
    n_mixed
}

/// A test that fails must not leave threads that never end.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn start_poller(lab: &Lab, n: usize) -> Running {
    let options = json!({"name": format!("theirs-{n}"), "work_ms": 0, "poll_ms": 50}).to_string();
    lab.start(part(lab, "race", &lab.store(), &lab.pool_file(), &[&options]))
}

/// Takes the slot and gives it back, over and over.
fn take_turns(pool: &Pool, owner: &str, stop: &AtomicBool, n_served: &AtomicUsize) {
    while !stop.load(Ordering::Relaxed) {
        let outcome = pool.acquire(&SlotWanted::by(owner), &mut |_| true).expect("the pool is usable");
        let Outcome::Granted(held) = outcome else { panic!("no slot: {}", outcome.to_json().to_text()) };
        let grant = held.grant().clone();
        drop(held);
        assert!(pool.release(grant.slot(), owner, grant.token()).expect("the pool is usable").is_ok());
        n_served.fetch_add(1, Ordering::Relaxed);
    }
}
