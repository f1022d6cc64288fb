//! The claims that this process is under: what a nested use joins instead of waiting for itself.

use std::path::Path;

use super::error::{SlotError, SlotErrorKind};
use super::grants::real;
use crate::claims::{Claim, ClaimLease, ClaimStore, GRANTS, Mode, ResourceKey};
use crate::json::{Json, object};
use crate::store::Env;

/// What a set around this process holds.
#[derive(Clone, Debug)]
pub(super) struct OuterClaim {
    key: ResourceKey,
    mode: Mode,
    lease_id: String,
    token: u64,
}

/// Those in this store and scope.
pub(super) fn all_in(env: &Env, store: &Path, scope: &str) -> Vec<OuterClaim> {
    let is_here = |held: &Json| {
        let text = |name: &str| held.get(name).and_then(Json::as_str);
        text("scope") == Some(scope) && text("store").is_some_and(|dir| real(Path::new(dir)) == real(store))
    };
    documents(env).iter().filter(|held| is_here(held)).filter_map(read).collect()
}

fn documents(env: &Env) -> Vec<Json> {
    let text = env.get(GRANTS).unwrap_or_default();
    Json::parse(&text).ok().and_then(Json::into_array).unwrap_or_default()
}

fn read(held: &Json) -> Option<OuterClaim> {
    let text = |name: &str| held.get(name).and_then(Json::as_str);
    Some(OuterClaim {
        key: ResourceKey::new(text("resourceKey")?)?,
        mode: text("mode")?.parse().ok()?,
        lease_id: text("leaseId")?.to_owned(),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "another number is that of no lease")]
        token: held.get("fencingToken").and_then(Json::as_f64)? as u64,
    })
}

/// The variable's value for a process that is under these as well.
pub(super) fn with(env: &Env, store: &Path, leases: &[&ClaimLease]) -> String {
    let mut all = documents(env);
    all.extend(leases.iter().map(|lease| document(store, lease)));
    Json::Array(all).to_text()
}

fn document(store: &Path, lease: &ClaimLease) -> Json {
    #[expect(clippy::cast_precision_loss, reason = "tokens grow by one, and stay below 2^53")]
    let token = lease.token as f64;
    object([
        ("store", Json::from(store.display().to_string())),
        ("scope", Json::from(&lease.repo_id)),
        ("resourceKey", Json::from(&lease.resource_key)),
        ("mode", Json::from(lease.mode.as_str())),
        ("owner", Json::from(&lease.owner)),
        ("leaseId", Json::from(&lease.id)),
        ("fencingToken", Json::Number(token)),
    ])
}

impl OuterClaim {
    /// Whether whoever is under this one has what is wanted.
    pub(super) fn gives(&self, wanted: &Claim) -> bool {
        let is_enough = wanted.mode() == Mode::Read || self.mode != Mode::Read;
        is_enough && wanted.key().is_within(&self.key)
    }

    /// The lease, if it is still held.
    pub(super) fn join(&self, claims: &ClaimStore) -> Result<ClaimLease, SlotError> {
        claims.assert(&self.lease_id, self.token).map_err(|error| {
            let about = format!("the claim {}:{} that this process is under (LEASE_CLAIMS)", self.mode, self.key);
            let error = SlotError::from(error);
            if error.kind() == SlotErrorKind::Refused {
                return SlotError::new(SlotErrorKind::Lost, format!("{about} is not held any more"));
            }
            error.about(&about)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(outer: (Mode, &str), wanted: (Mode, &str), expected: bool) {
        let key = ResourceKey::new(outer.1).unwrap();
        let outer = OuterClaim { key, mode: outer.0, lease_id: String::new(), token: 1 };
        assert_eq!(outer.gives(&Claim::new(wanted.1, wanted.0).unwrap()), expected, "{outer:?} {wanted:?}");
    }

    #[test]
    fn what_an_outer_claim_gives() {
        use Mode::{Exclusive, Read, Write};
        for (outer, inner) in [(Write, Write), (Write, Read), (Exclusive, Write), (Write, Exclusive), (Read, Read)] {
            check((outer, "k"), (inner, " k"), true);
        }
        check((Read, "k"), (Write, "k"), false);
        check((Write, "k"), (Read, "kk"), false);
        check((Write, "path:a"), (Write, "path:a/b"), true);
        check((Write, "path:a"), (Write, "path:c:a/b"), true);
        check((Write, "path:c:a"), (Write, "path:a/b"), false);
        check((Write, "path:a/b"), (Read, "path:a"), false);
        check((Write, "path:a/*.rs"), (Read, "path:a/b"), true);
        check((Write, "path:/a"), (Read, "path:b"), false);
        check((Write, "workspace:c"), (Write, "path:c:a"), true);
        check((Write, "workspace:c"), (Write, "path:a"), false);
        check((Write, "repo-content:*"), (Write, "path:a"), true);
        check((Write, "path:a"), (Write, "repo-content:*"), false);
        check((Write, "repo-content:*"), (Write, "release:1"), false);
    }
}
