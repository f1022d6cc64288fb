//! Proof of life: who is provably gone holds nothing, who provably lives and works is not evicted by anybody's clock.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use lease_harness::json::Json;
use lease_harness::pool::{Mode, Pool, PoolFile, PoolOptions};
use lease_harness::store::{
    AcquireRequest, Acquired, Clock, LeaseStore, Reaped, Refreshed, Status, StoreErrorKind, StoreOptions,
};

const DAY_MS: i64 = 86_400_000;
const NOW_MS: i64 = 1_790_000_000_000;

fn options(dir: &Path, clock_ms: i64) -> StoreOptions {
    StoreOptions {
        store: Some(dir.to_owned()),
        clock: Clock::from_fn(move || clock_ms),
        guard_wait: Duration::from_millis(50),
        ..StoreOptions::default()
    }
}

fn store(dir: &Path, clock_ms: i64) -> LeaseStore {
    LeaseStore::open(&options(dir, clock_ms)).expect("a store in a temporary folder opens")
}

fn acquire(store: &LeaseStore, kind: &str, payload: Json) -> Acquired {
    let request = AcquireRequest { kind, owner: "acme", ttl_minutes: 30.0, payload };
    store.acquire(&request).expect("the store is usable")
}

/// A proof of life whose process is gone, or, as long as the file is kept, lives.
fn proof(dir: &Path, id: &str) -> File {
    let folder = dir.join(".alive");
    fs::create_dir_all(&folder).expect("the store is writable");
    let file = File::create(folder.join(id)).expect("the store is writable");
    file.lock().expect("a new file can be locked");
    file
}

fn dead_proof(dir: &Path, id: &str) {
    drop(proof(dir, id));
}

fn naming(id: &str) -> Json {
    lease_harness::json::object([("alive", Json::from(id))])
}

const ID: &str = "6b2a0f0e-3b57-4c56-9df6-0e5f6a1d2c3b";

#[test]
fn a_lease_whose_holder_is_gone_is_taken_over_long_before_its_time() {
    let temp = tempfile::tempdir().unwrap();
    let store = store(temp.path(), NOW_MS);
    dead_proof(temp.path(), ID);
    assert!(matches!(acquire(&store, "k", naming(ID)), Acquired::Acquired { .. }));
    assert!(matches!(store.status("k").unwrap(), Status::Unknown { .. }));
    assert!(matches!(acquire(&store, "k", Json::Null), Acquired::Acquired { previous: Some(_), .. }));
}

