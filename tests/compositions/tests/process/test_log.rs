//! test-log, above and below, with and without tokio.

use lease_harness::leased_slot;

use crate::alone_in_the_slot;

#[leased_slot(pool = "pool.json")]
#[test_log::test]
fn above() {
    let _alone = alone_in_the_slot();
}

#[test_log::test]
#[leased_slot(pool = "pool.json")]
fn below() {
    let _alone = alone_in_the_slot();
}

#[leased_slot(pool = "pool.json")]
#[test_log::test(tokio::test)]
async fn above_tokio() {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
}

#[test_log::test(tokio::test)]
#[leased_slot(pool = "pool.json")]
async fn below_tokio() {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
}

#[leased_slot(pool = "pool.json")]
#[test_log::test]
#[should_panic(expected = "on purpose")]
fn should_panic() {
    let _alone = alone_in_the_slot();
    panic!("on purpose");
}
