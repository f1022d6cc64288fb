//! proptest. Every parameter of a test in a `proptest!` block belongs to proptest, so there is no place for a slot there; it is
//! given to a test around a block, for all cases, or to a function that each case calls.

use std::sync::atomic::{AtomicUsize, Ordering};

use lease_harness::{Slot, leased_slot};
use proptest::prelude::*;

use crate::alone_in;

#[leased_slot(pool = "pool.json")]
#[test]
fn one_slot_for_all_cases(slot: Slot) {
    let _alone = alone_in(&slot);
    proptest!(ProptestConfig::with_cases(8), |(number in 0..5_u32)| {
        prop_assert!(number < 5);
        prop_assert_eq!(slot.env("POOL_SLOT_ID"), Some(slot.id()));
    });
}

static N_CASES: AtomicUsize = AtomicUsize::new(0);

#[leased_slot(pool = "pool.json")]
fn case(slot: Slot, number: u32) -> Result<(), TestCaseError> {
    let _alone = alone_in(&slot);
    N_CASES.fetch_add(1, Ordering::SeqCst);
    prop_assert!(number < 5);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_slot_for_each_case(number in 0..5_u32) {
        let n_before = N_CASES.load(Ordering::SeqCst);
        case(number)?;
        prop_assert_eq!(N_CASES.load(Ordering::SeqCst), n_before + 1);
    }
}
