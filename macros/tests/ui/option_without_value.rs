use lease_harness_macros::leased_slot;

#[leased_slot(pool)]
#[test]
fn bare() {}

#[leased_slot(pool("pool.json"))]
#[test]
fn called() {}

#[leased_slot(pool = "pool.json", ttl =)]
#[test]
fn cut_off() {}

#[leased_slot("pool.json")]
#[test]
fn unnamed() {}

fn main() {}
