use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json")]
#[test]
fn another_type(slot: String) {}

#[leased_slot(pool = "pool.json")]
#[test]
fn another_name_of_the_type(db_slot: DbSlot) {}

#[leased_slot(pool = "pool.json")]
#[test]
fn shared(one: Arc<Slot>) {}

#[leased_slot(pool = "pool.json")]
#[test]
fn perhaps(one: Option<lease_harness::Slot>) {}

#[leased_slot(pools("db.json", "ports.json"))]
#[test]
fn all_in_one(both: [Slot; 2]) {}

#[leased_slot(pool = "pool.json")]
#[tokio::test]
async fn referenced_twice(slot: &&Slot) {}

#[leased_slot(pool = "pool.json")]
#[test]
fn mistyped(one: Slto) {}

#[leased_slot(pool = "pool.json")]
#[test]
fn in_the_plural(other: lease_harness::Slots) {}

#[leased_slot(pool = "pool.json")]
#[test]
fn with_a_lifetime(slot: Slot<'_>) {}

fn main() {}
