//! A list of claims as one set.

use super::mode::Mode;
use super::spec::Claim;

/// The key that stands for all of a repository's content.
pub const WHOLE_REPOSITORY: &str = "repo-content:*";

/// Each resource once: in the place where it first stands, with the strongest claim on it, whole.
///
/// Whoever names nothing claims the whole repository to write, or nothing at all if he only reads.
#[must_use]
pub fn normalized(claims: Vec<Claim>, read_only: bool) -> Vec<Claim> {
    if claims.is_empty() && !read_only {
        let all = Claim::new(WHOLE_REPOSITORY, Mode::Write);
        return vec![all.expect("the key is not blank")];
    }
    let mut set: Vec<Claim> = Vec::new();
    for claim in claims {
        match set.iter_mut().find(|known| known.key() == claim.key()) {
            None => set.push(claim),
            Some(known) if claim.mode() > known.mode() => *known = claim,
            Some(_) => {}
        }
    }
    set
}
