//! Leased cases. Those of which some are left out are ignored, because they fail; a test of this program runs them.

use std::fs::OpenOptions;
use std::io::Write as _;

use lease_harness::{Slot, leased_slot};
use rstest::rstest;

/// A file that gets the name of each case whose body runs.
pub(crate) const LOG: &str = "SCENARIO_LOG";
/// Only for the module that this program shares with another.
pub(crate) const STAYS_UNTIL: &str = "SCENARIO_STAYS_UNTIL";

fn inside(name: &str, case: u32) {
    if let Some(log) = std::env::var_os(LOG) {
        let slot = std::env::var("POOL_SLOT_ID").unwrap_or_else(|_| "none".to_owned());
        let mut log = OpenOptions::new().append(true).create(true).open(log).unwrap();
        log.write_all(format!("{name}_{case} {slot}\n").as_bytes()).unwrap();
    }
}

#[rstest]
#[leased_slot(pool = "behaviour.json")]
#[case(1)]
#[case(2)]
#[case::named(3)]
#[ignore = "fails"]
fn first(#[case] case: u32) {
    inside("first", case);
}

#[rstest]
#[case(1)]
#[leased_slot(pool = "behaviour.json")]
#[case(2)]
#[ignore = "fails"]
fn second(#[case] case: u32) {
    inside("second", case);
}

#[rstest]
#[leased_slot(pool = "behaviour.json")]
#[case(1)]
#[leased_slot(pool = "behaviour.json")]
#[case(2)]
#[case(3)]
#[ignore = "fails"]
fn two_of_three(#[case] case: u32) {
    inside("two_of_three", case);
}

#[rstest]
#[leased_slot(pool = "behaviour.json")]
#[case(1)]
#[case(2)]
#[ignore = "fails"]
fn with_values(#[case] case: u32, #[values(10, 20)] more: u32) {
    inside("with_values", case + more);
}

#[rstest]
#[leased_slot(pool = "behaviour.json")]
#[should_panic]
#[case(1)]
#[case(2)]
#[ignore = "fails"]
fn panics(#[case] case: u32) {
    inside("panics", case);
    assert!(case != 1, "as expected");
}

#[rstest]
#[leased_slot(pool = "behaviour.json")]
#[case(1)]
#[case(2)]
#[tokio::test]
#[ignore = "fails"]
async fn asynchronous(#[case] case: u32) {
    inside("asynchronous", case);
}

macro_rules! some_of_three {
    ($($case:literal)*) => {
        #[rstest]
        $(
            #[leased_slot(pool = "behaviour.json")]
            #[case($case)]
        )*
        #[case(3)]
        #[ignore = "fails"]
        fn repeated(#[case] case: u32) {
            inside("repeated", case);
        }
    };
}

some_of_three!(1 2);

/// Of what is left out only the second case runs in an ordinary run.
#[rstest]
#[leased_slot(pool = "behaviour.json")]
#[ignore = "fails"]
#[case(1)]
#[ignore = "fails"]
#[case(2)]
fn ignored(#[case] case: u32) {
    inside("ignored", case);
}

#[rstest]
#[case(1)]
#[case(2)]
#[leased_slot(pool = "behaviour.json")]
fn below(#[case] case: u32) {
    inside("below", case);
}

#[rstest]
#[case(1)]
#[case(2)]
#[leased_slot(pool = "behaviour.json")]
fn below_with_values(#[case] case: u32, #[values(10, 20)] more: u32) {
    inside("below_with_values", case + more);
}

#[rstest]
#[leased_slot(pool = "behaviour.json")]
fn only_values(#[values(10, 20)] case: u32) {
    inside("only_values", case);
}

#[leased_slot(pool = "behaviour.json")]
#[rstest]
#[case(1)]
#[case(2)]
fn above(#[case] case: u32) {
    inside("above", case);
}

#[rstest]
#[leased_slot(pool = "behaviour.json")]
#[case(1)]
#[leased_slot(pool = "behaviour.json")]
#[case(2)]
fn each(#[case] case: u32) {
    inside("each", case);
}

#[rstest]
#[leased_slot(pool = "behaviour.json")]
#[case(1)]
fn single(#[case] case: u32) {
    inside("single", case);
}

/// What looks like cases, and is none.
mod by_hand {
    use lease_harness::leased_slot;

    #[leased_slot(pool = "behaviour.json")]
    #[test]
    fn case_1() {
        super::inside("by_hand", 1);
    }

    #[test]
    fn case_2() {
        super::inside("by_hand", 2);
    }
}

macro_rules! tests_of {
    ($name:ident: $leased:ident, $bare:ident) => {
        mod $name {
            #[lease_harness::leased_slot(pool = "behaviour.json")]
            #[test]
            fn $leased() {
                super::inside(stringify!($name), 1);
            }

            #[test]
            fn $bare() {
                super::inside(stringify!($name), 2);
            }
        }
    };
}

tests_of!(by_macro: case_1, case_2);

/// With a slot as its parameter a case cannot be left out: the others would be tests with a parameter.
#[rstest]
#[leased_slot(pool = "behaviour.json")]
#[case(1)]
#[leased_slot(pool = "behaviour.json")]
#[case(2)]
fn with_slots(#[case] case: u32, #[ignore] slot: Slot) {
    assert!(case < 3, "{}", slot.id());
}
