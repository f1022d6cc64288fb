//! Which claims exclude each other.

use super::key::{Kind, overlap};
use super::mode::Mode;
use super::spec::Claim;

/// Whether two claims of one scope cannot be held at the same time by different owners. The same in both directions.
#[must_use]
pub fn conflicts(left: &Claim, right: &Claim) -> bool {
    conflicts_of((left.key().as_str(), left.mode()), (right.key().as_str(), right.mode()))
}

/// The same for keys in their normal form, and modes.
pub(super) fn conflicts_of(left: (&str, Mode), right: (&str, Mode)) -> bool {
    let is_release = |key: &str| Kind::of(key) == Kind::Release;
    match (is_release(left.0), is_release(right.0)) {
        // Two releases exclude each other whatever their modes, and one excludes all but readers.
        (true, true) => true,
        (true, false) => !right.1.is_shared(),
        (false, true) => !left.1.is_shared(),
        (false, false) => !(left.1.is_shared() && right.1.is_shared()) && overlap(left.0, right.0),
    }
}
