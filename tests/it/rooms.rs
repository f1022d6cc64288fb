//! The room by which a process enters critical sections: it leaves it to the next one, as long as nothing speaks against that.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use lease_harness::json::Json;
use lease_harness::store::{AcquireRequest, Acquired, Clock, LeaseStore, StoreOptions};

const NOW_MS: i64 = 1_790_000_000_000;
const FIRST: &str = ".idle-room-0";

/// Takes and gives back the lease of a kind by a handle of its own. Gives the inode of the guard and what its `holder.json` said:
/// a store asks its clock inside the critical section.
fn enter(dir: &Path) -> (u64, String) {
    let seen = Arc::new(Mutex::new((0, String::new())));
    let (place, noted) = (dir.join(".guard-k"), Arc::clone(&seen));
    let clock = Clock::from_fn(move || {
        if let Ok(found) = fs::metadata(&place) {
            *noted.lock().unwrap() = (found.ino(), fs::read_to_string(place.join("holder.json")).unwrap());
        }
        NOW_MS
    });
    let store = LeaseStore::open(&StoreOptions { store: Some(dir.to_owned()), clock, ..StoreOptions::default() }).unwrap();
    take(&store);
    drop(store);
    let seen = seen.lock().unwrap();
    seen.clone()
}

fn take(store: &LeaseStore) {
    let request = AcquireRequest { kind: "k", owner: "acme", ttl_minutes: 30.0, payload: Json::Null };
    let Acquired::Acquired { record, .. } = store.acquire(&request).unwrap() else { panic!("nobody has it") };
    store.release("k", "acme", record.token().unwrap()).unwrap();
}

/// The names in the store that are rooms or guards, sorted.
fn rooms(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut rooms: Vec<_> = names.filter(|name| name.contains("room") || name.starts_with(".guard-")).collect();
    rooms.sort();
    rooms
}

/// It names who is inside, and nobody who was before.
#[track_caller]
fn check_named(holder: &str) {
    let parsed = Json::parse(holder).expect("it is one document, and nothing is behind it");
    assert_eq!(parsed.get("pid").and_then(Json::as_f64), Some(f64::from(std::process::id())), "{holder}");
    assert_eq!(holder, parsed.to_text(), "compact");
}

#[test]
fn who_ends_leaves_it_to_the_next_one() {
    let temp = tempfile::tempdir().unwrap();
    let (first, of_first) = enter(temp.path());
    assert_eq!(rooms(temp.path()), [FIRST]);
    let (second, of_second) = enter(temp.path());
    assert_eq!((rooms(temp.path()), first), (vec![FIRST.to_owned()], second), "it is the same folder");
    check_named(&of_first);
    check_named(&of_second);
    assert_ne!(of_first, of_second, "each entrant has an id of its own");
}

#[test]
fn nothing_of_its_former_holder_is_left_in_it() {
    let temp = tempfile::tempdir().unwrap();
    let (first, _) = enter(temp.path());
    let holder = temp.path().join(FIRST).join("holder.json");
    for text in ["", "{\"id\":", &"long".repeat(100)] {
        fs::write(&holder, text).unwrap();
        let (next, of_next) = enter(temp.path());
        assert_eq!(next, first);
        check_named(&of_next);
    }
    fs::remove_file(&holder).unwrap();
    let (next, of_next) = enter(temp.path());
    assert_eq!(next, first);
    check_named(&of_next);
}

/// As that of another user.
#[test]
fn one_that_cannot_be_made_ones_own_stays_for_others() {
    let temp = tempfile::tempdir().unwrap();
    let (first, _) = enter(temp.path());
    let holder = temp.path().join(FIRST).join("holder.json");
    fs::remove_file(&holder).unwrap();
    fs::create_dir(&holder).unwrap();
    let (next, of_next) = enter(temp.path());
    assert_ne!(next, first);
    check_named(&of_next);
    assert_eq!(rooms(temp.path()), [FIRST, ".idle-room-1"]);
    assert_eq!(enter(temp.path()).0, next, "the one behind it serves");
    assert_eq!(fs::metadata(temp.path().join(FIRST)).unwrap().ino(), first);
    // What is no folder is nobody's room either.
    fs::remove_dir(&holder).unwrap();
    fs::remove_dir(temp.path().join(FIRST)).unwrap();
    fs::write(temp.path().join(FIRST), "").unwrap();
    check_named(&enter(temp.path()).1);
    assert!(temp.path().join(FIRST).is_file());
}

#[test]
fn a_crowd_leaves_some_and_removes_the_others() {
    let temp = tempfile::tempdir().unwrap();
    let options = StoreOptions { store: Some(temp.path().to_owned()), ..StoreOptions::default() };
    let crowd: Vec<_> = (0..7).map(|_| LeaseStore::open(&options).unwrap()).collect();
    crowd.iter().for_each(take);
    assert_eq!(rooms(temp.path()).len(), 7);
    drop(crowd);
    assert_eq!(rooms(temp.path()), (0..4).map(|number| format!(".idle-room-{number}")).collect::<Vec<_>>());
}

/// Whoever clears up may take it for one of a process that is gone, and be removing it at this moment.
#[test]
fn without_a_proof_of_life_it_is_removed() {
    let temp = tempfile::tempdir().unwrap();
    let options = StoreOptions { store: Some(temp.path().to_owned()), ..StoreOptions::default() };
    let store = LeaseStore::open(&options).unwrap();
    take(&store);
    fs::remove_dir_all(temp.path().join(".alive")).unwrap();
    drop(store);
    assert_eq!(rooms(temp.path()), Vec::<String>::new());
    let without = LeaseStore::open(&StoreOptions { additions: false, ..options }).unwrap();
    take(&without);
    drop(without);
    assert_eq!(rooms(temp.path()), Vec::<String>::new(), "no addition to the format");
}
