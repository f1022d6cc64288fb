use lease_harness_macros::{leased_claims, leased_slot};

struct Slot;

macro_rules! with_value {
    ($name:ident, $value:expr) => {
        #[leased_slot(pool = $value)]
        #[test]
        fn $name() {}
    };
}

with_value!(number, 3);
with_value!(computed, concat!("pool", ".json"));
with_value!(sum, 1 + 2);
with_value!(empty, "");

macro_rules! with_options {
    ($name:ident, $ttl:literal, $wait:expr, $runtime:path) => {
        #[leased_slot(pool = "pool.json", ttl = $ttl, wait = $wait, owner = $wait * 2, crate = -$ttl)]
        #[test]
        fn $name() {}
    };
}

with_options!(literals, 30u64, 90, a::b);
with_options!(negative, -5, 60 * 10, a::b);

macro_rules! with_option {
    ($name:ident, $key:ident, $option:meta) => {
        #[leased_claims($option, read("key"), $key = 1)]
        #[test]
        fn $name() {}
    };
}

with_option!(unknown, onwer, write = "a");

macro_rules! with_params {
    ($name:ident, $first:pat, $second:ty, $third:ty) => {
        #[leased_slot(pool = "pool.json")]
        #[test]
        fn $name(one: $third, $first: $second) {}
    };
}

with_params!(two_slots, Slot { .. }, Slot, &mut Slot);
with_params!(two_references, _, &'static Slot, (&mut (Slot)));
with_params!(wrong_type, slot, Vec<(Slot, u8)>, u8);
with_params!(wrong_name, mut db_slot, u8, Slot);

macro_rules! with_reference {
    ($name:ident, $first:pat, $ty:ty) => {
        #[leased_slot(pool = "pool.json")]
        #[test]
        fn $name(one: Slot, $first: &mut $ty) {}
    };
}

with_reference!(reference, _, Slot);

macro_rules! with_item {
    ($item:item) => {
        #[leased_slot(pool = "pool.json")]
        $item
    };
}

with_item!(struct NoFunction;);
with_item!(pub const fn constant() {});
with_item!(unsafe extern "C" fn foreign() {});
with_item!(
    /// Documented.
    proptest! {}
);
with_item!(pub(crate) fn with_a_slot(one: Slot, two: &Slot) {});

macro_rules! with_a_path {
    ($path:path) => {
        #[leased_slot(pool = "pool.json", crate = $path)]
        #[test]
        fn path() {}
    };
}

with_a_path!(a::b);

macro_rules! with_parts {
    ($vis:vis, $name:ident, $ty:ty, $attr:meta) => {
        #[leased_slot(pool = "pool.json")]
        #[$attr]
        $vis const fn $name() -> $ty {}
    };
}

with_parts!(, private, u8, test);
with_parts!(pub, public, (), cfg_attr(unix, leased_slot(pool = "b.json")));

fn main() {}
