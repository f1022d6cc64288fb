//! What a killed peer leaves, as it is when its time has run out.
//!
//! Nothing proves that a peer has died: its leases go when they expire, its place in the queue when its entry is stale, its guard
//! after a minute. A test does not wait for that. It makes what the dead one left as old as it would be then, and whoever
//! comes next has to do the rest. Nobody else writes what belongs to somebody whose time has not run out, so this meets
//! nobody half-way.

use std::fs;
use std::path::Path;

use lease_harness::json::Json;
use lease_harness::store::{AcquireRequest, Acquired, LeaseStore, StoreError, StoreErrorKind, StoreOptions};
use lease_tests::{Lab, wait};
use serde_json::{Value, json};

use crate::runs::age;

const LONG_AGO: &str = "2001-02-03T04:05:06.789Z";
const LOCK: &str = "pool-queue";
/// Whose name stands in the queue lock meanwhile.
const UNDERTAKER: &str = "undertaker";

/// Makes old what the owner `owner` has left in the store, who died inside the critical sections of `kinds`.
pub(super) fn make_old<'a>(lab: &Lab, owner: &str, kinds: impl Iterator<Item = &'a str>) {
    kinds.for_each(|kind| age(&lab.store().join(format!(".guard-{kind}"))));
    let listing = fs::read_dir(lab.store()).expect("the store can be read");
    let names = listing.map(|entry| entry.expect("the store can be read").file_name().to_string_lossy().into_owned());
    for kind in names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)) {
        let Some(mut record) = lab.record(&kind).filter(|record| record["owner"] == owner) else { continue };
        record["heartbeat"] = json!(LONG_AGO);
        replace(&lab.store().join(format!("{kind}.json")), &record);
    }
}

/// Makes old the place of `owner` in the queue of a store, if it has one. Waits for the queue's lock, in which somebody else
/// may just have died.
pub(super) fn make_entry_old(store: &Path, owner: &str) {
    let is_theirs = |entry: &Value| entry["owner"] == owner;
    if Lab::queue(store, "pool").iter().any(is_theirs) {
        change_entries(store, |entry| {
            if is_theirs(entry) {
                entry["heartbeat"] = json!(LONG_AGO);
            }
        });
    }
}

/// Does something to every entry of the queue, under its lock.
pub(super) fn change_entries(folder: &Path, change: impl Fn(&mut Value)) {
    let options = StoreOptions { store: Some(folder.to_owned()), ..StoreOptions::default() };
    let store = LeaseStore::open(&options).expect("the store opens");
    let wanted = AcquireRequest { kind: LOCK, owner: UNDERTAKER, ttl_minutes: 1.0, payload: Json::Null };
    let record = wait::until("the queue lock", || match unless_busy(store.acquire(&wanted)) {
        Some(Acquired::Acquired { record, .. }) => Some(record),
        Some(Acquired::Held { .. }) | None => None,
    });
    let mut entries = Lab::queue(folder, "pool");
    entries.iter_mut().for_each(change);
    if !entries.is_empty() {
        replace(&folder.join("pool/queue.json"), &json!({"entries": entries}));
    }
    let token = record.token().expect("a lease has a token");
    wait::until("the way back", || unless_busy(store.release(LOCK, UNDERTAKER, token)));
}

fn unless_busy<T>(result: Result<T, StoreError>) -> Option<T> {
    match result {
        Ok(done) => Some(done),
        Err(error) if error.kind() == StoreErrorKind::Busy => None,
        Err(error) => panic!("the store is usable: {error}"),
    }
}

/// Puts a document in the place of another, as everybody does.
pub(super) fn replace(path: &Path, document: &Value) {
    let fresh = path.with_file_name(format!(".tmp-{UNDERTAKER}-{}", uuid::Uuid::new_v4()));
    let text = serde_json::to_string_pretty(document).expect("a value prints");
    fs::write(&fresh, text + "\n").expect("the store is writable");
    fs::rename(fresh, path).expect("the store is writable");
}
