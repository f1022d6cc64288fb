use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json", ttl = 0, wait = 10, onwer = "ci")]
#[test]
fn works() {}

fn main() {}
