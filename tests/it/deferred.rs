//! Deferred requests through the library: who keeps a granted lease alive, who is told what, and how a request ends.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use lease_harness::SlotError;
use lease_harness::harness::detached::{Deferred, wait_for_claim};
use lease_harness::json::Json;
use lease_harness::pool::{Cancelled, Claimed, Outcome, Pool, PoolFile, PoolOptions, SlotWanted, Tended, Wait};
use lease_harness::store::{AcquireRequest, Acquired, Clock, LeaseStore, Refreshed, Released, StoreOptions};
use lease_tests::wait;
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use rustix::process::Pid;

/// Longer than a test takes; shorter than the wait for one that fails.
const LONG: Duration = Duration::from_secs(60);

fn open(dir: &Path, file: &str) -> Pool {
    let file = PoolFile::parse(file, &dir.join("pool.json")).expect("the pool file is right");
    let store = StoreOptions { store: Some(dir.join("store")), ..StoreOptions::default() };
    let store = LeaseStore::open(&store).expect("a store in a temporary folder opens");
    Pool::open(file, store, PoolOptions::default()).expect("no options")
}

fn one_slot(dir: &Path) -> Pool {
    open(dir, r#"{"slots":[{"id":1,"port":3001}]}"#)
}

type Waiter<'scope> = std::thread::ScopedJoinHandle<'scope, Result<Deferred, SlotError>>;

/// The id of a request that a thread of `scope` waits for, and what becomes of it.
fn request<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    pool: &'scope Pool,
    claim_within: Duration,
) -> (String, Waiter<'scope>) {
    let (announce, announced) = mpsc::channel();
    let waiter = scope.spawn(move || {
        let wanted = SlotWanted { session: Some("s1"), ..SlotWanted::by("acme") };
        let told = |requested: &lease_harness::pool::Requested| {
            announce.send(requested.request_id.clone()).expect("somebody listens");
            Ok(())
        };
        wait_for_claim(pool, &wanted, Some(claim_within), told)
    });
    (announced.recv().expect("it is announced"), waiter)
}

/// What became of a request that was not cancelled in the middle of its being granted.
fn ended(waiter: Waiter<'_>) -> Deferred {
    waiter.join().unwrap().expect("the pool is usable")
}

fn claim(pool: &Pool, id: &str) -> Claimed {
    pool.claim(id, "acme").expect("the store is usable")
}

fn claim_when_ready(pool: &Pool, id: &str) -> Json {
    wait::until("the request is granted", || match claim(pool, id) {
        Claimed::Ready(grant) => Some(grant),
        Claimed::Queued { .. } => None,
        other => panic!("{other:?}"),
    })
}

fn token(grant: &Json) -> &str {
    grant.get("token").and_then(Json::as_str).expect("a grant has a token")
}

fn payload(pool: &Pool) -> Json {
    let record = fs::read(pool.store().dir().join("slot-1.json")).expect("the slot is held");
    Json::parse_bytes(&record).expect("a record").get("payload").cloned().expect("a payload")
}

fn is_granted(pool: &Pool, id: &str) -> bool {
    pool.dir().join("grants").join(format!("{id}.json")).exists()
}

fn journal(pool: &Pool) -> String {
    fs::read_to_string(pool.dir().join("pool.log")).unwrap_or_default()
}

#[test]
fn a_claim_takes_over_the_duty_to_keep_the_lease_alive() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &one_slot(temp.path());
    std::thread::scope(|scope| {
        let (id, waiter) = request(scope, pool, LONG);
        wait::until_true("it is granted", || is_granted(pool, &id));
        assert!(payload(pool).get("alive").is_some(), "the waiter's life is what holds the slot");
        let grant = claim_when_ready(pool, &id);
        assert_eq!(ended(waiter), Deferred::Granted(Tended::HandedOver));
        assert!(payload(pool).get("alive").is_none(), "the slot does not end with its waiter");
        assert_eq!(claim_when_ready(pool, &id).to_text(), grant.to_text(), "as often as asked");
        let slot = pool.slot(grant.get("slot_id")).unwrap();
        assert!(matches!(pool.heartbeat(slot, "acme", token(&grant)).unwrap(), Refreshed::Refreshed { .. }));
        assert!(pool.release(slot, "acme", token(&grant)).unwrap().is_ok());
        assert!(matches!(claim(pool, &id), Claimed::LeaseLost { .. }));
    });
}

