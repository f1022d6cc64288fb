use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json", reset = true)]
#[test]
fn with_a_value() {}

#[leased_slot(pool = "pool.json", reset("always"))]
#[test]
fn called() {}

#[leased_slot(pool = "pool.json", reset, reset)]
#[test]
fn twice() {}

#[leased_slot(pool = "pool.json", reset)]
#[test]
fn with_a_slot_of_its_own(slot: Slot) {}

#[leased_slot(pool = "pool.json", clean)]
#[test]
fn synonym() {}

fn main() {}
