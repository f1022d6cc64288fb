//! What happens to the leases of a scope: the rules, without the files.

use std::collections::HashMap;
use std::fmt;

use super::conflict::conflicts_of;
use super::key::ResourceKey;
use super::lease::{ClaimLease, Reference, Visibility};
use super::mode::Mode;
use super::owner::{OwnerIdentity, OwnerNames, OwnerProcess};
use super::refusal::Refusal;
use super::spec::Claim;
use crate::json::trimmed;

/// The lifetime of a set for which none was asked, in milliseconds.
pub const DEFAULT_TTL_MS: i64 = 30_000;
/// The shortest lifetime of a new set, in milliseconds.
pub const SHORTEST_TTL_MS: i64 = 5_000;
/// The last moment that has a date, in milliseconds since 1970. A lease that ends later could not be written down.
const LAST_DATE_MS: i64 = 8_640_000_000_000_000;

/// Who wants a set of claims, and how.
pub struct SetWanted<'a> {
    /// Who asks.
    pub owner: &'a str,
    /// The claims, taken as given, in this order.
    pub claims: &'a [Claim],
    /// The lifetime in milliseconds; at least [`SHORTEST_TTL_MS`] counts.
    pub ttl_ms: i64,
    /// What the owner says of himself.
    pub names: &'a OwnerNames,
    /// The process in whose name he acts.
    pub process: &'a OwnerProcess<'a>,
    /// Whether the set leaves traces.
    pub visibility: Visibility,
    /// The proof that the holder lives, if there is one.
    pub alive: Option<&'a str>,
}

/// What is in the way of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Blocker {
    /// Somebody holds it.
    Lease(ClaimLease),
    /// Somebody has waited for it for longer.
    Waiter {
        /// Who.
        waiter: Waiter,
        /// The claim for which he waits.
        claim: Claim,
    },
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease(lease) => write!(f, "{} is held by {} to {}", lease.resource_key, lease.owner, lease.mode),
            Self::Waiter { waiter, claim } => {
                write!(f, "{} waits for {} to {}, and came first", waiter.owner, claim.given(), claim.mode())
            }
        }
    }
}

/// Somebody who waits for a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiter {
    /// `WAITER-<ms>-<8 hex>`.
    pub id: String,
    /// Who asks.
    pub owner: String,
    /// The digest of his identity.
    pub digest: String,
    /// For what.
    pub claims: Vec<Claim>,
    /// Since when, in milliseconds since 1970.
    pub since_ms: i64,
    /// The proof that he lives.
    pub alive: Option<String>,
}

/// What came of asking for a set.
#[derive(Clone, Debug, PartialEq)]
pub enum SetOutcome {
    /// All of it, in the order of the claims.
    Granted(Vec<ClaimLease>),
    /// Nothing of it, because of these.
    Blocked(Vec<Blocker>),
}

/// The leases of one scope, in the order in which they were granted. An expired one counts for nothing, and goes with the
/// next change.
#[derive(Clone, Debug)]
pub struct Scope {
    repo_id: String,
    leases: Vec<ClaimLease>,
}

/// What a set needs from outside: a name for a lease, and the next token of a resource.
pub trait Source {
    /// Why there is none.
    type Error;
    /// A new lease's id.
    fn lease_id(&mut self, now_ms: i64) -> String;
    /// The number of the set: larger than that of every set before in the store or scope.
    fn sequence(&mut self) -> u64;
    /// The next token of the claim's resource, larger than one that was `seen` in a lease.
    ///
    /// # Errors
    /// It cannot be told.
    fn token(&mut self, claim: &Claim, seen: u64) -> Result<u64, Self::Error>;
}

impl Scope {
    /// The scope with these leases.
    #[must_use]
    pub fn new(repo_id: &str, leases: Vec<ClaimLease>) -> Self {
        Self { repo_id: repo_id.to_owned(), leases }
    }

    /// All leases, also those that are over.
    #[must_use]
    pub fn leases(&self) -> &[ClaimLease] {
        &self.leases
    }