#[test]
fn a_reaped_lease_tells_the_journal_why() {
    let temp = tempfile::tempdir().unwrap();
    let store = store(temp.path(), NOW_MS);
    dead_proof(temp.path(), ID);
    acquire(&store, "k", naming(ID));
    assert!(matches!(store.reap("k").unwrap(), Reaped::Reaped { .. }));
    let journal = fs::read_to_string(temp.path().join("reaped.log")).unwrap();
    assert!(journal.contains(r#""reason":"the process that held it is gone""#), "{journal}");
}

#[test]
fn without_a_proof_the_time_decides() {
    let temp = tempfile::tempdir().unwrap();
    let store = store(temp.path(), NOW_MS);
    acquire(&store, "k", naming(ID));
    assert!(matches!(acquire(&store, "k", Json::Null), Acquired::Held { .. }), "the proof that it names does not exist");
    acquire(&store, "l", naming("../../etc/passwd"));
    assert!(matches!(acquire(&store, "l", Json::Null), Acquired::Held { .. }), "what is no id is no proof");
}

#[test]
fn a_wrong_clock_evicts_nobody_who_lives_and_works() {
    let temp = tempfile::tempdir().unwrap();
    let (right, wrong) = (store(temp.path(), NOW_MS), store(temp.path(), NOW_MS + 10 * DAY_MS));
    let _lives = proof(temp.path(), ID);
    acquire(&right, "k", naming(ID));
    assert!(matches!(acquire(&wrong, "k", Json::Null), Acquired::Held { .. }));
    assert!(matches!(wrong.reap("k").unwrap(), Reaped::Held { .. }));
    // A holder that lives and says nothing for longer than its lease is silent, and costs its time and no more.
    let record = File::open(temp.path().join("k.json")).unwrap();
    record.set_modified(SystemTime::now() - Duration::from_secs(31 * 60)).unwrap();
    assert!(matches!(wrong.reap("k").unwrap(), Reaped::Reaped { .. }));
}

#[test]
fn no_lease_is_revived() {
    let temp = tempfile::tempdir().unwrap();
    let (early, late) = (store(temp.path(), NOW_MS), store(temp.path(), NOW_MS + DAY_MS));
    let Acquired::Acquired { record, .. } = acquire(&early, "k", Json::Null) else { panic!("the store is empty") };
    let token = record.token().unwrap();
    assert!(matches!(late.heartbeat("k", "acme", token).unwrap(), Refreshed::Expired { .. }));
}

#[test]
fn a_guard_whose_holder_is_gone_is_taken_at_once() {
    let temp = tempfile::tempdir().unwrap();
    dead_proof(temp.path(), ID);
    guard(temp.path(), ID);
    assert!(matches!(acquire(&store(temp.path(), NOW_MS), "k", Json::Null), Acquired::Acquired { .. }));
}

#[test]
fn a_guard_whose_holder_lives_is_never_taken_however_old() {
    let temp = tempfile::tempdir().unwrap();
    let _lives = proof(temp.path(), ID);
    let place = guard(temp.path(), ID);
    File::open(&place).unwrap().set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    let request = AcquireRequest { kind: "k", owner: "acme", ttl_minutes: 30.0, payload: Json::Null };
    let error = store(temp.path(), NOW_MS).acquire(&request).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy);
    assert!(error.to_string().contains("process 1, which lives"), "{error}");
    assert!(place.join("holder.json").exists());
}

/// The store's clock is read inside the critical section, so that a clock can play who goes in while we are suspended.
#[test]
fn who_was_suspended_in_a_critical_section_changes_nothing_of_his_successor() {
    let temp = tempfile::tempdir().unwrap();
    let holder = temp.path().join(".guard-k/holder.json");
    let successor = move || {
        fs::write(&holder, r#"{"id":"somebody-else","pid":1}"#).unwrap();
        NOW_MS
    };
    let stale_at_once =
        StoreOptions { clock: Clock::from_fn(successor), guard_stale: Duration::ZERO, ..options(temp.path(), NOW_MS) };
    let request = AcquireRequest { kind: "k", owner: "acme", ttl_minutes: 30.0, payload: Json::Null };
    let error = LeaseStore::open(&stale_at_once).unwrap().acquire(&request).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
    let names = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| name != "k.json" && !name.starts_with(".tmp-")));
}

fn guard(dir: &Path, alive: &str) -> std::path::PathBuf {
    let place = dir.join(".guard-k");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("holder.json"), format!(r#"{{"id":"x","pid":1,"alive":"{alive}"}}"#)).unwrap();
    place
}

#[test]
fn what_dead_processes_left_is_cleared_away_and_what_the_living_need_stays() {
    let temp = tempfile::tempdir().unwrap();
    let store = store(temp.path(), NOW_MS);
    acquire(&store, "k", Json::Null);
    dead_proof(temp.path(), ID);
    let room = temp.path().join(format!(".room-{ID}-0"));
    fs::create_dir(&room).unwrap();
    let (old, young) = (temp.path().join(".tmp-k-1"), temp.path().join(".tmp-k-2"));
    File::create(&old).unwrap();
    File::create(&young).unwrap();
    let crashed = guard(temp.path(), ID);
    let reaped = temp.path().join(format!(".guard-k.reaped-{ID}"));
    let (released, being_released) = (format!(".guard-l.release-{ID}"), format!(".guard-m.release-{ID}"));
    let (released, being_released) = (temp.path().join(released), temp.path().join(being_released));
    for folder in [&reaped, &released, &being_released] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("holder.json"), "{}").unwrap();
    }
    for path in [&old, &reaped, &released] {
        File::open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(120)).unwrap();
    }
    store.reconcile().unwrap();
    for gone in [room, old, crashed, reaped, released, temp.path().join(".alive").join(ID)] {
        assert!(!gone.exists(), "{}", gone.display());
    }
    assert!(young.exists() && being_released.exists() && temp.path().join("k.json").exists());
}

