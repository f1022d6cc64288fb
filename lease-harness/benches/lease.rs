//! What a lease and a slot cost, on the disk and in memory. Compare rows of one run; this is no stopwatch.

use std::path::Path;

use lease_harness::json::Json;
use lease_harness::pool::{Outcome, Pool, PoolFile, PoolOptions, SlotWanted};
use lease_harness::store::{AcquireRequest, Acquired, LeaseStore, StoreOptions};
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// Where the store lies: a journalling file system, or memory where the machine has such a folder.
const PLACES: [&str; 2] = ["target", "/dev/shm"];

fn folder(place: &str) -> TempDir {
    let place = Path::new(place);
    let parent = if place.is_dir() { place.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(parent).expect("a folder can be made")
}

fn store(folder: &TempDir, additions: bool) -> LeaseStore {
    let options = StoreOptions { store: Some(folder.path().join("store")), additions, ..StoreOptions::default() };
    LeaseStore::open(&options).expect("the store opens")
}

fn acquire(store: &LeaseStore) -> String {
    let request = AcquireRequest { kind: "k", owner: "bench", ttl_minutes: 30.0, payload: Json::Null };
    match store.acquire(&request).expect("the store is usable") {
        Acquired::Acquired { record, .. } => record.token().expect("a lease has a token").to_owned(),
        Acquired::Held { .. } => panic!("nobody else is here"),
    }
}

#[divan::bench(args = PLACES)]
fn acquire_and_release_a_lease(bencher: divan::Bencher<'_, '_>, place: &str) {
    let folder = folder(place);
    let store = store(&folder, true);
    bencher.bench_local(|| {
        let token = acquire(&store);
        store.release("k", "bench", &token).expect("the store is usable")
    });
}

#[divan::bench(args = PLACES)]
fn heartbeat(bencher: divan::Bencher<'_, '_>, place: &str) {
    let folder = folder(place);
    let store = store(&folder, true);
    let token = acquire(&store);
    bencher.bench_local(|| store.heartbeat("k", "bench", &token).expect("the store is usable"));
}

#[divan::bench(args = PLACES)]
fn look_at_a_held_lease(bencher: divan::Bencher<'_, '_>, place: &str) {
    let folder = folder(place);
    let store = store(&folder, true);
    acquire(&store);
    bencher.bench_local(|| store.status("k").expect("the store is usable"));
}

#[divan::bench(args = PLACES)]
fn acquire_and_release_a_slot(bencher: divan::Bencher<'_, '_>, place: &str) {
    slots(bencher, place, 2);
}

/// A look at the pool is as long as the pool: this says what each slot adds.
#[divan::bench(args = PLACES)]
fn acquire_and_release_one_slot_of_64(bencher: divan::Bencher<'_, '_>, place: &str) {
    slots(bencher, place, 64);
}

fn slots(bencher: divan::Bencher<'_, '_>, place: &str, n_slots: usize) {
    let folder = folder(place);
    let slots: Vec<String> = (0..n_slots).map(|id| format!("{{\"id\":{id}}}")).collect();
    let text = format!("{{\"slots\":[{}]}}", slots.join(","));
    let file = PoolFile::parse(&text, &folder.path().join("pool.json")).expect("the file is right");
    let pool = Pool::open(file, store(&folder, true), PoolOptions::default()).expect("no options");
    bencher.bench_local(|| {
        let Ok(Outcome::Granted(held)) = pool.acquire(&SlotWanted::by("bench"), &mut |_| true) else {
            panic!("nobody else is here")
        };
        let grant = held.grant().clone();
        drop(held);
        pool.release(grant.slot(), "bench", grant.token()).expect("the store is usable")
    });
}
