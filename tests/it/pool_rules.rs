//! What a pool promises, through the library: turns, clean slots, one description, a queue that survives damage.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use lease_harness::json::Json;
use lease_harness::pool::{Cleaned, Hooks, Mode, Outcome, Pool, PoolErrorKind, PoolFile, PoolOptions, SlotWanted, Wait};
use lease_harness::store::{AcquireRequest, Acquired, Ids, LeaseStore, Status, StoreOptions};
use lease_tests::snapshot::Snapshot;
use lease_tests::wait;

pub(crate) const ONE_SLOT: &str = r#"{"slots":[{"id":1,"port":3001}]}"#;

fn open(dir: &Path, text: &str, options: PoolOptions) -> Pool {
    open_in(dir, text, options, StoreOptions::default())
}

pub(crate) fn open_in(dir: &Path, text: &str, options: PoolOptions, store: StoreOptions) -> Pool {
    let file = PoolFile::parse(text, &dir.join("pool.json")).expect("the pool file is right");
    let store = StoreOptions { store: Some(dir.join("store")), ..store };
    Pool::open(file, LeaseStore::open(&store).expect("a store in a temporary folder opens"), options).expect("no options")
}

pub(crate) fn plain(dir: &Path) -> Pool {
    open(dir, ONE_SLOT, PoolOptions::default())
}

pub(crate) fn take(pool: &Pool) -> lease_harness::pool::HeldSlot {
    match pool.acquire(&SlotWanted::by("acme"), &mut |_| true).expect("the pool is usable") {
        Outcome::Granted(held) => *held,
        refusal => panic!("no slot: {}", refusal.to_json().to_text()),
    }
}

pub(crate) fn give_back(pool: &Pool, held: lease_harness::pool::HeldSlot) {
    let grant = held.grant().clone();
    drop(held);
    assert!(pool.release(grant.slot(), "acme", grant.token()).expect("the pool is usable").is_ok());
}

