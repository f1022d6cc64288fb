//! proptest: a test of a `proptest!` block has one turn for all its cases.

use lease_harness::leased_slot;
use proptest::prelude::*;

use crate::alone_in_the_slot;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(8) })]

    #[leased_slot(pool = "pool.json")]
    #[test]
    fn above(number in 0..5_u32, text: String) {
        let _alone = alone_in_the_slot();
        prop_assert!(number < 5, "{text}");
    }

    #[test]
    #[leased_slot(pool = "pool.json")]
    fn below(number in 0..5_u32) {
        let _alone = alone_in_the_slot();
        prop_assert!(number < 5);
    }

    #[leased_slot(pool = "pool.json")]
    #[test]
    #[should_panic(expected = "on purpose")]
    fn should_panic(_number in 0..5_u32) {
        let _alone = alone_in_the_slot();
        prop_assert!(false, "on purpose");
    }
}
