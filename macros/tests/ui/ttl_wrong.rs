use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json", ttl = "30m")]
#[test]
fn text() {}

#[leased_slot(pool = "pool.json", ttl = 0)]
#[test]
fn zero() {}

#[leased_slot(pool = "pool.json", ttl = -5)]
#[test]
fn negative() {}

#[leased_slot(pool = "pool.json", ttl = 600000)]
#[test]
fn too_long() {}

#[leased_slot(pool = "pool.json", ttl = 30u64)]
#[test]
fn suffix() {}

#[leased_slot(pool = "pool.json", ttl = true)]
#[test]
fn boolean() {}

#[leased_slot(pool = "pool.json", ttl = 10 * 60)]
#[test]
fn computed() {}

fn main() {}
