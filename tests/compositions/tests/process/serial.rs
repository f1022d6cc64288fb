//! serial_test. Which lock is taken first follows the order; one order in one suite, or two tests wait for each other.

use lease_harness::leased_slot;
use serial_test::{parallel, serial};

use crate::alone_in_the_slot;

#[leased_slot(pool = "pool.json")]
#[test]
#[serial(slot_first)]
fn slot_first() {
    let _alone = alone_in_the_slot();
}

#[test]
#[serial(serial_first)]
#[leased_slot(pool = "pool.json")]
fn serial_first() {
    let _alone = alone_in_the_slot();
}

#[leased_slot(pool = "pool.json")]
#[tokio::test]
#[serial(async_test)]
async fn with_tokio() {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
}

#[tokio::test]
#[serial(async_test)]
#[leased_slot(pool = "pool.json")]
async fn below_with_tokio() -> Result<(), std::env::VarError> {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
    std::env::var("POOL_SLOT_ID").map(drop)
}

#[leased_slot(pool = "pool.json")]
#[test]
#[parallel(slot_first)]
fn parallel_to_others() {
    let _alone = alone_in_the_slot();
}
