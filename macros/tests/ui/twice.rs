use lease_harness_macros::leased_slot;

#[leased_slot(pool = "a.json")]
#[test]
#[leased_slot(pool = "b.json")]
fn works() {}

#[leased_slot(pool = "a.json")]
#[leased_slot(pool = "a.json")]
#[test]
fn the_same(slot: Slot) {}

#[leased_slot(pool = "a.json")]
#[cfg_attr(unix, leased_slot(pool = "b.json"))]
fn conditionally() {}

fn main() {}
