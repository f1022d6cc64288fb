//! What lies in the place of a file of the store is never taken for what it is not, and makes nobody wait for ever.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use lease_harness::json::Json;
use lease_harness::pool::{Mode, Outcome, Pool, PoolFile, PoolFileErrorKind, PoolOptions, SlotWanted, Wait};
use lease_harness::store::{AcquireRequest, Acquired, LeaseStore, Reaped, Released, StoreOptions};
use rustix::fs::{CWD, FileType, mknodat};

const ID: &str = "6b2a0f0e-3b57-4c56-9df6-0e5f6a1d2c3b";

fn store(dir: &Path) -> LeaseStore {
    let options = StoreOptions { store: Some(dir.to_owned()), ..StoreOptions::default() };
    LeaseStore::open(&options).expect("a store in a temporary folder opens")
}

fn pool(dir: &Path) -> Pool {
    let file = PoolFile::parse(r#"{"slots":[{"id":1}]}"#, &dir.join("pool.json")).expect("the pool file is right");
    Pool::open(file, store(&dir.join("store")), PoolOptions::default()).expect("the options are right")
}

/// A pipe that nobody writes to: who opens it for reading waits for ever.
fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().expect("a path in the store")).expect("the store is writable");
    let _ = fs::remove_file(path);
    mknodat(CWD, path, FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0).expect("the store is writable");
}

fn take(pool: &Pool) -> Result<Outcome, lease_harness::pool::PoolError> {
    pool.acquire(&SlotWanted { wait: Wait::No, ..SlotWanted::by("acme") }, &mut |_| true)
}

fn give_back(pool: &Pool, outcome: Outcome) {
    let Outcome::Granted(held) = outcome else { panic!("{outcome:?}") };
    let (slot, token) = (held.grant().slot().clone(), held.grant().token().to_owned());
    drop(held);
    pool.release(&slot, "acme", &token).expect("the store is usable");
}