#[test]
fn a_claim_takes_over_also_where_the_waiters_proof_of_life_cannot_be_seen() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &one_slot(temp.path());
    std::thread::scope(|scope| {
        let (id, waiter) = request(scope, pool, LONG);
        wait::until_true("it is granted", || is_granted(pool, &id));
        let proof = payload(pool).get("alive").and_then(Json::as_str).expect("it names its waiter").to_owned();
        fs::remove_file(pool.store().dir().join(".alive").join(proof)).unwrap();
        claim_when_ready(pool, &id);
        // Else it would give the slot back under its owner when the time to claim it is over.
        assert!(payload(pool).get("claimedAt").is_some());
        assert_eq!(waiter.join().unwrap().unwrap(), Deferred::Granted(Tended::HandedOver));
    });
}

#[test]
fn a_grant_that_nobody_claims_is_given_back_and_the_journal_says_why() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &one_slot(temp.path());
    std::thread::scope(|scope| {
        let (id, waiter) = request(scope, pool, Duration::from_millis(20));
        assert_eq!(ended(waiter), Deferred::Granted(Tended::GivenBack));
        assert!(!pool.store().dir().join("slot-1.json").exists());
        assert!(matches!(claim(pool, &id), Claimed::LeaseLost { .. }));
        let told = journal(pool);
        assert!(told.contains("grant_unclaimed") && told.contains("nobody claimed it within 0.02 s"), "{told}");
    });
}

#[test]
fn a_heartbeat_of_a_program_that_knows_no_proofs_of_life_is_a_claim() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &one_slot(temp.path());
    let theirs = StoreOptions { store: Some(pool.store().dir().to_owned()), additions: false, ..StoreOptions::default() };
    let theirs = LeaseStore::open(&theirs).unwrap();
    std::thread::scope(|scope| {
        let (id, waiter) = request(scope, pool, LONG);
        wait::until_true("it is granted", || is_granted(pool, &id));
        let grant = Json::parse_bytes(&fs::read(pool.dir().join(format!("grants/{id}.json"))).unwrap()).unwrap();
        // The waiter's first own beat may come after the grant; theirs go on as long as they hold the slot.
        let beaten = wait::until("the waiter has let go", || {
            let beaten = theirs.heartbeat("slot-1", "acme", token(&grant)).expect("the store is usable");
            waiter.is_finished().then_some(beaten)
        });
        assert!(matches!(beaten, Refreshed::Refreshed { .. }));
        assert_eq!(ended(waiter), Deferred::Granted(Tended::HandedOver));
        assert!(matches!(theirs.release("slot-1", "acme", token(&grant)).unwrap(), Released::Released { .. }));
    });
}

