use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json", wait = 10)]
#[test]
fn no_unit() {}

#[leased_slot(pool = "pool.json", wait = "soon")]
#[test]
fn no_duration() {}

#[leased_slot(pool = "pool.json", wait = false)]
#[test]
fn boolean() {}

fn main() {}
