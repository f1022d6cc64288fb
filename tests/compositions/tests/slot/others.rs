//! test-log, serial_test, test-context.

use lease_harness::{Slot, leased_slot};
use serial_test::serial;
use test_context::{AsyncTestContext, TestContext, test_context};

use crate::alone_in;

#[leased_slot(pool = "pool.json")]
#[test_log::test]
fn logged(slot: Slot) {
    let _alone = alone_in(&slot);
}

#[leased_slot(pool = "pool.json")]
#[test]
#[serial(with_a_slot)]
fn serial_above(slot: Slot) {
    let _alone = alone_in(&slot);
}

struct Seven(u8);

impl TestContext for Seven {
    fn setup() -> Self {
        Self(7)
    }
}

#[leased_slot(pool = "pool.json")]
#[test_context(Seven)]
#[test]
fn in_a_context(slot: Slot, context: &mut Seven) {
    let _alone = alone_in(&slot);
    assert_eq!(context.0, 7);
}

struct Eight(u8);

impl AsyncTestContext for Eight {
    async fn setup() -> Self {
        tokio::task::yield_now().await;
        Self(8)
    }
}

#[leased_slot(pool = "pool.json")]
#[test_context(Eight)]
#[tokio::test]
async fn in_an_async_context(context: &mut Eight, slot: &Slot) {
    let _alone = alone_in(slot);
    tokio::task::yield_now().await;
    assert_eq!(context.0, 8);
}

/// test-context takes its parameter and leaves the slot's to us: then set-up is inside of the lease.
#[test_context(Seven)]
#[leased_slot(pool = "pool.json")]
#[test]
fn around_a_context(slot: Slot, context: &Seven) {
    let _alone = alone_in(&slot);
    assert_eq!(context.0, 7);
}

#[leased_slot(pool = "pool.json")]
#[test_log::test(tokio::test)]
async fn logged_async(slot: Slot) {
    let _alone = alone_in(&slot);
    tokio::task::yield_now().await;
}

#[leased_slot(pool = "pool.json")]
#[tokio::test]
#[serial(with_a_slot)]
async fn serial_async(slot: &Slot) -> Result<(), String> {
    let _alone = alone_in(slot);
    tokio::task::yield_now().await;
    Ok(())
}