    /// The leases that are held.
    pub fn live(&self, now_ms: i64) -> impl Iterator<Item = &ClaimLease> {
        self.leases.iter().filter(move |lease| lease.is_live(now_ms))
    }

    fn live_of<'a>(&'a self, owner: &'a str, now_ms: i64) -> impl Iterator<Item = &'a ClaimLease> {
        self.live(now_ms).filter(move |lease| lease.owner == owner)
    }

    /// Grants all claims of a set, or none. Leases of the same owner are not in the way, and stay valid; those are who came
    /// `before` and waits for something that excludes this set.
    ///
    /// # Errors
    /// The claims are about several places, or about other ones than the scope and the owner; or there is no token.
    pub fn acquire<S: Source>(
        &mut self,
        wanted: &SetWanted<'_>,
        before: &[Waiter],
        now_ms: i64,
        source: &mut S,
    ) -> Result<SetOutcome, S::Error>
    where
        S::Error: From<Refusal>,
    {
        let identity = self.identity(wanted)?;
        let expires_at = end_of(now_ms, wanted.ttl_ms.max(SHORTEST_TTL_MS))?;
        let blockers = self.blockers(wanted, before, now_ms);
        if !blockers.is_empty() {
            return Ok(SetOutcome::Blocked(blockers));
        }
        // Also of a lease that is over: it may be all that is known of the resource's last token.
        let seen = |claim: &Claim| {
            let tokens = self.leases.iter().filter(|lease| lease.key == *claim.key()).map(|lease| lease.token);
            tokens.max().unwrap_or_default()
        };
        let sequence = source.sequence();
        let mut granted = Vec::with_capacity(wanted.claims.len());
        for claim in wanted.claims {
            granted.push(ClaimLease {
                id: source.lease_id(now_ms),
                repo_id: self.repo_id.clone(),
                checkout_id: place(claim, "checkoutId"),
                work_id: place(claim, "workId"),
                resource_key: claim.given().to_owned(),
                key: claim.key().clone(),
                mode: claim.mode(),
                owner: wanted.owner.to_owned(),
                identity: identity.clone(),
                token: source.token(claim, seen(claim))?,
                sequence,
                acquired_at: now_ms,
                heartbeat_at: now_ms,
                expires_at,
                visibility: wanted.visibility,
                alive: wanted.alive.map(str::to_owned),
            });
        }
        self.forget_expired(now_ms);
        self.leases.extend(granted.iter().cloned());
        Ok(SetOutcome::Granted(granted))
    }

    /// Who asks, if he asks for claims of one place, and that of the scope and his own.
    pub(super) fn identity(&self, wanted: &SetWanted<'_>) -> Result<OwnerIdentity, Refusal> {
        check_places(&self.repo_id, wanted.claims)?;
        OwnerIdentity::new(&self.repo_id, wanted.owner, wanted.claims, wanted.names, wanted.process)
    }

    /// What is in the way, in the order of the claims: a lease, or who waits, as often as there are claims that it is in the way
    /// of.
    pub(super) fn blockers(&self, wanted: &SetWanted<'_>, before: &[Waiter], now_ms: i64) -> Vec<Blocker> {
        self.in_the_way_of(wanted.owner, wanted.claims, before, now_ms)
    }

    /// The same for who asks, and for what.
    pub(super) fn in_the_way_of(&self, owner: &str, claims: &[Claim], before: &[Waiter], now_ms: i64) -> Vec<Blocker> {
        let mut blockers: Vec<Blocker> = Vec::new();
        for claim in claims {
            let excludes =
                |key: &ResourceKey, mode: Mode| conflicts_of((claim.key().as_str(), claim.mode()), (key.as_str(), mode));
            let leases = self.live(now_ms).filter(|lease| lease.owner != owner && excludes(&lease.key, lease.mode));
            blockers.extend(leases.map(|lease| Blocker::Lease(lease.clone())));
            for waiter in before.iter().filter(|waiter| waiter.owner != owner) {
                let first = waiter.claims.iter().find(|theirs| excludes(theirs.key(), theirs.mode()));
                blockers.extend(first.map(|claim| Blocker::Waiter { waiter: waiter.clone(), claim: claim.clone() }));
            }
        }
        blockers
    }

