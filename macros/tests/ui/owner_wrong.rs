use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json", owner = ci)]
#[test]
fn no_text() {}

fn main() {}