#[test]
fn a_pipe_in_the_place_of_a_document_is_an_error_that_names_it() {
    for name in ["slot-1.json", "pool/queue.json", "pool/.pool.json", ".fence/slot-1"] {
        let temp = tempfile::tempdir().unwrap();
        let pool = pool(temp.path());
        pipe(&pool.store().dir().join(name));
        let error = take(&pool).unwrap_err();
        let said = format!("{error}: {:?}", std::error::Error::source(&error));
        assert!(said.contains(name), "{name}: {said}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_journal_costs_its_lines_and_no_slot() {
    let temp = tempfile::tempdir().unwrap();
    let pool = pool(temp.path());
    for name in ["pool/pool.log", "reaped.log"] {
        pipe(&pool.store().dir().join(name));
    }
    give_back(&pool, take(&pool).unwrap());
}

#[test]
fn what_cannot_be_cleared_away_costs_no_slot() {
    let temp = tempfile::tempdir().unwrap();
    let pool = pool(temp.path());
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(48 * 3600);
    for name in [".tmp-slot-1-x", "pool/.tmp-x", "pool/grants/x.json", ".alive/.new-x", ".alive/x"] {
        let folder = pool.store().dir().join(name);
        fs::create_dir_all(folder.join("full")).unwrap();
        fs::File::open(&folder).unwrap().set_modified(long_ago).unwrap();
    }
    // A dead lease, so that there is something to clear away.
    fs::write(pool.store().dir().join("slot-1.json"), "{}").unwrap();
    give_back(&pool, take(&pool).unwrap());
    fs::remove_dir_all(pool.dir().join("grants")).unwrap();
    fs::write(pool.dir().join("grants"), "no folder").unwrap();
    let error = take(&pool).unwrap_err();
    assert!(error.to_string().contains("store") && pool.store().list().unwrap().is_empty(), "{error}");
}

#[test]
fn a_pool_file_that_is_no_file_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let (waits, never_ends) = (temp.path().join("waits.json"), temp.path().join("never-ends.json"));
    pipe(&waits);
    symlink("/dev/zero", &never_ends).unwrap();
    for path in [waits, never_ends] {
        let error = PoolFile::load(&path).unwrap_err();
        assert_eq!(error.kind(), PoolFileErrorKind::Read);
        assert!(error.to_string().contains("it is no file"), "{error}");
    }
}

#[test]
fn a_deeply_nested_record_is_a_lease_like_any_other() {
    // Deeper than any stack that a parser by recursion would have.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let temp = tempfile::tempdir().unwrap();
    let pool = pool(temp.path());
    let store = pool.store();
    store.create().unwrap();
    let record = format!(
        r#"{{"v":1,"kind":"slot-1","owner":"acme","token":"{ID}","heartbeat":"2099-01-01T00:00:00.000Z","ttlMinutes":30,"payload":{deep}}}"#
    );
    fs::write(store.dir().join("slot-1.json"), record).unwrap();
    assert_eq!(store.status("slot-1").unwrap().state(), "held");
    let request = AcquireRequest { kind: "slot-1", owner: "acme", ttl_minutes: 30.0, payload: Json::Null };
    assert!(matches!(store.acquire(&request).unwrap(), Acquired::Held { .. }));
    assert!(matches!(store.reap("slot-1").unwrap(), Reaped::Held { .. }));
    assert!(matches!(take(&pool).unwrap(), Outcome::Saturated { .. }));
    assert!(matches!(store.release("slot-1", "acme", ID).unwrap(), Released::Released { was_expired: false, .. }));
    // Who waits may say as much of himself, and keeps his place.
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let entry = format!(r#"{{"id":"r1","owner":"acme","mode":"blocking","heartbeat":"2099-01-01T00:00:00.000Z","deep":{deep}}}"#);
    fs::write(pool.dir().join("queue.json"), format!(r#"{{"entries":[{entry}]}}"#)).unwrap();
    assert_eq!(pool.enqueue("acme", None, Mode::Blocking).unwrap().position, 2);
    let queue = Json::parse(&fs::read_to_string(pool.dir().join("queue.json")).unwrap()).unwrap();
    let entries = queue.get("entries").and_then(Json::as_array).unwrap();
    assert_eq!(entries[0].get("deep").map(Json::to_text), Some(deep));
}

/// A full disk has no place for one.
#[test]
fn a_release_needs_no_proof_of_life() {
    let temp = tempfile::tempdir().unwrap();
    let plain = StoreOptions { store: Some(temp.path().to_owned()), additions: false, ..StoreOptions::default() };
    let request = AcquireRequest { kind: "k", owner: "acme", ttl_minutes: 30.0, payload: Json::Null };
    let Acquired::Acquired { record, .. } = LeaseStore::open(&plain).unwrap().acquire(&request).unwrap() else {
        panic!("the store is empty");
    };
    fs::write(temp.path().join(".alive"), "no folder").unwrap();
    let released = store(temp.path()).release("k", "acme", record.token().unwrap()).unwrap();
    assert!(matches!(released, Released::Released { .. }), "{released:?}");
}

#[test]
fn what_is_no_file_proves_nobodys_death() {
    for make in [|path: &Path| fs::create_dir(path).unwrap(), |path: &Path| symlink("/dev/null", path).unwrap(), pipe] {
        let temp = tempfile::tempdir().unwrap();
        let store = store(temp.path());
        fs::create_dir_all(temp.path().join(".alive")).unwrap();
        make(&temp.path().join(".alive").join(ID));
        let named = lease_harness::json::object([("alive", Json::from(ID))]);
        let acquire = |payload| {
            store.acquire(&AcquireRequest { kind: "k", owner: "acme", ttl_minutes: 30.0, payload }).expect("the store is usable")
        };
        assert!(matches!(acquire(named), Acquired::Acquired { .. }));
        assert!(matches!(acquire(Json::Null), Acquired::Held { .. }));
    }
}