#[test]
fn others_see_where_a_request_stands_and_never_its_token() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &one_slot(temp.path());
    let Outcome::Granted(held) = pool.acquire(&SlotWanted::by("first"), &mut |_| true).unwrap() else { panic!("it is free") };
    std::thread::scope(|scope| {
        let (id, waiter) = request(scope, pool, LONG);
        let other = pool.claim(&id, "mallory").unwrap();
        assert!(matches!(other, Claimed::Queued { position: 1, .. }), "{other:?}");
        let first = held.grant().clone();
        drop(held);
        pool.release(first.slot(), "first", first.token()).unwrap();
        wait::until_true("it is granted", || is_granted(pool, &id));
        let other = pool.claim(&id, "mallory").unwrap();
        let text = other.to_json().to_text();
        assert_eq!(text, format!(r#"{{"ok":false,"code":"not_owner","request_id":"{id}","holder":"acme"}}"#));
        assert!(!waiter.is_finished(), "only its owner takes over");
        assert!(matches!(pool.cancel(&id, "mallory").unwrap(), Cancelled::Not(Claimed::NotOwner { .. })));
        assert!(pool.cancel(&id, "acme").unwrap().is_ok());
        ended(waiter);
    });
}

#[test]
fn an_id_that_is_no_uuid_is_an_unknown_request() {
    let temp = tempfile::tempdir().unwrap();
    let pool = one_slot(temp.path());
    fs::create_dir_all(pool.dir().join("grants")).unwrap();
    fs::write(pool.dir().join("queue.json"), r#"{"entries":[{"id":"../x","owner":"acme"}]}"#).unwrap();
    fs::write(pool.dir().join("grants/req-a.json"), r#"{"ok":false,"state":"reset_failed"}"#).unwrap();
    for id in ["../queue", "../../slot-1", "../x", "req-a", "", "/etc/passwd"] {
        assert_eq!(claim(&pool, id), Claimed::Unknown { request_id: id.to_owned() });
        assert!(!pool.cancel(id, "acme").unwrap().is_ok());
    }
}

#[test]
fn a_cancelled_request_leaves_the_queue_and_its_waiter_ends() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &one_slot(temp.path());
    let Outcome::Granted(_held) = pool.acquire(&SlotWanted::by("first"), &mut |_| true).unwrap() else { panic!("it is free") };
    std::thread::scope(|scope| {
        let (id, waiter) = request(scope, pool, LONG);
        assert_eq!(pool.cancel(&id, "acme").unwrap(), Cancelled::Dequeued { request_id: id.clone() });
        assert_eq!(ended(waiter), Deferred::NotGranted);
        assert!(matches!(claim(pool, &id), Claimed::Unknown { .. }));
        assert!(pool.status().unwrap().queue.is_empty());
        assert!(journal(pool).contains("request_cancelled"));
    });
}

#[test]
fn a_granted_request_is_given_back_when_it_is_cancelled() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &one_slot(temp.path());
    std::thread::scope(|scope| {
        let (id, waiter) = request(scope, pool, LONG);
        wait::until_true("it is granted", || is_granted(pool, &id));
        let cancelled = pool.cancel(&id, "acme").unwrap().to_json().to_text();
        assert_eq!(cancelled, format!(r#"{{"ok":true,"code":"cancelled","request_id":"{id}","slot_id":1}}"#));
        assert_eq!(ended(waiter), Deferred::Granted(Tended::Lost));
        assert!(!pool.store().dir().join("slot-1.json").exists());
    });
}

#[test]
fn a_request_cancelled_while_its_slot_is_made_ready_ends_the_command_first() {
    let temp = tempfile::tempdir().unwrap();
    // It would never end by itself.
    let provision = "echo $$ > starting; mv starting pid; exec tail -f /dev/null";
    let file = format!(r#"{{"slots":[{{"id":1}}],"provision":{}}}"#, Json::from(provision).to_text());
    let pool = &open(temp.path(), &file);
    std::thread::scope(|scope| {
        let (announce, announced) = mpsc::channel();
        let waiter = scope.spawn(move || {
            wait_for_claim(pool, &SlotWanted::by("acme"), None, |requested| {
                announce.send(requested.request_id.clone()).expect("somebody listens");
                Ok(())
            })
        });
        let id = announced.recv().unwrap();
        let command = wait::until("the slot is being made ready", || fs::read_to_string(temp.path().join("pid")).ok());
        assert!(matches!(claim(pool, &id), Claimed::Queued { position: 0, .. }), "neither queued nor granted is not unknown");
        assert!(pool.cancel(&id, "acme").unwrap().is_ok());
        assert_eq!(waiter.join().unwrap().expect("the pool is usable"), Deferred::NotGranted);
        assert!(journal(pool).contains("grant_cancelled"), "{}", journal(pool));
        assert!(!pool.store().dir().join("slot-1.json").exists());
        // The next one finds nobody at work.
        let command = Pid::from_raw(command.trim().parse().expect("a number")).expect("a process");
        assert_eq!(rustix::process::test_kill_process(command), Err(Errno::SRCH));
    });
}

#[test]
fn a_nudge_tells_the_session_and_its_failure_changes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &open(temp.path(), r#"{"slots":[{"id":1}],"nudgeCommand":"cat > nudge; exit 3","nudgeEvent":"your-turn"}"#);
    std::thread::scope(|scope| {
        let (id, waiter) = request(scope, pool, LONG);
        let grant = claim_when_ready(pool, &id);
        ended(waiter);
        let line = format!(r#"{{"event":"your-turn","session":"s1","request_id":"{id}","grant":{}}}"#, grant.to_text());
        assert_eq!(fs::read_to_string(temp.path().join("nudge")).unwrap(), line);
        assert_eq!(fs::read_to_string(pool.dir().join("nudges.jsonl")).unwrap(), format!("{line}\n"));
        assert!(journal(pool).contains("nudge_failed"), "{}", journal(pool));
    });
}

#[test]
fn a_waiter_that_gives_up_is_never_granted() {
    let temp = tempfile::tempdir().unwrap();
    let pool = one_slot(temp.path());
    let Outcome::Granted(held) = pool.acquire(&SlotWanted::by("first"), &mut |_| true).unwrap() else { panic!("it is free") };
    let wanted = SlotWanted { wait: Wait::For(Duration::from_millis(20)), ..SlotWanted::by("acme") };
    assert_eq!(wait_for_claim(&pool, &wanted, None, |_| Ok(())).unwrap(), Deferred::NotGranted);
    let unheard = |_: &_| Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    assert!(wait_for_claim(&pool, &wanted, None, unheard).is_err(), "nobody knows of it");
    assert!(pool.status().unwrap().queue.is_empty());
    assert!(journal(&pool).contains(r#""reason":"timeout""#), "{}", journal(&pool));
    drop(held);
}

#[test]
fn a_slot_that_another_program_makes_ready_is_not_taken_from_under_its_command() {
    let temp = tempfile::tempdir().unwrap();
    let id = "0b54f6a4-5a4b-4c4e-9d0a-3f5d5c9c8a11";
    let options = StoreOptions { store: Some(temp.path().join("store")), additions: false, ..StoreOptions::default() };
    let theirs = LeaseStore::open(&options).unwrap();
    let payload = Json::parse(&format!(r#"{{"requestId":"{id}","session":"s1","mode":"async"}}"#)).unwrap();
    let lease = AcquireRequest { kind: "slot-1", owner: "acme", ttl_minutes: 5.0, payload };
    let Acquired::Acquired { record, .. } = theirs.acquire(&lease).unwrap() else { panic!("it is free") };
    // Whoever reads the clock so often has looked at the lease, and waits. Then their command fails.
    let (tell, told) = mpsc::channel();
    let (readings, token) = (AtomicUsize::new(0), record.token().expect("it has one").to_owned());
    let clock = Clock::from_fn(move || {
        if readings.fetch_add(1, Ordering::SeqCst) == 10 {
            tell.send(theirs.release("slot-1", "acme", &token).expect("the store is usable")).expect("somebody listens");
        }
        Clock::system().now_ms()
    });
    let store = LeaseStore::open(&StoreOptions { additions: true, clock, ..options }).unwrap();
    let file = PoolFile::parse(r#"{"slots":[{"id":1}]}"#, &temp.path().join("pool.json")).unwrap();
    let pool = Pool::open(file, store, PoolOptions::default()).unwrap();
    assert!(pool.cancel(id, "acme").unwrap().is_ok());
    let released = told.try_recv().expect("they came to it");
    assert!(matches!(released, Released::Released { .. }), "{released:?}");
}

#[test]
fn a_waiter_that_cannot_go_on_says_why_in_the_journal() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &one_slot(temp.path());
    let Outcome::Granted(_held) = pool.acquire(&SlotWanted::by("first"), &mut |_| true).unwrap() else { panic!("it is free") };
    let (queue, folder) = (pool.dir().join("queue.json"), temp.path().join("folder"));
    fs::create_dir(&folder).unwrap();
    let put_in_the_way =
        |_: &lease_harness::pool::Requested| Ok(rustix::fs::renameat_with(CWD, &folder, CWD, &queue, RenameFlags::EXCHANGE)?);
    wait_for_claim(pool, &SlotWanted::by("acme"), None, put_in_the_way).expect_err("a folder is no queue");
    let told = journal(pool);
    assert!(told.contains("request_not_granted") && told.contains("queue.json"), "{told}");
}

#[test]
fn a_cancelled_request_is_never_granted_whenever_it_is_cancelled() {
    let temp = tempfile::tempdir().unwrap();
    let pool = &one_slot(temp.path());
    for _ in 0..100 {
        std::thread::scope(|scope| {
            let (id, waiter) = request(scope, pool, LONG);
            let cancelled = pool.cancel(&id, "acme").unwrap();
            assert!(cancelled.is_ok(), "{cancelled:?}");
            assert_ne!(waiter.join().unwrap().expect("the pool is usable"), Deferred::Granted(Tended::HandedOver));
        });
        assert!(!pool.store().dir().join("slot-1.json").exists());
        assert!(pool.status().unwrap().queue.is_empty());
    }
}
