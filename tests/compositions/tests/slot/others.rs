//! test-log, serial_test, test-context.

use lease_harness::{Slot, leased_slot};
use serial_test::serial;
use test_context::{TestContext, test_context};

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
