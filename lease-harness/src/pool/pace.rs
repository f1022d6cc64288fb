//! What need not be done for each slot by who takes and gives back many of them in a second: to look for what the dead have left,
//! and to write down how long slots were held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Pool, eta};
use crate::sys::clock::{self, SharedTime};

/// How often these things are done.
pub(super) struct Pace {
    every: Duration,
    /// When the dead are looked for next.
    next: SharedTime,
    durations: Mutex<Durations>,
}

/// The durations that are not written down yet.
#[derive(Default)]
struct Durations {
    ms: Vec<f64>,
    /// When that is to be done.
    due: Duration,
}

impl Pool {
    /// Does upkeep at most so often from now on: looks for what the dead have left, which is found later by as much and at once if
    /// there is no free slot or somebody waits; and writes the statistics, which are as old. Behind the last slot [`Pool::catch_up`]
    /// is to be called; if the process dies before it, the last durations are not in the statistics.
    pub(crate) fn at_a_pace_of(self, every: Duration) -> Self {
        let pace = Pace { every, next: SharedTime::default(), durations: Mutex::default() };
        Self { pace: Some(Arc::new(pace)), ..self }
    }

    /// Whether it is time for upkeep of which nothing is known to come.
    pub(super) fn is_time_for_upkeep(&self) -> bool {
        self.pace.as_ref().is_none_or(|pace| pace.next.get() <= clock::since_boot())
    }

    /// Upkeep is being done.
    pub(super) fn note_upkeep(&self) {
        if let Some(pace) = &self.pace {
            pace.next.set(clock::since_boot() + pace.every);
        }
    }

    /// Sees to it that a duration comes to the statistics, which serve others: that they cannot be written is no failure.
    pub(super) fn note_duration(&self, owner: &str, held_ms: f64) {
        let durations_ms = match &self.pace {
            None => vec![held_ms],
            Some(pace) => pace.durations().add(held_ms, pace.every),
        };
        if !durations_ms.is_empty() {
            let _ = self.remember_durations(owner, &durations_ms);
        }
    }

    /// Does the upkeep that was left for later.
    pub(crate) fn catch_up(&self, owner: &str) {
        let Some(pace) = &self.pace else { return };
        let durations_ms = std::mem::take(&mut pace.durations().ms);
        if !durations_ms.is_empty() {
            let _ = self.remember_durations(owner, &durations_ms);
        }
        pace.next.set(Duration::ZERO);
        self.clear_after(owner, None);
    }
}

impl Pace {
    fn durations(&self) -> MutexGuard<'_, Durations> {
        self.durations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Durations {
    /// One more; those that are to be written down now, if it is time for that.
    fn add(&mut self, held_ms: f64, every: Duration) -> Vec<f64> {
        let now = clock::since_boot();
        self.ms = eta::remember(std::mem::take(&mut self.ms), &[held_ms]);
        if now < self.due {
            return Vec::new();
        }
        self.due = now + every;
        std::mem::take(&mut self.ms)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::json::Json;
    use crate::pool::prepare::HeldSlot;
    use crate::pool::{Outcome, PoolFile, PoolOptions, SlotWanted};
    use crate::store::{AcquireRequest, Clock, LeaseStore, StoreOptions};

    const LONG: Duration = Duration::from_secs(3600);

    /// A pool of two slots that is looked after once; its clock shows more at each look, so that a slot is held for some time.
    fn pool(dir: &Path) -> Pool {
        let now = std::sync::atomic::AtomicI64::new(1_760_000_000_000);
        let clock = Clock::from_fn(move || now.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let options =
            StoreOptions { store: Some(dir.join("store")), owner_pattern: Some(String::new()), clock, ..StoreOptions::default() };
        let store = LeaseStore::open(&options).expect("a store in a temporary folder opens");
        let file = PoolFile::parse(r#"{"slots":[{"id":1},{"id":2}]}"#, &dir.join("pool.json")).expect("the pool file is right");
        Pool::open(file, store, PoolOptions::default()).expect("no options").at_a_pace_of(LONG)
    }

    fn held(pool: &Pool) -> HeldSlot {
        match pool.acquire(&SlotWanted::by("acme"), &mut |_| true).expect("the store is usable") {
            Outcome::Granted(held) => *held,
            other => panic!("it is free: {other:?}"),
        }
    }

    fn give_back(pool: &Pool, held: &HeldSlot) {
        let grant = held.grant();
        let slot = pool.slot(Some(grant.slot().id())).unwrap();
        assert!(pool.release(slot, "acme", grant.token()).unwrap().is_ok());
    }

    fn take_and_give_back(pool: &Pool) {
        give_back(pool, &held(pool));
    }

    /// Somebody who is gone has a slot.
    fn die_in(pool: &Pool, kind: &str) {
        let payload = crate::json::object([("requestId", Json::from("dead"))]);
        pool.store().acquire(&AcquireRequest { kind, owner: "gone", ttl_minutes: 1e-9, payload }).unwrap();
    }

    #[test]
    fn durations_are_written_down_together() {
        let temp = tempfile::tempdir().unwrap();
        let pool = pool(temp.path());
        for n_before in 0..15 {
            take_and_give_back(&pool);
            assert_eq!(pool.read_stats().unwrap().0.len(), 1, "behind {n_before}");
        }
        pool.catch_up("acme");
        assert_eq!(pool.read_stats().unwrap().0.len(), eta::REMEMBERED);
        let before = std::fs::read(pool.path(super::super::queue::STATS)).unwrap();
        pool.catch_up("acme");
        assert_eq!(std::fs::read(pool.path(super::super::queue::STATS)).unwrap(), before, "once");
    }

    #[test]
    fn what_the_dead_left_is_found_when_it_is_time_or_in_the_way() {
        let temp = tempfile::tempdir().unwrap();
        let pool = pool(temp.path());
        take_and_give_back(&pool);
        die_in(&pool, "slot-1");
        let second = held(&pool);
        assert_eq!(second.grant().slot().kind(), "slot-2", "the first is looked at when it is needed");
        let first = held(&pool);
        assert_eq!(first.grant().slot().kind(), "slot-1");
        [first, second].iter().for_each(|held| give_back(&pool, held));
        die_in(&pool, "slot-1");
        pool.catch_up("acme");
        assert!(!pool.store().has_record("slot-1"));
    }

    /// Also if there is always somebody who waits, for whom the dead are looked for each time.
    #[test]
    fn durations_are_written_down_in_time() {
        let every = Duration::from_secs(1);
        let mut durations = Durations::default();
        assert_eq!(durations.add(1.0, every), [1.0]);
        assert_eq!(durations.add(2.0, every), [0.0; 0]);
        durations.due = clock::since_boot();
        assert_eq!(durations.add(3.0, every), [2.0, 3.0]);
    }

    #[test]
    fn who_waits_is_served_at_any_pace() {
        let temp = tempfile::tempdir().unwrap();
        let pool = pool(temp.path());
        let slots = [held(&pool), held(&pool)];
        let entry = pool.enqueue("other", None, crate::pool::Mode::Blocking).unwrap().entry;
        give_back(&pool, &slots[0]);
        let wanted = SlotWanted { wait: crate::pool::Wait::No, ..SlotWanted::by("acme") };
        let answer = pool.acquire(&wanted, &mut |_| true).unwrap();
        assert!(matches!(answer, Outcome::Saturated { position: 2, .. }), "{answer:?}");
        assert!(pool.dequeue(entry.id(), "other").unwrap());
        take_and_give_back(&pool);
    }
}
