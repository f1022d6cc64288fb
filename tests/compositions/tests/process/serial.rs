//! serial_test. Which lock is taken first follows the order; one order in one suite, or two tests wait for each other.

use lease_harness::leased_slot;
use serial_test::serial;

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
