use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json" wait = "90s")]
#[test]
fn no_comma() {}

#[leased_slot(pool.json)]
#[test]
fn a_file_name() {}

#[leased_slot(timeout("10m"))]
#[test]
fn unknown_and_called() {}

#[leased_slot(heartbeat)]
#[test]
fn unknown_and_bare() {}

#[leased_slot(pool: "pool.json")]
#[test]
fn with_a_colon() {}

#[leased_slot(pools["db.json", "ports.json"])]
#[test]
fn in_brackets() {}

#[leased_slot(pools(pool = "db.json", pool = "ports.json"))]
#[test]
fn options_in_the_list() {}

fn main() {}
