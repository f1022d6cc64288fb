//! Chance that can be repeated, for tests that do what nobody planned.

/// The same numbers for the same seed (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number from 0 to `limit` - 1.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// One that no run had before.
pub(crate) fn any_seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}

/// The number that a variable says.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, which is no whole number")))
}
