//! Which claims exclude each other.

use super::key::Kind;
use super::spec::Claim;

/// Whether two claims of one scope cannot be held at the same time by different owners. The same in both directions.
#[must_use]
pub fn conflicts(left: &Claim, right: &Claim) -> bool {
    let is_release = |claim: &Claim| claim.key().kind() == Kind::Release;
    match (is_release(left), is_release(right)) {
        // Two releases exclude each other whatever their modes, and one excludes all but readers.
        (true, true) => true,
        (true, false) => !right.mode().is_shared(),
        (false, true) => !left.mode().is_shared(),
        (false, false) => {
            let both_read = left.mode().is_shared() && right.mode().is_shared();
            !both_read && left.key().overlaps(right.key())
        }
    }
}
