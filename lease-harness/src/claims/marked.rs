//! What works under a set of claims carries its mark in the environment, by which it is found when the holder is gone.

use std::io;

use crate::sys::process::{self, Environment};

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
    process::kill_where(&|found| is_under(found, value)).map(drop)
}

/// The list counts only beside the mark, whatever that one is: who took it away does not want to be found.
fn is_under(found: &Environment<'_>, mark: &str) -> bool {
    let is_listed = || found.get(GRANTS).is_some_and(|grants| grants.contains(mark));
    found.get(SET).is_some_and(|innermost| innermost == mark || is_listed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_took_the_mark_away_is_not_found() {
        let under = |variables: &str| is_under(&Environment::of(variables.replace(' ', "\0").as_bytes()), "m");
        assert!(under("LEASE_CLAIMS_SET=m") && under("LEASE_CLAIMS_SET=other LEASE_CLAIMS=[m]"));
        assert!(!under("LEASE_CLAIMS=[m]") && !under("LEASE_CLAIMS_SET=other") && !under("OTHER=m"));
    }

    #[test]
    fn only_an_id_is_a_mark() {
        let id = "6b2a0f0e-3b57-4c56-9df6-0e5f6a1d2c3b";
        assert_eq!(mark_of(&format!("ci@host/a/{id}")), Some(id));
        for owner in ["ci", "ci/a", "ci/", id, &format!("ci/{id}0"), &format!("ci/{}g", &id[1..])] {
            assert_eq!(mark_of(owner), None, "{owner}");
        }
    }
}
