use lease_harness_macros::{leased_claims, leased_slot};

#[leased_slot(pool = ./pool.json)]
#[test]
fn a_path_of_files() {}

#[leased_slot(pool = ../pool.json)]
#[test]
fn one_above() {}

#[leased_slot(pool = db/pool.json, ttl = a.b::<C, D>(e)[f]?)]
#[test]
fn a_quotient() {}

#[leased_slot(pool = "pool.json", wait = 10 m)]
#[test]
fn a_unit_apart() {}

#[leased_slot(pool = "pool.json", wait = 10m, ttl = 1h30m)]
#[test]
fn a_unit_as_a_suffix() {}

#[leased_slot(pool = "pool.json", ttl = 10 *)]
#[test]
fn cut_off() {}

#[leased_slot(pools("a.json" "b.json"))]
#[test]
fn no_comma() {}

#[leased_slot(pools = ["a.json", "b.json"])]
#[test]
fn in_brackets() {}

#[leased_slot(pools = ["a.json" "b.json"])]
#[test]
fn in_brackets_without_a_comma() {}

#[leased_slot(pool = "pool.json"; wait = 0)]
#[test]
fn a_semicolon() {}

#[leased_slot(pool = b"pool.json", owner = c"ci", wait = 'n')]
#[test]
fn no_texts() {}

#[leased_slot(pool = "", wait = r#"soon"#, owner = r"")]
#[test]
fn raw() {}

#[leased_slot(pools("a\x2ejson", "a\u{2E}json", "b.\
    json", r"b.json"))]
#[test]
fn escaped() {}

#[leased_slot(pool = "pool.json", wait = "9\u{30} s")]
#[test]
fn escaped_duration() {}

#[leased_slot(pool = "pool.json", wait = 0x1E, ttl = 1_0u8)]
#[test]
fn other_digits() {}

#[leased_slot(pool = "pool.json", ttl = 1e9, wait = 1.5s)]
#[test]
fn fractions() {}

#[leased_slot(pool = "pool.json", -5)]
#[test]
fn unnamed_and_negative() {}

#[leased_slot(pool = "pool.json", crate = crate::)]
#[test]
fn half_a_path() {}

#[leased_slot(pool = "pool.json", crate = <Type>)]
#[test]
fn half_a_qualified_path() {}

#[leased_slot(pool = if cfg!(unix) { "a.json" } else { "b.json" }, r#wait = type)]
#[test]
fn keywords() {}

#[leased_claims(read("a" "b"))]
#[test]
fn claims_without_a_comma() {}

#[leased_claims(read("a"), write("b" + "c", [0; 3], S { d: 1 }))]
#[test]
fn computed_claims() {}

#[leased_claims(read("\u{61} ", r"a"))]
#[test]
fn claimed_twice() {}

fn main() {}
