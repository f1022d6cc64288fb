use lease_harness_macros::leased_slot;

#[leased_slot]
#[test]
fn works() {}

#[leased_slot(ttl = 30)]
#[test]
fn works_with_other_options() {}

fn main() {}
