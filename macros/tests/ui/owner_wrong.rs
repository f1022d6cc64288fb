use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json", owner = ci)]
#[test]
fn no_text() {}

#[leased_slot(pool = "pool.json", owner = 7)]
#[test]
fn number() {}

#[leased_slot(pool = "pool.json", owner = "")]
#[test]
fn empty() {}

fn main() {}