    /// Gives all leases of an owner, or exactly those that are referenced, a new time to live. All of them or none.
    ///
    /// # Errors
    /// One of the referenced is not held any more, or is another; or the lifetime is not positive.
    pub fn renew(
        &mut self,
        owner: &str,
        ttl_ms: i64,
        references: Option<&[Reference]>,
        now_ms: i64,
    ) -> Result<Vec<ClaimLease>, Refusal> {
        if ttl_ms <= 0 {
            return Err(no_lifetime(ttl_ms));
        }
        let expires_at = end_of(now_ms, ttl_ms)?;
        // Of two references to one lease the last counts.
        let wanted: Option<HashMap<&str, &Reference>> =
            references.map(|all| all.iter().map(|reference| (reference.lease_id.as_str(), reference)).collect());
        let is_meant = |lease: &ClaimLease| {
            wanted.as_ref().is_none_or(|wanted| wanted.get(&*lease.id).is_some_and(|reference| reference.matches(lease)))
        };
        let n_meant = self.live_of(owner, now_ms).filter(|lease| is_meant(lease)).count();
        if wanted.as_ref().is_some_and(|wanted| wanted.len() != n_meant) {
            let about = format!("{owner} no longer owns the expected scoped lease set");
            return Err(Refusal::new("FENCING_TOKEN_STALE", about));
        }
        let mut renewed = Vec::with_capacity(n_meant);
        for lease in self.leases.iter_mut().filter(|lease| lease.is_live(now_ms) && lease.owner == owner) {
            if is_meant(lease) {
                lease.heartbeat_at = now_ms;
                lease.expires_at = expires_at;
                renewed.push(lease.clone());
            }
        }
        self.forget_expired(now_ms);
        Ok(renewed)
    }

    /// Gives back all leases of an owner, or those of them that match a reference; which they were.
    pub fn release(&mut self, owner: &str, references: Option<&[Reference]>, now_ms: i64) -> Vec<ClaimLease> {
        self.take(now_ms, |lease| {
            let is_meant = |all: &[Reference]| all.iter().any(|reference| reference.matches(lease));
            lease.owner == owner && references.is_none_or(is_meant)
        })
    }

    /// Gives back all leases of an owner, if they are exactly those that are referenced.
    ///
    /// # Errors
    /// They are not, or one is referenced twice.
    pub fn release_exact(&mut self, owner: &str, references: &[Reference], now_ms: i64) -> Result<Vec<ClaimLease>, Refusal> {
        if has_duplicates(references) {
            return Err(Refusal::new("LEASE_SET_INVALID", format!("{owner} contains duplicate lease ids")));
        }
        let n_owned = self.live_of(owner, now_ms).count();
        if n_owned != references.len() {
            let about = format!("{owner} owns {n_owned} active leases, expected {}", references.len());
            return Err(Refusal::new("LEASE_SET_MISMATCH", about));
        }
        for reference in references {
            if !self.live_of(owner, now_ms).any(|lease| reference.matches(lease)) {
                let about = format!("{owner} no longer owns {}", reference.lease_id);
                return Err(Refusal::new("LEASE_SET_FENCE_MISMATCH", about));
            }
        }
        Ok(self.take(now_ms, |lease| lease.owner == owner))
    }

