use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json")]
#[test]
fn works(first: Slot, second: &Slot) {}

#[leased_slot(pools("db.json", "ports.json"))]
#[test]
fn too_many(db: Slot, ports: Slot, _: &Slot) {}

#[leased_slot(pools("db.json", "ports.json", "keys.json"))]
#[test]
fn too_few(db: Slot, ports: Slot) {}

fn main() {}
