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

#[leased_slot(pool = "pool.json", wait = "10")]
#[test]
fn text_without_a_unit() {}

#[leased_slot(pool = "pool.json", wait = "10 parsecs")]
#[test]
fn unknown_unit() {}

#[leased_slot(pool = "pool.json", wait = -1)]
#[test]
fn negative() {}

#[leased_slot(pool = "pool.json", wait = 1.5)]
#[test]
fn fraction() {}

#[leased_slot(pool = "pool.json", wait = forever)]
#[test]
fn word() {}

fn main() {}
