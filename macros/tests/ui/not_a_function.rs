use lease_harness_macros::leased_slot;

#[leased_slot(pool = "pool.json")]
struct Unit;

#[leased_slot(pool = "pool.json")]
mod tests {}

#[leased_slot(pool = "pool.json")]
const fn_pointer: fn() = main;

fn main() {}
