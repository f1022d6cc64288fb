use lease_harness_macros::{leased_claims, leased_slot};

#[leased_claims(read("schema"))]
#[leased_claims(write("fixtures"))]
#[test]
fn two_attributes() {}

#[leased_claims(read("schema"))]
#[test]
fn two_sets(one: ClaimSet, other: &ClaimSet) {}

#[leased_claims(read("schema"))]
struct NoFunction;

struct Methods;

impl Methods {
    #[leased_claims(read("schema"))]
    fn method(&self) {}
}

#[leased_slot(pool = "pool.json")]
#[leased_claims(raed("schema"))]
#[test]
fn below_a_slot(slot: Slot) {}

fn main() {}
