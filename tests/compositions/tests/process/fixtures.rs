//! rstest. Below `#[rstest]` and all cases the lease is there before the fixtures; above, it comes after them.

use lease_compositions::Alone;
use lease_harness::leased_slot;
use rstest::{fixture, rstest};

use crate::alone_in_the_slot;

#[fixture]
fn inside_the_lease() -> Alone {
    alone_in_the_slot()
}

#[fixture]
fn number() -> u32 {
    7
}

#[rstest]
#[leased_slot(pool = "pool.json")]
fn below(inside_the_lease: Alone) {
    let Alone { .. } = inside_the_lease;
}

#[rstest]
#[case(1)]
#[case::named(2)]
#[leased_slot(pool = "pool.json")]
fn below_all_cases(inside_the_lease: Alone, #[case] case: u32) {
    let Alone { .. } = inside_the_lease;
    assert!(case == 1 || case == 2);
}

#[leased_slot(pool = "pool.json")]
#[rstest]
fn above(number: u32) {
    let _alone = alone_in_the_slot();
    assert_eq!(number, 7);
}

#[leased_slot(pool = "pool.json")]
#[rstest]
#[case(1)]
#[case::named(2)]
#[should_panic(expected = "on purpose")]
#[case(3)]
fn above_cases(number: u32, #[case] case: u32) {
    let _alone = alone_in_the_slot();
    assert_eq!(number, 7);
    if case == 3 {
        panic!("on purpose");
    }
}

#[leased_slot(pool = "pool.json")]
#[rstest]
fn above_values(#[values(1, 2)] low: u32, #[values("a", "b")] letter: &str) {
    let _alone = alone_in_the_slot();
    assert!(low < 3 && letter < "c");
}

#[rstest]
#[case(1)]
#[case(2)]
#[tokio::test]
#[leased_slot(pool = "pool.json")]
async fn below_tokio(#[case] case: u32) {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
    assert!(case < 3);
}

#[leased_slot(pool = "pool.json")]
#[rstest]
#[case(1)]
#[case(2)]
#[tokio::test]
async fn above_tokio(#[case] case: u32) {
    let _alone = alone_in_the_slot();
    tokio::task::yield_now().await;
    assert!(case < 3);
}
