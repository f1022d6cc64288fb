//! Both ways of waiting live together: those who hear of a change at once, and those who look after a fixed pause. The order of
//! arrival decides.
//!
//! There is one slot, and whoever has it gives it back at once. So the critical section of the queue's lock is asked for all
//! the time, which those who pause for 10 to 50 ms would hardly ever find free, if the others let them not.

use std::fs;
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
    race(4, 1);
}

#[test]
fn a_fast_waiter_has_its_turn_among_slow_pollers() {
    race(1, 4);
}

/// Lets so many of ours and of theirs take the slot in turn until both sides have been served often enough.
#[track_caller]
fn race(n_ours: usize, n_theirs: usize) {
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a"}]}));
    let queue = QueueWatcher::start(lab.store().join("pool/queue.json"));
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
    let journal = fs::read_to_string(lab.store().join("pool/pool.log")).expect("there were grants");
    let verdict = order::judge(&queue.finish(), &order::granted(&journal), 1);
    let mixed =
        verdict.pairs.iter().filter(|(first, second)| first.owner.starts_with("ours") != second.owner.starts_with("ours"));
    let (n_mixed, n_of_theirs) = (mixed.count(), lab.history().all("end").len());
    eprintln!(
        "{n_ours} of ours: {} grants, {n_theirs} of theirs: {n_of_theirs}, {n_mixed} times one behind the other",
        n_served.into_inner()
    );
    assert!(verdict.faults.is_empty(), "{:#?}", verdict.faults);
    assert!(0 < n_mixed, "nobody waited for the other side");
    lab.check_all_given_back();
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
