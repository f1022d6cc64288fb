//! smol. The attribute stands above `#[apply(test!)]`, to which every parameter is an executor.

use lease_harness::{Slot, SlotRequest, leased_slot};
use macro_rules_attribute::apply;
use smol_macros::{Executor, test};

use crate::alone_in;

#[leased_slot(pool = "pool.json")]
#[apply(test!)]
async fn above(slot: Slot) {
    let _alone = alone_in(&slot);
    smol::future::yield_now().await;
}

#[leased_slot(pool = "pool.json")]
#[apply(test!)]
async fn beside_an_executor(executor: &Executor<'_>, slot: &Slot) -> Result<(), String> {
    let _alone = alone_in(slot);
    executor.spawn(smol::future::yield_now()).await;
    Ok(())
}

#[leased_slot(pool = "pool.json")]
#[test]
fn block_on(slot: Slot) {
    smol::block_on(async {
        let _alone = alone_in(&slot);
        smol::future::yield_now().await;
    });
}

#[leased_slot(pool = "pool.json")]
async fn helper(slot: Slot, number: u8) -> u8 {
    let _alone = alone_in(&slot);
    smol::future::yield_now().await;
    number
}

/// More than the pool has, on one thread: whoever waits for a slot must leave the thread to those that have one.
#[apply(test!)]
async fn waiting_leaves_the_thread_to_others() {
    let all = smol::future::zip(helper(1), smol::future::zip(helper(2), helper(3)));
    assert_eq!(all.await, (1, (2, 3)));
}

#[apply(test!)]
async fn without_the_attribute() {
    let request = SlotRequest::from_file(concat!(env!("CARGO_MANIFEST_DIR"), "/pool.json"));
    if std::env::var_os("LEASE_GRANTS").is_some() {
        return; // Under an outer grant others have their turns on it.
    }
    let slot = request.acquire_async().await.unwrap();
    drop(alone_in(&slot));
    slot.release().unwrap();
}
