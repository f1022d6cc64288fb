use lease_harness_macros::leased_slot;

#[leased_slot(pool = "a.json", ttl = 3, pool = "b.json")]
#[test]
fn works() {}

fn main() {}
