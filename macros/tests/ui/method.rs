use lease_harness_macros::leased_slot;

struct Suite;

impl Suite {
    #[leased_slot(pool = "pool.json")]
    fn works(&self) {}
}

trait Declares {
    #[leased_slot(pool = "pool.json")]
    fn works();
}

fn main() {}
