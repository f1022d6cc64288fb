//! A granted claim.

use super::key::ResourceKey;
use super::mode::Mode;
use super::owner::OwnerIdentity;

/// Whether a set leaves traces for others: events, a dirty mark, a wake signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// It does.
    #[default]
    Durable,
    /// It does not.
    Ephemeral,
}

/// A granted claim: the right to use a resource in a mode until it expires, with a token that tells it from every earlier grant of
/// the resource.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimLease {
    /// `LEASE-<ms>-<8 hex>`.
    pub id: String,
    /// The scope.
    pub repo_id: String,
    /// The checkout that the claim names.
    pub checkout_id: Option<String>,
    /// The work that the claim names.
    pub work_id: Option<String>,
    /// The resource, as the claim wrote it.
    pub resource_key: String,
    /// The same in its normal form.
    pub key: ResourceKey,
    /// How it is held.
    pub mode: Mode,
    /// Who holds it.
    pub owner: String,
    /// The owner as others know him.
    pub identity: OwnerIdentity,
    /// One more than that of the last grant of this resource, whoever had it.
    pub token: u64,
    /// The number of its set in the scope, for resources that overlap without being the same: the later set has the larger one.
    pub sequence: u64,
    /// When it was granted, in milliseconds since 1970.
    pub acquired_at: i64,
    /// When it was last renewed.
    pub heartbeat_at: i64,
    /// The first moment at which it is not held any more.
    pub expires_at: i64,
    /// Whether its set leaves traces.
    pub visibility: Visibility,
    /// The proof that its holder lives, if there is one.
    pub alive: Option<String>,
}

impl ClaimLease {
    /// Whether it is held at this moment.
    #[must_use]
    pub fn is_live(&self, now_ms: i64) -> bool {
        now_ms < self.expires_at
    }
}

/// What a holder keeps of a lease. What is not given, or empty, may be anything.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "they are those of a `ClaimLease`")]
pub struct Reference {
    pub lease_id: String,
    pub token: u64,
    pub repo_id: Option<String>,
    pub checkout_id: Option<String>,
    pub work_id: Option<String>,
    pub resource_key: Option<String>,
    pub owner_digest: Option<String>,
}

impl Reference {
    /// What names a lease exactly.
    #[must_use]
    pub fn of(lease: &ClaimLease) -> Self {
        Self { lease_id: lease.id.clone(), token: lease.token, ..Self::default() }
    }

    /// Whether it is about this lease as it is.
    #[must_use]
    pub fn matches(&self, lease: &ClaimLease) -> bool {
        let agrees = |wanted: &Option<String>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| wanted.is_empty() || Some(wanted) == is)
        };
        self.lease_id == lease.id
            && self.token == lease.token
            && agrees(&self.repo_id, Some(&lease.repo_id))
            && agrees(&self.checkout_id, lease.checkout_id.as_deref())
            && agrees(&self.work_id, lease.work_id.as_deref())
            && agrees(&self.resource_key, Some(&lease.resource_key))
            && self.owner_digest.as_deref().is_none_or(|digest| digest.is_empty() || digest == lease.identity.digest())
    }
}
