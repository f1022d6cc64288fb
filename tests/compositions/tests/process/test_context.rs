//! test-context. Below it and `#[test]`, set-up and tear-down are inside the lease; above, they are outside.

use lease_compositions::Alone;
use lease_harness::leased_slot;
use test_context::{TestContext, test_context};

use crate::alone_in_the_slot;

struct Inside(Alone);

impl TestContext for Inside {
    fn setup() -> Self {
        Self(alone_in_the_slot())
    }
}

struct Outside(u8);

impl TestContext for Outside {
    fn setup() -> Self {
        Self(7)
    }
}

#[test_context(Inside)]
#[test]
#[leased_slot(pool = "pool.json")]
fn below(context: &mut Inside) {
    let Alone { .. } = &context.0;
}

#[leased_slot(pool = "pool.json")]
#[test_context(Outside)]
#[test]
fn above(context: &mut Outside) {
    let _alone = alone_in_the_slot();
    assert_eq!(context.0, 7);
}
