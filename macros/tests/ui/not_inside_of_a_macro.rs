use lease_harness_macros::leased_slot;

macro_rules! proptest {
    ($($tokens:tt)*) => {};
}

#[leased_slot(pool = "pool.json")]
proptest! {
    #[test]
    fn works(number in 0..5) {}
}

fn main() {}
