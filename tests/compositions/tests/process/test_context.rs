//! test-context. Below it and `#[test]`, set-up and tear-down are inside the lease; above, they are outside.

use lease_compositions::Alone;
use lease_harness::leased_slot;
use test_context::{AsyncTestContext, TestContext, test_context};

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

impl AsyncTestContext for Eight {
    async fn setup() -> Self {
        tokio::task::yield_now().await;
        Self(8)
    }
}

struct Eight(u8);

#[leased_slot(pool = "pool.json")]
#[test_context(Eight)]
#[tokio::test]
async fn async_above(context: &mut Eight) {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
    assert_eq!(context.0, 8);
}

struct InsideAsync(Alone);

impl AsyncTestContext for InsideAsync {
    async fn setup() -> Self {
        Self(alone_in_the_slot())
    }

    async fn teardown(self) {
        tokio::task::yield_now().await;
    }
}

#[test_context(InsideAsync)]
#[tokio::test]
#[leased_slot(pool = "pool.json")]
async fn async_below(context: &InsideAsync) {
    let Alone { .. } = &context.0;
    tokio::task::yield_now().await;
}
