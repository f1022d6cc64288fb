//! Three hundred tests that take a slot and do nothing.

include!("names.rs");

macro_rules! leased {
    ($($name:ident)*) => {
        $(
            #[test]
            #[lease_harness::leased_slot(pool = "crowd.json")]
            fn $name() {}
        )*
    };
}

three_hundred!(leased);