#[test]
fn waiters_are_served_in_the_order_they_came() {
    let temp = tempfile::tempdir().unwrap();
    let pool = plain(temp.path());
    let first = take(&pool);
    let (tell, served) = mpsc::channel();
    std::thread::scope(|scope| {
        for n in 0..5 {
            let (tell, pool) = (tell.clone(), &pool);
            scope.spawn(move || {
                let held = take(pool);
                tell.send(n).unwrap();
                give_back(pool, held);
            });
            wait::until_true("the waiter stands in the queue", || pool.status().unwrap().queue.len() == n + 1);
        }
        give_back(&pool, first);
    });
    assert_eq!(served.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(pool.status().unwrap().queue.is_empty());
}

/// As if one of ours had died in the critical section of `kind`, whose lease another program holds.
fn die_inside(store: &Path, kind: &str) -> std::path::PathBuf {
    let (proof, guard) = (uuid::Uuid::new_v4().to_string(), store.join(format!(".guard-{kind}")));
    for folder in [&guard, &store.join(".alive")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(store.join(".alive").join(&proof), "{}").unwrap();
    fs::write(guard.join("holder.json"), format!("{{\"id\":\"{}\",\"pid\":1,\"alive\":\"{proof}\"}}", uuid::Uuid::new_v4()))
        .unwrap();
    guard
}

/// A store without our additions is another program of the format.
fn another_program(dir: &Path) -> LeaseStore {
    let options = StoreOptions { store: Some(dir.join("store")), additions: false, ..StoreOptions::default() };
    LeaseStore::open(&options).unwrap()
}

/// The other program cannot tell that somebody has died in the guard, and without the guard it cannot give its lease back.
#[test]
fn who_waits_for_another_program_clears_its_way_back() {
    let temp = tempfile::tempdir().unwrap();
    let (pool, other) = (plain(temp.path()), another_program(temp.path()));
    let hold = |kind: &str| {
        let wanted = AcquireRequest { kind, owner: "other", ttl_minutes: 1.0, payload: Json::Null };
        let Acquired::Acquired { record, .. } = other.acquire(&wanted).unwrap() else { panic!("{kind} is free") };
        let guard = die_inside(other.dir(), kind);
        (guard, record.token().unwrap().to_owned())
    };
    let (guard, token) = hold("slot-1");
    pool.sweep("acme").unwrap();
    assert!(!guard.exists(), "a waiter looks at the slots");
    assert!(other.release("slot-1", "other", &token).unwrap().is_ok());
    let (guard, token) = hold("pool-queue");
    std::thread::scope(|scope| {
        let joined = scope.spawn(|| pool.enqueue("acme", None, Mode::Blocking).unwrap());
        wait::until_true("who waits for the lock looks at its guard", || !guard.exists());
        assert!(other.release("pool-queue", "other", &token).unwrap().is_ok());
        assert_eq!(joined.join().unwrap().position, 1);
    });
}

#[test]
fn who_is_to_wait_at_all_is_told_where_it_stands() {
    let temp = tempfile::tempdir().unwrap();
    let pool = plain(temp.path());
    let held = take(&pool);
    for (nanos, n_told) in [(0, 0), (1, 1)] {
        let mut places = Vec::new();
        let wanted = SlotWanted { wait: Wait::For(Duration::from_nanos(nanos)), ..SlotWanted::by("other") };
        let outcome = pool.acquire(&wanted, &mut |standing| {
            places.push(standing.position);
            true
        });
        assert!(matches!(outcome, Ok(Outcome::TimedOut { position: 1, .. })), "{outcome:?}");
        assert_eq!(places, vec![1; n_told], "joining the queue took longer than that");
    }
    give_back(&pool, held);
}

#[test]
fn every_grant_of_a_slot_has_a_larger_fence_number() {
    let temp = tempfile::tempdir().unwrap();
    let pool = plain(temp.path());
    let mut last = 0;
    for _ in 0..5 {
        let held = take(&pool);
        let fence = held.grant().fence().expect("a grant has a number");
        assert!(last < fence);
        last = fence;
        give_back(&pool, held);
    }
}

#[test]
fn a_provision_that_outlasts_the_lifetime_keeps_its_slot() {
    let temp = tempfile::tempdir().unwrap();
    let (started, starts) = mpsc::channel();
    let (go_on, gate) = mpsc::channel::<()>();
    let (started, gate) = (Mutex::new(started), Mutex::new(gate));
    let provision = move |_: &_| {
        started.lock().unwrap().send(()).map_err(|error| error.to_string())?;
        // A second one, which there must not be, does not wait.
        gate.try_lock().map_err(|error| error.to_string())?.recv().map_err(|error| error.to_string())
    };
    let hooks = Hooks { provision: Some(Arc::new(provision)), ..Hooks::default() };
    // 0.02 minutes are 1.2 s.
    let pool = open(temp.path(), ONE_SLOT, PoolOptions { hooks, ttl_minutes: Some(0.02), ..PoolOptions::default() });
    std::thread::scope(|scope| {
        // If a check fails, it is dropped, and nobody waits at the gate any more.
        let go_on = go_on;
        let granted = scope.spawn(|| take(&pool));
        starts.recv().unwrap();
        let acquired_at = || match pool.store().status("slot-1").unwrap() {
            Status::Held { record, .. } => record.to_json(),
            status => panic!("the slot is {}", status.state()),
        };
        let before = acquired_at();
        let beat = |record: &Json| record.get("heartbeat").cloned();
        // Nobody else gets in for longer than the lifetime, and the beats go on.
        let limit = SlotWanted { wait: Wait::For(Duration::from_millis(3000)), ..SlotWanted::by("acme") };
        let other = pool.acquire(&limit, &mut |_| true).unwrap();
        assert!(matches!(other, Outcome::TimedOut { .. }), "{other:?}");
        wait::until_true("the lease is refreshed", || beat(&before) != beat(&acquired_at()));
        assert_eq!(before.get("token"), acquired_at().get("token"));
        go_on.send(()).unwrap();
        give_back(&pool, granted.join().unwrap());
    });
    assert!(starts.try_recv().is_err(), "nobody else provisioned the slot");
}

#[test]
fn a_lease_taken_away_during_provision_is_no_grant() {
    // Whoever takes it ends the command, and a command that was ended has not failed by itself.
    for ended in [Ok(()), Err("exit null".to_owned())] {
        let temp = tempfile::tempdir().unwrap();
        let thief = plain(temp.path());
        let steal = move |slot: &lease_harness::pool::SlotDef| {
            thief.store().force_release(slot.kind()).map_err(|error| error.to_string())?;
            ended.clone()
        };
        let hooks = Hooks { provision: Some(Arc::new(steal)), ..Hooks::default() };
        let pool = open(temp.path(), ONE_SLOT, PoolOptions { hooks, ..PoolOptions::default() });
        let error = pool.acquire(&SlotWanted::by("acme"), &mut |_| true).unwrap_err();
        assert_eq!(error.kind(), PoolErrorKind::NotReady);
        let state = error.failure().and_then(|failure| failure.get("state")).and_then(Json::as_str);
        assert_eq!(state, Some("lease_lost_during_reset"));
    }
}

#[test]
fn who_is_told_to_stop_waiting_leaves_the_queue() {
    let temp = tempfile::tempdir().unwrap();
    let pool = plain(temp.path());
    let held = take(&pool);
    let ended = pool.acquire(&SlotWanted::by("acme"), &mut |_| false).unwrap();
    assert!(matches!(ended, Outcome::Cancelled { .. }), "{ended:?}");
    assert!(pool.status().unwrap().queue.is_empty());
    give_back(&pool, held);
}

#[test]
fn two_files_that_describe_one_pool_differently_are_refused_while_it_is_in_use() {
    let temp = tempfile::tempdir().unwrap();
    let (ours, theirs) = (plain(temp.path()), open(temp.path(), r#"{"slots":[{"id":1,"port":4001}]}"#, PoolOptions::default()));
    let held = take(&ours);
    let error = theirs.acquire(&SlotWanted { wait: Wait::No, ..SlotWanted::by("acme") }, &mut |_| true).unwrap_err();
    assert_eq!(error.kind(), PoolErrorKind::Usage);
    assert!(error.to_string().contains("3001") && error.to_string().contains("4001"), "{error}");
    give_back(&ours, held);
    give_back(&theirs, take(&theirs));
}

/// A pool whose ids, drawn in the middle of what it does, run `interrupt` the first time that `is_time`.
fn interrupted(
    dir: &Path,
    text: &str,
    is_time: impl Fn() -> bool + Send + Sync + 'static,
    interrupt: impl FnOnce() + Send + 'static,
) -> Pool {
    let interrupt = Mutex::new(Some(interrupt));
    let ids = Ids::from_fn(move || {
        let due = if is_time() { interrupt.lock().unwrap().take() } else { None };
        if let Some(interrupt) = due {
            interrupt();
        }
        uuid::Uuid::new_v4().to_string()
    });
    let file = PoolFile::parse(text, &dir.join("pool.json")).expect("the pool file is right");
    let store = StoreOptions { store: Some(dir.join("store")), ids, ..StoreOptions::default() };
    Pool::open(file, LeaseStore::open(&store).expect("a store in a temporary folder opens"), PoolOptions::default())
        .expect("no options")
}

#[test]
fn another_description_that_comes_just_before_a_slot_is_taken_is_seen() {
    const OTHER: &str = r#"{"slots":[{"id":2,"port":3001}]}"#;
    let temp = tempfile::tempdir().unwrap();
    let (tell, told) = mpsc::channel();
    let theirs = open(temp.path(), OTHER, PoolOptions::default());
    let agreed = plain(temp.path());
    give_back(&agreed, take(&agreed));
    // The first id is that of the request, which is drawn when the descriptions have been compared.
    let ours = interrupted(temp.path(), ONE_SLOT, || true, {
        let theirs = theirs.clone();
        move || tell.send(take(&theirs)).unwrap()
    });
    let error = ours.acquire(&SlotWanted::by("acme"), &mut |_| true).unwrap_err();
    assert_eq!(error.kind(), PoolErrorKind::Usage);
    give_back(&theirs, told.recv().unwrap());
    assert_eq!(ours.store().list().unwrap(), []);
}

#[test]
fn a_slot_that_is_taken_just_before_another_description_comes_is_seen() {
    const OTHER: &str = r#"{"slots":[{"id":2,"port":3001}]}"#;
    let temp = tempfile::tempdir().unwrap();
    let (tell, told) = mpsc::channel();
    let ours = plain(temp.path());
    give_back(&ours, take(&ours));
    // The next id after the queue is locked is that of the description's temporary file.
    let lock = ours.store().dir().join(".guard-pool-queue");
    let theirs = interrupted(temp.path(), OTHER, move || lock.exists(), {
        let ours = ours.clone();
        move || tell.send(take(&ours)).unwrap()
    });
    let error = theirs.acquire(&SlotWanted::by("acme"), &mut |_| true).unwrap_err();
    assert_eq!(error.kind(), PoolErrorKind::Usage);
    give_back(&ours, told.recv().unwrap());
    give_back(&ours, take(&ours));
}

#[test]
fn a_lease_is_kept_alive_while_its_holder_waits_to_leave_the_queue() {
    let temp = tempfile::tempdir().unwrap();
    let pool = open(temp.path(), ONE_SLOT, PoolOptions { ttl_minutes: Some(0.02), ..PoolOptions::default() });
    let first = take(&plain(temp.path()));
    std::thread::scope(|scope| {
        let second = scope.spawn(|| take(&pool));
        wait::until_true("somebody waits", || pool.status().unwrap().queue.len() == 1);
        let store = pool.store();
        let lock = AcquireRequest { kind: "pool-queue", owner: "other", ttl_minutes: 1.0, payload: Json::Null };
        let mut lock_record = None;
        wait::until_true("the queue is locked", || {
            if let Acquired::Acquired { record, .. } = store.acquire(&lock).unwrap() {
                lock_record = Some(record);
            }
            lock_record.is_some()
        });
        store.release("slot-1", "acme", first.grant().token()).unwrap();
        drop(first);
        let heartbeats = || match store.status("slot-1").unwrap() {
            Status::Held { record, .. } => record.to_json().get("heartbeat").cloned(),
            _ => None,
        };
        let mut seen = Vec::new();
        // As many as its lifetime has.
        wait::until_true("the lease is refreshed", || {
            seen.extend(heartbeats().filter(|beat| seen.last() != Some(beat)));
            6 < seen.len()
        });
        store.release("pool-queue", "other", lock_record.unwrap().token().unwrap()).unwrap();
        give_back(&pool, second.join().unwrap());
    });
}

#[test]
fn a_store_that_was_deleted_is_made_anew() {
    let temp = tempfile::tempdir().unwrap();
    let pool = plain(temp.path());
    give_back(&pool, take(&pool));
    fs::remove_dir_all(pool.store().dir()).unwrap();
    let held = take(&pool);
    let Status::Held { record, .. } = pool.store().status("slot-1").unwrap() else { panic!("the slot is held") };
    let alive = record.payload().get("alive").and_then(Json::as_str).expect("the lease names a proof of life").to_owned();
    assert!(pool.store().dir().join(".alive").join(alive).exists(), "others can tell that the holder lives");
    give_back(&pool, held);
}

#[test]
fn only_the_owner_of_an_entry_leaves_the_queue_for_it_or_is_granted_by_it() {
    let temp = tempfile::tempdir().unwrap();
    let pool = plain(temp.path());
    let joined = pool.enqueue("acme", None, Mode::Blocking).unwrap();
    pool.dequeue(joined.entry.id(), "other").unwrap();
    assert!(pool.try_grant(joined.entry.id(), "other", None).unwrap().is_none());
    assert_eq!(pool.status().unwrap().queue.len(), 1);
    let held = pool.try_grant(joined.entry.id(), "acme", None).unwrap().expect("it is its turn");
    give_back(&pool, held);
}

#[test]
fn a_forced_release_that_is_refused_deletes_nothing() {
    let fenced = || StoreOptions { owner_pattern: Some("^acme$".to_owned()), ..StoreOptions::default() };
    for (text, owner) in [
        (r#"{"slots":[{"id":1}]}"#, None),
        (r#"{"slots":[{"id":1}]}"#, Some("")),
        (r#"{"slots":[{"id":1}]}"#, Some("intruder")),
        (r#"{"slots":[{"id":1}],"bookkeeper":"intruder"}"#, None),
    ] {
        let temp = tempfile::tempdir().unwrap();
        let pool = open_in(temp.path(), text, PoolOptions::default(), fenced());
        let held = take(&pool);
        let before = Snapshot::of(pool.store().dir());
        let error = pool.force_release(held.grant().slot(), owner).unwrap_err();
        assert_eq!(error.kind(), PoolErrorKind::Usage);
        assert_eq!(before.differences(&Snapshot::of(pool.store().dir())), Vec::<String>::new(), "{text} {owner:?}");
        give_back(&pool, held);
    }
}

#[test]
fn only_the_holder_resets_a_slot() {
    let temp = tempfile::tempdir().unwrap();
    let (tell, resets) = mpsc::channel();
    let tell = Mutex::new(tell);
    let reset = move |_: &_| tell.lock().unwrap().send(()).map_err(|error| error.to_string());
    let hooks = Hooks { reset: Some(Arc::new(reset)), ..Hooks::default() };
    let pool = open(temp.path(), ONE_SLOT, PoolOptions { hooks, ..PoolOptions::default() });
    let held = take(&pool);
    let (slot, token) = (held.grant().slot().clone(), held.grant().token().to_owned());
    assert_eq!(pool.reset(&slot, "other", &token).unwrap(), Cleaned::NotOwner);
    assert_eq!(pool.reset(&slot, "acme", "another-token").unwrap(), Cleaned::NotOwner);
    assert!(resets.try_recv().is_err(), "the command did not run");
    assert_eq!(pool.reset(&slot, "acme", &token).unwrap(), Cleaned::Reset);
    assert!(resets.try_recv().is_ok());
    give_back(&pool, held);
    assert_eq!(pool.reset(&slot, "acme", &token).unwrap(), Cleaned::NotHeld);
    assert!(resets.try_recv().is_err(), "the command did not run");
}

/// The holder may be a shell, of which no heartbeat comes while it waits for the command.
#[test]
fn a_reset_that_outlasts_the_lifetime_keeps_its_slot() {
    let temp = tempfile::tempdir().unwrap();
    let (started, starts) = mpsc::channel();
    let (go_on, gate) = mpsc::channel::<()>();
    let (started, gate) = (Mutex::new(started), Mutex::new(gate));
    let reset = move |_: &_| {
        started.lock().unwrap().send(()).map_err(|error| error.to_string())?;
        gate.lock().unwrap().recv().map_err(|error| error.to_string())
    };
    let hooks = Hooks { reset: Some(Arc::new(reset)), ..Hooks::default() };
    let pool = open(temp.path(), ONE_SLOT, PoolOptions { hooks, ..PoolOptions::default() });
    // 0.02 minutes are 1.2 s.
    let lease = AcquireRequest { kind: "slot-1", owner: "acme", ttl_minutes: 0.02, payload: Json::Null };
    let Acquired::Acquired { record, .. } = pool.store().acquire(&lease).unwrap() else { panic!("the slot is free") };
    let token = record.token().unwrap();
    std::thread::scope(|scope| {
        let reset = scope.spawn(|| pool.reset(pool.slot(Some(&Json::from(1))).unwrap(), "acme", token).unwrap());
        starts.recv().unwrap();
        let limit = SlotWanted { wait: Wait::For(Duration::from_millis(3000)), ..SlotWanted::by("acme") };
        let other = plain(temp.path()).acquire(&limit, &mut |_| true).unwrap();
        go_on.send(()).unwrap();
        assert!(matches!(other, Outcome::TimedOut { .. }), "{other:?}");
        assert_eq!(reset.join().unwrap(), Cleaned::Reset);
    });
}

#[test]
fn the_store_hides_itself_from_git_and_a_release_leaves_no_record() {
    let temp = tempfile::tempdir().unwrap();
    let pool = plain(temp.path());
    give_back(&pool, take(&pool));
    assert_eq!(fs::read_to_string(pool.store().dir().join(".gitignore")).unwrap(), "*\n");
    assert_eq!(pool.store().list().unwrap(), []);
}

#[test]
fn old_grants_go_and_young_ones_stay_however_many_there_are() {
    let temp = tempfile::tempdir().unwrap();
    let pool = plain(temp.path());
    let grants = pool.dir().join("grants");
    fs::create_dir_all(&grants).unwrap();
    let day_and_more = std::time::SystemTime::now() - Duration::from_secs(25 * 3600);
    for n in 0..700 {
        let file = fs::File::create(grants.join(format!("{n}.json"))).unwrap();
        if n % 7 != 0 {
            file.set_modified(day_and_more).unwrap();
        }
    }
    wait::until_true("the old ones are gone", || {
        pool.sweep("acme").unwrap();
        fs::read_dir(&grants).unwrap().count() == 100
    });
}
