//! The store and the pool of a folder, as every row opens them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use lease_harness::pool::{HeldSlot, Outcome, Pool, PoolFile, PoolOptions, SlotWanted};
use lease_harness::store::{Clock, Env, LeaseStore, StoreOptions};

/// Who asks for a slot in this process.
pub(crate) const OWNER: &str = "gauge";

pub(crate) fn store(folder: &Path) -> LeaseStore {
    store_by(folder, Clock::system())
}

/// A pool of slots without commands.
pub(crate) fn pool(folder: &Path, n_slots: u64) -> Pool {
    pool_in(folder, store(folder), "pool", n_slots)
}

/// The same by a clock that can be put forward.
pub(crate) fn pool_by(folder: &Path, n_slots: u64, ahead: &Ahead) -> Pool {
    pool_in(folder, store_by(folder, ahead.clock()), "pool", n_slots)
}

/// One of several pools of a store.
pub(crate) fn pool_in(folder: &Path, store: LeaseStore, name: &str, n_slots: u64) -> Pool {
    let slots: Vec<String> = (0..n_slots).map(|id| format!("{{\"id\":{id}}}")).collect();
    let text = format!("{{\"name\":\"{name}\",\"kindPrefix\":\"{name}-slot-\",\"slots\":[{}]}}", slots.join(","));
    let file = PoolFile::parse(&text, &folder.join("pool.json")).expect("the pool file is right");
    let options = PoolOptions { env: Env::Fixed(BTreeMap::new()), ..PoolOptions::default() };
    Pool::open(file, store, options).expect("there are no options")
}

/// Takes a slot, waiting for it if need be.
pub(crate) fn take(pool: &Pool, wanted: &SlotWanted<'_>) -> Box<HeldSlot> {
    match pool.acquire(wanted, &mut |_| true).expect("the store is usable") {
        Outcome::Granted(held) => held,
        other => panic!("no slot: {other:?}"),
    }
}

pub(crate) fn give_back(pool: &Pool, held: Box<HeldSlot>) {
    let grant = held.grant().clone();
    drop(held);
    pool.release(grant.slot(), grant.owner(), grant.token()).expect("the store is usable");
}

/// How far the time of a store is ahead, in milliseconds.
#[derive(Clone, Default)]
pub(crate) struct Ahead(Arc<AtomicI64>);

impl Ahead {
    pub(crate) fn put_forward(&self, by_ms: i64) {
        self.0.fetch_add(by_ms, Ordering::Relaxed);
    }

    fn clock(&self) -> Clock {
        let ahead = self.clone();
        Clock::from_fn(move || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX) + ahead.0.load(Ordering::Relaxed)
        })
    }
}

fn store_by(folder: &Path, clock: Clock) -> LeaseStore {
    let options =
        StoreOptions { store: Some(folder.join("store")), clock, env: Env::Fixed(BTreeMap::new()), ..StoreOptions::default() };
    LeaseStore::open(&options).expect("the store opens")
}
