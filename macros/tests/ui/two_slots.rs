use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json")]
#[test]
fn works(first: Slot, second: &Slot) {}

fn main() {}
