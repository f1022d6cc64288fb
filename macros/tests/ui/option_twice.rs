use lease_harness_macros::leased_slot;

#[leased_slot(pool = "a.json", ttl = 3, pool = "b.json")]
#[test]
fn works() {}

#[leased_slot(pools("a.json", "b.json"), pools("c.json", "d.json"))]
#[test]
fn pools() {}

#[leased_slot(pool = "a.json", ttl = 1, wait = 0, owner = "a", crate = a, ttl = 1, wait = 0, owner = "a", crate = a)]
#[test]
fn all_others() {}

fn main() {}
