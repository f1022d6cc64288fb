use lease_harness_macros::leased_slot;

#[leased_slot(pools("db.json", "ports.json", "db.json"))]
#[test]
fn named_twice() {}

#[leased_slot(pools("db.json"))]
#[test]
fn only_one() {}

#[leased_slot(pools())]
#[test]
fn none() {}

#[leased_slot(pools = "db.json")]
#[test]
fn not_a_list() {}

#[leased_slot(pools("db.json", 7))]
#[test]
fn of_wrong_type() {}

#[leased_slot(pools("db.json", ""))]
#[test]
fn empty() {}

#[leased_slot(pool = "db.json", pools("ports.json", "keys.json"))]
#[test]
fn in_both_ways() {}

#[leased_slot(pools)]
#[test]
fn bare() {}

fn main() {}
