//! Async tests.

use std::future::Future as _;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use lease_harness::{Slot, SlotRequest, leased_slot};

use crate::alone_in;

#[leased_slot(pool = "pool.json")]
#[tokio::test]
async fn above(slot: Slot) {
    let _alone = alone_in(&slot);
    tokio::task::yield_now().await;
}

#[leased_slot(pool = "pool.json")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_threads(slot: &Slot) -> Result<(), String> {
    let _alone = alone_in(slot);
    tokio::spawn(tokio::task::yield_now()).await.unwrap();
    Ok(())
}

#[leased_slot(pool = "pool.json")]
#[tokio::test]
#[should_panic(expected = "on purpose")]
async fn should_panic(slot: Slot) {
    let _alone = alone_in(&slot);
    tokio::task::yield_now().await;
    panic!("on purpose");
}

#[leased_slot(pool = "pool.json")]
async fn helper(slot: Slot, number: u8) -> u8 {
    let _alone = alone_in(&slot);
    tokio::task::yield_now().await;
    number
}

/// More than the pool has, on one thread: whoever waits for a slot must leave the thread to those that have one.
#[tokio::test]
async fn waiting_leaves_the_thread_to_others() {
    assert_eq!(tokio::join!(helper(1), helper(2), helper(3), helper(4)), (1, 2, 3, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leased_future_can_be_sent() {
    let (one, other) = (tokio::spawn(helper(1)), tokio::spawn(helper(2)));
    assert_eq!((one.await.unwrap(), other.await.unwrap()), (1, 2));
}

/// A future that is given up while it waits leaves the queue, and is not granted a slot later.
#[tokio::test]
async fn given_up_while_waiting() {
    #[leased_slot(pool = "given_up.json")]
    async fn helper(slot: Slot) -> Slot {
        slot
    }
    let request = || SlotRequest::from_file(concat!(env!("CARGO_MANIFEST_DIR"), "/given_up.json"));
    let taken = helper().await;
    let mut waiting = Box::pin(helper());
    until(|| {
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        request().status().unwrap().queue.len() == 1
    });
    drop(waiting);
    until(|| request().status().unwrap().queue.is_empty());
    taken.release().unwrap();
    assert!(!helper().await.is_joined());
}

/// Looks until it is so.
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(240), "it does not come to that");
        std::thread::sleep(Duration::from_millis(5));
    }
}
