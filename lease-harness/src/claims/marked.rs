//! What works under a set of claims carries its mark in the environment, by which it is found when the holder is gone.

use std::io;

use crate::sys::process::{self, Mark};

/// The variable with the mark of the innermost set.
pub(crate) const SET: &str = "LEASE_CLAIMS_SET";
/// The variable that lists what is held by all sets around a process.
pub(crate) const GRANTS: &str = "LEASE_CLAIMS";

/// How long a mark is: that of an id that nobody else has.
const LENGTH: usize = 36;

/// The mark of a set by its owner, `<name>/<id>`. Whoever names himself otherwise has marked nothing.
pub(crate) fn mark_of(owner: &str) -> Option<&str> {
    let (_, id) = owner.rsplit_once('/')?;
    let is_id = id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_id.then_some(id)
}

/// Ends every process that works under this set, also if it is under others as well.
///
/// # Errors
/// They cannot be looked at, or one would not end.
pub(crate) fn end_processes_of(owner: &str) -> io::Result<()> {
    let Some(value) = mark_of(owner) else { return Ok(()) };
    process::kill_marked(Mark { name: SET, value, list: Some(GRANTS) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_is_a_mark() {
        let id = "6b2a0f0e-3b57-4c56-9df6-0e5f6a1d2c3b";
        assert_eq!(mark_of(&format!("ci@host/a/{id}")), Some(id));
        for owner in ["ci", "ci/a", "ci/", id, &format!("ci/{id}0"), &format!("ci/{}g", &id[1..])] {
            assert_eq!(mark_of(owner), None, "{owner}");
        }
    }
}
