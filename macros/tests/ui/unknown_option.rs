use lease_harness_macros::leased_slot;

#[leased_slot(pol = "pool.json")]
#[test]
fn near() {}

#[leased_slot(pool = "pool.json", timeout = "10m")]
#[test]
fn synonym() {}

#[leased_slot(pool = "pool.json", heartbeat = 30)]
#[test]
fn far() {}

fn main() {}
