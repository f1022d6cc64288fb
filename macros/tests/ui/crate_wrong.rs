use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json", crate = "lease_harness")]
#[test]
fn text() {}

#[leased_slot(pool = "pool.json", crate = 3)]
#[test]
fn number() {}

#[leased_slot(pool = "pool.json", crate = <A as B>::c)]
#[test]
fn qualified() {}

fn main() {}
