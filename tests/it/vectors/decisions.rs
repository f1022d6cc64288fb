//! Where we do not do what was recorded, and why. Only cases that do not bind may stand here.

/// One decision.
pub(super) struct Decision {
    /// The vector file, without its ending.
    pub(super) file: &'static str,
    /// The tag that leaves the choice.
    pub(super) tag: &'static str,
    /// The case.
    pub(super) case: &'static str,
    /// What we do.
    #[expect(dead_code, reason = "for the reader")]
    pub(super) what: &'static str,
    /// Why.
    #[expect(dead_code, reason = "for the reader")]
    pub(super) why: &'static str,
}

/// All decisions, by file.
pub(super) const DECISIONS: &[Decision] = &[];
