use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json", crate = "lease_harness")]
#[test]
fn text() {}

fn main() {}