    /// Gives back what a process had that has ended, the owner `process:<id>`. What is gone already is fine; what is there
    /// must be recorded, as it is.
    ///
    /// # Errors
    /// Something of the process is not recorded, or has changed; or the references are of another scope, or twice the same.
    pub fn release_process(
        &mut self,
        process_id: &str,
        references: &[Reference],
        now_ms: i64,
    ) -> Result<Vec<ClaimLease>, Refusal> {
        let id = trimmed(process_id);
        if id.is_empty() {
            return Err(Refusal::new("TERMINAL_PROCESS_ID_REQUIRED", ""));
        }
        if has_duplicates(references) {
            let about = format!("{id} contains duplicate lease ids");
            return Err(Refusal::new("TERMINAL_PROCESS_LEASE_SET_INVALID", about));
        }
        let is_elsewhere = |of: &String| !of.is_empty() && *of != self.repo_id;
        if references.iter().any(|reference| reference.repo_id.as_ref().is_some_and(is_elsewhere)) {
            let about = format!("{id} references another repository");
            return Err(Refusal::new("TERMINAL_PROCESS_LEASE_SCOPE_MISMATCH", about));
        }
        let owner = format!("process:{id}");
        for lease in self.live_of(&owner, now_ms) {
            let Some(reference) = references.iter().find(|reference| reference.lease_id == lease.id) else {
                let about = format!("{id} owns an unrecorded lease {}", lease.id);
                return Err(Refusal::new("TERMINAL_PROCESS_LEASE_SET_MISMATCH", about));
            };
            if !reference.matches(lease) {
                let about = format!("{id} no longer owns the recorded lease {}", lease.id);
                return Err(Refusal::new("TERMINAL_PROCESS_LEASE_FENCE_MISMATCH", about));
            }
        }
        Ok(self.take(now_ms, |lease| lease.owner == owner))
    }

    /// The lease, if it is held and has this token.
    ///
    /// # Errors
    /// It is not held any more, or by somebody with another token.
    pub fn assert(&self, lease_id: &str, token: u64, now_ms: i64) -> Result<&ClaimLease, Refusal> {
        let lease = self.live(now_ms).find(|lease| lease.id == lease_id);
        let lease = lease.ok_or_else(|| Refusal::new("LEASE_EXPIRED", lease_id))?;
        if lease.token == token { Ok(lease) } else { Err(Refusal::new("FENCING_TOKEN_STALE", lease_id)) }
    }

    fn take(&mut self, now_ms: i64, is_meant: impl Fn(&ClaimLease) -> bool) -> Vec<ClaimLease> {
        self.forget_expired(now_ms);
        self.leases.extract_if(.., |lease| is_meant(lease)).collect()
    }

    fn forget_expired(&mut self, now_ms: i64) {
        self.leases.retain(|lease| lease.is_live(now_ms));
    }
}

/// A set is about one place: this scope, one checkout, one work.
fn check_places(repo_id: &str, claims: &[Claim]) -> Result<(), Refusal> {
    for claim in claims {
        if let Some(other) = place(claim, "repoId").filter(|other| other != repo_id) {
            return Err(Refusal::new("LEASE_REPOSITORY_SCOPE_MISMATCH", format!("expected {repo_id}, received {other}")));
        }
        let is_whole = place(claim, "repoId").is_some() && place(claim, "checkoutId").is_some();
        if let Some(work) = place(claim, "workId").filter(|_| !is_whole) {
            return Err(Refusal::new("LEASE_WORK_SCOPE_INCOMPLETE", work));
        }
    }
    for (name, code) in [("checkoutId", "LEASE_CHECKOUT_SCOPE_AMBIGUOUS"), ("workId", "LEASE_WORK_SCOPE_AMBIGUOUS")] {
        let mut named = claims.iter().filter_map(|claim| place(claim, name));
        let first = named.next();
        if named.any(|other| Some(&other) != first.as_ref()) {
            return Err(Refusal::new(code, ""));
        }
    }
    Ok(())
}

fn end_of(now_ms: i64, ttl_ms: i64) -> Result<i64, Refusal> {
    now_ms.checked_add(ttl_ms).filter(|end| *end <= LAST_DATE_MS).ok_or_else(|| no_lifetime(ttl_ms))
}

fn no_lifetime(ttl_ms: i64) -> Refusal {
    Refusal::new("LEASE_TTL_INVALID", format!("{ttl_ms} ms is no lifetime"))
}

fn place(claim: &Claim, name: &str) -> Option<String> {
    claim.text(name).map(trimmed).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn has_duplicates(references: &[Reference]) -> bool {
    let mut seen = std::collections::HashSet::new();
    references.iter().any(|reference| !seen.insert(reference.lease_id.as_str()))
}
