//! smol: its own macro by `#[apply(test!)]`, and `smol::block_on` in a test that is not async.

use lease_harness::leased_slot;
use macro_rules_attribute::apply;
use smol_macros::{Executor, test};

use crate::alone_in_the_slot;

#[leased_slot(pool = "pool.json")]
#[apply(test!)]
async fn above() {
    let _alone = alone_in_the_slot();
    smol::future::yield_now().await;
}

#[apply(test!)]
#[leased_slot(pool = "pool.json")]
async fn below() {
    let _alone = alone_in_the_slot();
    smol::future::yield_now().await;
}

#[leased_slot(pool = "pool.json")]
#[apply(test!)]
async fn above_with_several_threads(executor: &Executor<'_>) {
    let _alone = alone_in_the_slot();
    executor.spawn(smol::future::yield_now()).await;
}

#[leased_slot(pool = "pool.json")]
#[apply(test!)]
#[should_panic(expected = "on purpose")]
async fn should_panic() {
    let _alone = alone_in_the_slot();
    smol::future::yield_now().await;
    panic!("on purpose");
}

#[leased_slot(pool = "pool.json")]
#[test]
fn block_on() -> Result<(), std::env::VarError> {
    smol::block_on(async {
        let _alone = alone_in_the_slot();
        smol::future::yield_now().await;
        std::env::var("POOL_SLOT_ID").map(drop)
    })
}
