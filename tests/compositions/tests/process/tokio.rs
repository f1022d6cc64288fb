//! Async tests; the turn is taken inside the runtime when the attribute stands above `#[tokio::test]`, outside when below.

use lease_harness::leased_slot;

use crate::alone_in_the_slot;

#[leased_slot(pool = "pool.json")]
#[tokio::test]
async fn above() {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
}

#[tokio::test]
#[leased_slot(pool = "pool.json")]
async fn below() -> Result<(), Box<dyn std::error::Error>> {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
    std::env::var("POOL_SLOT_ID")?;
    Ok(())
}

#[leased_slot(pool = "pool.json")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn above_with_several_threads() {
    let _alone = alone_in_the_slot();
    tokio::spawn(tokio::task::yield_now()).await.unwrap();
}

#[leased_slot(pool = "pool.json")]
#[tokio::test]
#[should_panic(expected = "on purpose")]
async fn should_panic() {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
    panic!("on purpose");
}

#[tokio::test]
#[leased_slot(pool = "pool.json")]
#[should_panic(expected = "on purpose")]
async fn should_panic_below() {
    let _alone = alone_in_the_slot();
    panic!("on purpose");
}
