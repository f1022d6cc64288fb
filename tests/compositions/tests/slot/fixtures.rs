//! rstest: the attribute stands above it and takes its parameter away. Below, rstest would look for a fixture of that
//! name, unless the parameter is marked `#[ignore]`.

use lease_harness::{Slot, leased_slot};
use rstest::{fixture, rstest};

use crate::alone_in;

#[fixture]
fn number() -> u32 {
    7
}

#[leased_slot(pool = "pool.json")]
#[rstest]
fn above(number: u32, slot: Slot) {
    let _alone = alone_in(&slot);
    assert_eq!(number, 7);
}

#[leased_slot(pool = "pool.json")]
#[rstest]
#[case(1)]
#[case::named(2)]
fn above_cases(slot: &Slot, #[case] case: u32) {
    let _alone = alone_in(slot);
    assert!(case < 3);
}

#[leased_slot(pool = "pool.json")]
#[rstest]
#[case(1)]
#[case(2)]
#[tokio::test]
async fn above_tokio(#[case] case: u32, slot: Slot) {
    let _alone = alone_in(&slot);
    tokio::task::yield_now().await;
    assert!(case < 3);
}

#[rstest]
#[case(1)]
#[case(2)]
#[leased_slot(pool = "pool.json")]
fn below_all_cases(#[ignore] slot: Slot, #[case] case: u32) {
    let _alone = alone_in(&slot);
    assert!(case < 3);
}
