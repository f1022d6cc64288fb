use lease_harness_macros::leased_slot;

#[leased_slot(pool = 3)]
#[test]
fn number() {}

#[leased_slot(pool = "")]
#[test]
fn empty() {}

#[leased_slot(pool = concat!("pool", ".json"))]
#[test]
fn computed() {}

fn main() {}
