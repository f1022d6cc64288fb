//! What a lease, a slot and a place in the queue cost, on the disk and in memory, beside what their system calls cost by themselves:
//! the floors. Compare rows of one run; this is no stopwatch.

mod floor;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use divan::Bencher;
use floor::Floor;
use lease_harness::json::Json;
use lease_harness::pool::{HeldSlot, Outcome, Pool, PoolFile, PoolOptions, SlotWanted, Wait};
use lease_harness::store::{AcquireRequest, Acquired, Clock, LeaseStore, StoreOptions};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// Where the store lies: a journalling file system, or memory where the machine has such a folder.
const PLACES: [&str; 2] = ["target", "/dev/shm"];
/// So long a slot was held, by the clock of its pool: then the statistics are written each time.
const HELD_MS: i64 = 1000;

#[divan::bench(args = PLACES)]
fn floor_1_a_record_without_a_lock(bencher: Bencher<'_, '_>, place: &str) {
    bare(bencher, place, Floor::without_a_lock);
}

#[divan::bench(args = PLACES)]
fn floor_2_in_a_kernel_lock(bencher: Bencher<'_, '_>, place: &str) {
    bare(bencher, place, Floor::in_a_kernel_lock);
}

#[divan::bench(args = PLACES)]
fn floor_3_in_a_guard_that_is_kept(bencher: Bencher<'_, '_>, place: &str) {
    bare(bencher, place, Floor::in_an_owned_guard);
}

#[divan::bench(args = PLACES)]
fn store_1_acquire_and_release(bencher: Bencher<'_, '_>, place: &str) {
    let folder = folder(place);
    let store = store(&folder, Clock::system());
    bencher.bench_local(|| {
        let token = acquire(&store);
        store.release("k", "bench", &token).expect("the store is usable")
    });
}

#[divan::bench(args = PLACES)]
fn store_2_heartbeat(bencher: Bencher<'_, '_>, place: &str) {
    let folder = folder(place);
    let store = store(&folder, Clock::system());
    let token = acquire(&store);
    bencher.bench_local(|| store.heartbeat("k", "bench", &token).expect("the store is usable"));
}

#[divan::bench(args = PLACES)]
fn store_3_look_at_a_held_lease(bencher: Bencher<'_, '_>, place: &str) {
    let folder = folder(place);
    let store = store(&folder, Clock::system());
    acquire(&store);
    bencher.bench_local(|| store.status("k").expect("the store is usable"));
}

#[divan::bench(args = PLACES, consts = [4, 1000])]
fn pool_1_acquire_and_release_one_of<const SLOTS: usize>(bencher: Bencher<'_, '_>, place: &str) {
    pair(bencher, place, SLOTS, 0);
}

#[divan::bench(args = PLACES)]
fn pool_2_with_ten_thousand_grants_of_the_past(bencher: Bencher<'_, '_>, place: &str) {
    pair(bencher, place, 4, 10_000);
}

#[divan::bench(args = PLACES)]
fn pool_3_join_look_and_leave(bencher: Bencher<'_, '_>, place: &str) {
    let folder = folder(place);
    let pool = pool(&folder, 1, Clock::system());
    let _held = take(&pool, &SlotWanted::by("holder"));
    let wanted = SlotWanted { wait: Wait::For(Duration::ZERO), ..SlotWanted::by("bench") };
    bencher.bench_local(|| pool.acquire(&wanted, &mut |_| true).expect("the store is usable"));
}

fn folder(place: &str) -> TempDir {
    let place = Path::new(place);
    let parent = if place.is_dir() { place.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).expect("a folder can be made")
}

fn bare(bencher: Bencher<'_, '_>, place: &str, pass: fn(&Floor)) {
    let folder = folder(place);
    let floor = Floor::new(folder.path());
    bencher.bench_local(|| pass(&floor));
}

fn store(folder: &TempDir, clock: Clock) -> LeaseStore {
    let options = StoreOptions { store: Some(folder.path().join("store")), clock, ..StoreOptions::default() };
    LeaseStore::open(&options).expect("the store opens")
}

fn acquire(store: &LeaseStore) -> String {
    let request = AcquireRequest { kind: "k", owner: "bench", ttl_minutes: 30.0, payload: Json::Null };
    match store.acquire(&request).expect("the store is usable") {
        Acquired::Acquired { record, .. } => record.token().expect("a lease has a token").to_owned(),
        Acquired::Held { .. } => panic!("nobody else is here"),
    }
}

fn pool(folder: &TempDir, n_slots: usize, clock: Clock) -> Pool {
    let slots: Vec<String> = (0..n_slots).map(|id| format!("{{\"id\":{id}}}")).collect();
    let text = format!("{{\"slots\":[{}]}}", slots.join(","));
    let file = PoolFile::parse(&text, &folder.path().join("pool.json")).expect("the file is right");
    Pool::open(file, store(folder, clock), PoolOptions::default()).expect("no options")
}

fn take(pool: &Pool, wanted: &SlotWanted<'_>) -> Box<HeldSlot> {
    let Ok(Outcome::Granted(held)) = pool.acquire(wanted, &mut |_| true) else { panic!("nobody else is here") };
    held
}

fn pair(bencher: Bencher<'_, '_>, place: &str, n_slots: usize, n_past: usize) {
    let folder = folder(place);
    let ahead = Arc::new(AtomicI64::new(0));
    let pool = pool(&folder, n_slots, clock(Arc::clone(&ahead)));
    let grants = pool.dir().join("grants");
    std::fs::create_dir_all(&grants).expect("the folder is writable");
    for past in 0..n_past {
        std::fs::write(grants.join(format!("00000000-0000-4000-8000-{past:012}.json")), "{}\n").expect("the folder is writable");
    }
    bencher.bench_local(|| {
        let held = take(&pool, &SlotWanted::by("bench"));
        let grant = held.grant().clone();
        drop(held);
        ahead.fetch_add(HELD_MS, Ordering::Relaxed);
        pool.release(grant.slot(), "bench", grant.token()).expect("the store is usable")
    });
}

/// The time, so many milliseconds ahead.
fn clock(ahead: Arc<AtomicI64>) -> Clock {
    Clock::from_fn(move || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX) + ahead.load(Ordering::Relaxed)
    })
}
