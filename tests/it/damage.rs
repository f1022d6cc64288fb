//! Queue and statistics that are not as they should be: what can be read of them counts, and they are repaired.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use lease_harness::json::Json;
use lease_harness::pool::{Mode, PoolErrorKind, PoolOptions, SlotWanted};
use lease_harness::store::{AcquireRequest, Acquired, Clock, StoreOptions};
use lease_tests::wait;

use crate::pool_rules::{ONE_SLOT, give_back, open_in, plain, take};

#[test]
fn a_damaged_queue_keeps_the_entries_that_can_be_read() {
    let entry = r#"{"id":"r1","owner":"acme","session":"s","mode":"blocking","enqueuedAt":"2099-01-01T00:00:00.000Z","heartbeat":"2099-01-01T00:00:00.000Z","theirs":7}"#;
    for shape in [
        format!(r#"{{"entries":{{"a":{entry}}}}}"#),
        format!("[{entry}, 5]"),
        format!(r#"{{"entries":[null, {entry}, {{"owner":"nobody"}}]}}"#),
        format!(r#"{{"entries":[[{entry}]]}}"#),
        format!(r#"{{"entries":{entry}}}"#),
        format!(r#"{{"queue":{{"first":[{entry}]}}}}"#),
        // Cut off in the middle of the next one, and with something else in the way.
        format!(r#"{{"entries":[{entry},{{"id":"r2","own"#),
        format!(r#"{{"entries":[{{oops}} {entry} {entry_end}"#, entry_end = "]]}"),
    ] {
        let temp = tempfile::tempdir().unwrap();
        let pool = plain(temp.path());
        fs::create_dir_all(pool.dir()).unwrap();
        fs::write(pool.dir().join("queue.json"), &shape).unwrap();
        let joined = pool.enqueue("acme", None, Mode::Blocking).unwrap();
        assert_eq!(joined.position, 2, "{shape}");
        let queue = fs::read_to_string(pool.dir().join("queue.json")).unwrap();
        assert!(queue.contains("\"theirs\": 7"), "{queue}");
        let journal = fs::read_to_string(pool.dir().join("pool.log")).unwrap();
        assert!(journal.contains("queue_repaired") && journal.contains("queue.json"), "{journal}");
    }
}

/// Whoever holds the lock may be about to write what he has read of the same damaged file.
#[test]
fn a_damaged_queue_is_repaired_under_the_lock() {
    let temp = tempfile::tempdir().unwrap();
    let (ticks, ticking) = (Arc::new(AtomicI64::new(0)), 1_790_000_000_000);
    let clock = Clock::from_fn({
        let ticks = Arc::clone(&ticks);
        move || ticking + ticks.fetch_add(1, Ordering::SeqCst)
    });
    let pool = open_in(temp.path(), ONE_SLOT, PoolOptions::default(), StoreOptions { clock, ..StoreOptions::default() });
    let entry = |id: &str| format!(r#"{{"id":"{id}","owner":"acme","mode":"blocking","heartbeat":"2099-01-01T00:00:00.000Z"}}"#);
    let damage = |ids: &[&str]| {
        let entries: Vec<_> = ids.iter().map(|id| entry(id)).collect();
        fs::create_dir_all(pool.dir()).unwrap();
        fs::write(pool.dir().join("queue.json"), format!("[{}]", entries.join(","))).unwrap();
    };
    damage(&["r1"]);
    let lock = AcquireRequest { kind: "pool-queue", owner: "other", ttl_minutes: 1.0, payload: Json::Null };
    let Acquired::Acquired { record, .. } = pool.store().acquire(&lock).unwrap() else { panic!("nobody holds it") };
    let before = ticks.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        let sweep = scope.spawn(|| pool.sweep("acme").unwrap());
        // It looks at the clock before it reads the queue, and again when it finds the lock held.
        wait::until_true("the sweep has seen the damage", || ticks.load(Ordering::SeqCst) > before + 1);
        damage(&["r1", "r2"]);
        pool.store().release("pool-queue", "other", record.token().unwrap()).unwrap();
        sweep.join().unwrap();
    });
    let ids: Vec<_> = pool.status().unwrap().queue.into_iter().map(|waiter| waiter.request_id).collect();
    assert_eq!(ids, ["r1", "r2"]);
    assert!(fs::read_to_string(pool.dir().join("queue.json")).unwrap().starts_with('{'), "it was repaired");
}

#[test]
fn damaged_statistics_keep_the_durations_that_can_be_read() {
    let temp = tempfile::tempdir().unwrap();
    let ticks = AtomicI64::new(1_790_000_000_000);
    // Every look at the clock is a millisecond later, so that no lease is too short to be remembered.
    let clock = Clock::from_fn(move || ticks.fetch_add(1, Ordering::SeqCst));
    let pool = open_in(temp.path(), ONE_SLOT, PoolOptions::default(), StoreOptions { clock, ..StoreOptions::default() });
    fs::create_dir_all(pool.dir()).unwrap();
    fs::write(pool.dir().join("stats.json"), r#"{"durationsMs":[1000, "x", 3000]}"#).unwrap();
    assert_eq!(pool.moving_avg_ms().unwrap(), 2000.0);
    give_back(&pool, take(&pool));
    let stats = fs::read_to_string(pool.dir().join("stats.json")).unwrap();
    assert!(stats.contains("1000") && stats.contains("3000") && !stats.contains('x'), "{stats}");
    let journal = fs::read_to_string(pool.dir().join("pool.log")).unwrap();
    assert!(journal.contains("stats_repaired") && journal.contains("stats.json"), "{journal}");
}

#[test]
fn a_queue_that_cannot_be_read_is_an_error_and_not_an_empty_queue() {
    let temp = tempfile::tempdir().unwrap();
    let pool = plain(temp.path());
    fs::create_dir_all(pool.dir().join("queue.json")).unwrap();
    let error = pool.acquire(&SlotWanted::by("acme"), &mut |_| true).unwrap_err();
    assert_eq!(error.kind(), PoolErrorKind::Internal);
    assert_eq!(pool.store().list().unwrap(), []);
}
