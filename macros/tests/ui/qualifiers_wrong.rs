use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json")]
const fn constant() {}

#[leased_slot(pool = "pool.json")]
extern "C" fn of_c() {}

#[leased_slot(pool = "pool.json")]
unsafe extern fn without_a_name(slot: Slot) {}

unsafe extern "C" {
    #[leased_slot(pool = "pool.json")]
    fn declared();
}

fn main() {}
