//! Three hundred tests that do nothing, and know of no slot.

use lease_compositions as _;

include!("names.rs");

macro_rules! plain {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {}
        )*
    };
}

three_hundred!(plain);
