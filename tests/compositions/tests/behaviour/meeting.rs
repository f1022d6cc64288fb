//! Tests of one process hold as many slots at once as the pool has, and no more.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};

use lease_harness::{Slot, leased_slot};

use crate::program::{NONE, PATIENCE, Package, code, said, verdicts};

/// Set to the number of tests that meet.
const N_MEET: &str = "SCENARIO_N_MEET";

/// The slots that are held, and whether so many were held at once.
struct Meeting {
    held: BTreeSet<String>,
    has_met: bool,
}

static MEETING: Mutex<Meeting> = Mutex::new(Meeting { held: BTreeSet::new(), has_met: false });
static CHANGED: Condvar = Condvar::new();

/// Goes on when so many tests are inside, each with a slot that no other has.
fn meet(slot: &Slot) {
    let Ok(n_meet) = std::env::var(N_MEET) else { return };
    let n_meet: usize = n_meet.parse().unwrap();
    let mut meeting = MEETING.lock().unwrap();
    assert!(meeting.held.insert(slot.id().to_owned()), "two tests with slot {}", slot.id());
    assert!(meeting.held.len() <= n_meet, "{:?}", meeting.held);
    meeting.has_met |= meeting.held.len() == n_meet;
    CHANGED.notify_all();
    let (mut meeting, waited) = CHANGED.wait_timeout_while(meeting, PATIENCE / 4, |meeting| !meeting.has_met).unwrap();
    meeting.held.remove(slot.id());
    drop(meeting);
    assert!(!waited.timed_out(), "they do not meet");
}

macro_rules! tests_that_meet {
    ($($name:ident)*; $($async_name:ident)*) => {
        $(
            #[leased_slot(pool = "behaviour.json")]
            #[test]
            fn $name(slot: Slot) {
                meet(&slot);
            }
        )*
        $(
            #[leased_slot(pool = "behaviour.json")]
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $async_name(slot: &Slot) {
                tokio::task::block_in_place(|| meet(slot));
            }
        )*
    };
}

tests_that_meet!(meets_1 meets_2 meets_3 meets_4; meets_5_async meets_6_async meets_7_async meets_8_async);

#[track_caller]
fn check(n_slots: usize, filter: &[&str], n_tests: usize) {
    let slots: Vec<_> = (0..n_slots).map(|id| format!(r#"{{"id": "{id}"}}"#)).collect();
    let package = Package::with_pool(&format!(r#"{{"name": "behaviour", "slots": [{}]}}"#, slots.join(", ")));
    let mut program = package.program(&["--test-threads", "8", "meeting::meets"]);
    let output = program.args(filter).env(N_MEET, n_slots.to_string()).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    assert_eq!((verdicts(&output).len(), package.n_grants()), (n_tests, n_tests), "{}", said(&output));
    assert_eq!(package.held(), NONE);
}

#[test]
fn as_many_at_once_as_the_pool_has() {
    check(8, &[], 8);
    check(4, &["--skip", "async"], 4);
    check(4, &["--skip", "_1", "--skip", "_2", "--skip", "_3", "--skip", "_4"], 4);
}

#[test]
fn more_tests_than_slots() {
    check(4, &[], 8);
    check(2, &[], 8);
}