#[test]
fn what_dead_processes_left_of_a_pool_is_cleared_away_too() {
    let temp = tempfile::tempdir().unwrap();
    let file = PoolFile::parse(r#"{"slots":[{"id":1}]}"#, &temp.path().join("pool.json")).unwrap();
    let pool = Pool::open(file, store(&temp.path().join("store"), NOW_MS), PoolOptions::default()).unwrap();
    let dir = pool.store().dir();
    dead_proof(dir, ID);
    // A holder and a changer of the queue, both gone, and what their writes and grants have left.
    let mine = [("requestId", ID), ("mode", "blocking"), ("alive", ID)].map(|(key, value)| (key, Json::from(value)));
    acquire(pool.store(), "slot-1", lease_harness::json::object(mine));
    acquire(pool.store(), "pool-queue", naming(ID));
    let (grant, half) = (pool.dir().join(format!("grants/{ID}.json")), pool.dir().join(".tmp-1"));
    fs::create_dir_all(pool.dir().join("grants")).unwrap();
    fs::write(&grant, "{}").unwrap();
    File::create(&half).unwrap().set_modified(SystemTime::now() - Duration::from_secs(120)).unwrap();
    assert_eq!(pool.sweep("acme").unwrap().reaped.len(), 1);
    for gone in [grant, half, dir.join("pool-queue.json"), dir.join(".alive").join(ID)] {
        assert!(!gone.exists(), "{}", gone.display());
    }
}

#[test]
fn a_proof_that_a_lease_still_names_is_kept() {
    let temp = tempfile::tempdir().unwrap();
    let fenced = StoreOptions { owner_pattern: Some("^other$".into()), ..options(temp.path(), NOW_MS) };
    dead_proof(temp.path(), ID);
    acquire(&store(temp.path(), NOW_MS), "k", naming(ID));
    // Outside this fence the dead lease must not be touched, so its proof must stay as well.
    LeaseStore::open(&fenced).unwrap().reconcile().unwrap();
    assert!(temp.path().join(".alive").join(ID).exists());
}

#[test]
fn who_finds_the_queue_locked_keeps_out_of_its_critical_section() {
    let temp = tempfile::tempdir().unwrap();
    let file = PoolFile::parse(r#"{"slots":[{"id":1}]}"#, &temp.path().join("pool.json")).unwrap();
    let folder = temp.path().join("store");
    // Long enough for what we do inside at the end, also on a busy machine.
    let guard_wait = Duration::from_millis(500);
    let impatient = LeaseStore::open(&StoreOptions { guard_wait, ..options(&folder, NOW_MS) }).unwrap();
    let pool = Pool::open(file, impatient, PoolOptions::default()).unwrap();
    let (dir, store) = (pool.store().dir().to_owned(), pool.store());
    let Acquired::Acquired { record, .. } = acquire(store, "pool-queue", Json::Null) else { panic!("the store is empty") };
    // Entering would fail after half a second, as it does in a crowd after five.
    let _lives = proof(&dir, ID);
    let place = guard(&dir, ID);
    let occupied = dir.join(".guard-pool-queue");
    fs::rename(&place, &occupied).unwrap();
    std::thread::scope(|scope| {
        let joining = scope.spawn(|| pool.enqueue("acme", None, Mode::Blocking));
        let begun = std::time::Instant::now();
        while begun.elapsed() < 3 * guard_wait && !joining.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::remove_dir_all(&occupied).unwrap();
        let patient = LeaseStore::open(&StoreOptions { guard_wait: 20 * guard_wait, ..options(&folder, NOW_MS) }).unwrap();
        patient.release("pool-queue", "acme", record.token().unwrap()).unwrap();
        assert_eq!(joining.join().unwrap().unwrap().position, 1);
    });
}

#[test]
fn a_waiter_that_lives_is_not_stale_and_one_that_is_gone_is_dropped_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let file = PoolFile::parse(r#"{"slots":[{"id":1}]}"#, &temp.path().join("pool.json")).unwrap();
    let pool = |clock_ms| Pool::open(file.clone(), store(&temp.path().join("store"), clock_ms), PoolOptions::default()).unwrap();
    let (right, wrong) = (pool(NOW_MS), pool(NOW_MS + DAY_MS));
    let joined = right.enqueue("acme", None, Mode::Blocking).unwrap();
    assert!(wrong.sweep("acme").unwrap().dropped.is_empty());
    // The same entry, but of a process that is gone.
    let queue = right.dir().join("queue.json");
    let mine = joined.entry.to_json().get("alive").and_then(Json::as_str).unwrap().to_owned();
    dead_proof(right.store().dir(), ID);
    fs::write(&queue, fs::read_to_string(&queue).unwrap().replace(&mine, ID)).unwrap();
    assert_eq!(right.sweep("acme").unwrap().dropped.len(), 1);
}

/// A test may fork, for example to call a C library in a process of its own. The child has the parent's values and not its
/// leases, and what it drops must not end them.
#[test]
fn a_fork_that_ends_takes_nothing_from_its_parent() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("pool.json");
    fs::write(&file, r#"{"slots":[{"id":1}]}"#).unwrap();
    let slot = lease_harness::SlotRequest::from_file(&file).store(temp.path().join("store")).acquire().unwrap();
    // SAFETY: the child drops a value, which takes no lock that another thread of the parent may have held, and exits.
    let fork = unsafe { libc::fork() };
    if fork == 0 {
        drop(slot);
        // SAFETY: nothing of the parent's is run at exit.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: it is our child, and nobody else waits for it.
    assert_eq!(unsafe { libc::waitpid(fork, &raw mut status, 0) }, fork);
    assert_eq!(status, 0);
    let alive = fs::read_dir(temp.path().join("store/.alive")).unwrap().count();
    assert_eq!((alive, temp.path().join("store/slot-1.json").exists()), (1, true));
    slot.release().unwrap();
}

/// The parent's thread is not there in the child, which has a lease of its own to keep alive.
#[test]
fn a_lease_of_a_fork_is_kept_alive() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("pool.json");
    fs::write(&file, r#"{"slots":[{"id":1}],"ttlMinutes":0.02}"#).unwrap();
    let request = || lease_harness::SlotRequest::from_file(&file).store(temp.path().join("store"));
    request().acquire().unwrap().release().unwrap();
    // SAFETY: the child runs on the only thread that uses the library here, so that none can have held a lock of it.
    let fork = unsafe { libc::fork() };
    if fork == 0 {
        let record = temp.path().join("store/slot-1.json");
        let is_kept = request().acquire().is_ok_and(|slot| {
            let first = fs::read(&record).unwrap_or_default();
            // Twenty lifetimes; a lease that nobody keeps alive is gone after one, and a loss ends this process.
            let is_renewed = (0..2_400).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                fs::read(&record).is_ok_and(|now| now != first)
            });
            slot.release().is_ok() && is_renewed
        });
        // SAFETY: nothing of the parent's is run at exit.
        unsafe { libc::_exit(i32::from(!is_kept)) };
    }
    let mut status = -1;
    // SAFETY: it is our child, and nobody else waits for it.
    assert_eq!(unsafe { libc::waitpid(fork, &raw mut status, 0) }, fork);
    assert_eq!(status, 0);
}
