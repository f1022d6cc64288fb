//! Leases, references and blockers as documents.

use super::key::ResourceKey;
use super::lease::{ClaimLease, Reference, Visibility};
use super::owner::{OwnerIdentity, OwnerNames};
use super::scope::{Blocker, Waiter};
use super::spec::Claim;
use crate::json::{Json, Object};
use crate::store::{iso, parse_time};

/// The version of these documents.
const SCHEMA_VERSION: f64 = 1.0;
/// The largest whole number of a document.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// A whole number from zero, if it is one that a document can hold exactly.
pub(super) fn whole(value: &Json) -> Option<u64> {
    let number = value.as_f64().filter(|number| (0.0..LARGEST).contains(number) && number.fract() == 0.0)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and in range")]
    Some(number as u64)
}

/// The number of a document.
#[expect(clippy::cast_precision_loss, reason = "tokens grow by one, and stay below 2^53")]
pub(super) fn number(value: u64) -> Json {
    Json::Number(value as f64)
}

fn time(of: &Json, name: &str) -> Result<i64, String> {
    let ms = of.get(name).and_then(Json::as_str).and_then(parse_time);
    #[expect(clippy::cast_possible_truncation, reason = "a date is within the range")]
    ms.map(|ms| ms as i64).ok_or_else(|| format!("{name} is no time"))
}

impl Visibility {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Ephemeral => "ephemeral",
        }
    }
}

impl ClaimLease {
    /// The lease's document.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut lease = Object::new();
        lease.insert("schemaVersion", SCHEMA_VERSION);
        lease.insert("leaseId", self.id.as_str());
        lease.insert("repoId", self.repo_id.as_str());
        for (name, value) in [("checkoutId", &self.checkout_id), ("workId", &self.work_id)] {
            if let Some(value) = value {
                lease.insert(name, value.as_str());
            }
        }
        lease.insert("resourceKey", self.resource_key.as_str());
        lease.insert("mode", self.mode.as_str());
        lease.insert("ownerJobId", self.owner.as_str());
        lease.insert("ownerIdentity", self.identity.to_json());
        lease.insert("ownerIdentityDigest", self.identity.digest());
        lease.insert("fencingToken", number(self.token));
        lease.insert("sequence", number(self.sequence));
        lease.insert("acquiredAt", Json::from(iso(self.acquired_at)));
        lease.insert("expiresAt", Json::from(iso(self.expires_at)));
        lease.insert("heartbeatAt", Json::from(iso(self.heartbeat_at)));
        lease.insert("visibility", self.visibility.as_str());
        if let Some(alive) = &self.alive {
            lease.insert("alive", alive.as_str());
        }
        Json::Object(lease)
    }

    /// Reads the document; else what is wrong with it. A lease of which anything is missing is damaged, not endless.
    pub(super) fn from_json(lease: &Json) -> Result<Self, String> {
        let optional = |name: &str| lease.get(name).and_then(Json::as_str).map(str::to_owned);
        let text = |name: &str| optional(name).ok_or_else(|| format!("{name} is no text"));
        if lease.get("schemaVersion") != Some(&Json::Number(SCHEMA_VERSION)) {
            return Err("schemaVersion is not 1".to_owned());
        }
        let resource_key = text("resourceKey")?;
        Ok(Self {
            id: text("leaseId")?,
            repo_id: text("repoId")?,
            checkout_id: optional("checkoutId"),
            work_id: optional("workId"),
            key: ResourceKey::new(&resource_key).ok_or("resourceKey is blank")?,
            resource_key,
            mode: text("mode")?.parse().map_err(|error| format!("mode: {error}"))?,
            owner: text("ownerJobId")?,
            identity: OwnerIdentity::from_json(lease.get("ownerIdentity").unwrap_or(&Json::Null))?,
            token: lease.get("fencingToken").and_then(whole).ok_or("fencingToken is no whole number")?,
            sequence: lease.get("sequence").and_then(whole).unwrap_or_default(),
            acquired_at: time(lease, "acquiredAt")?,
            expires_at: time(lease, "expiresAt")?,
            heartbeat_at: time(lease, "heartbeatAt")?,
            visibility: match optional("visibility").as_deref() {
                Some("durable") => Visibility::Durable,
                Some("ephemeral") => Visibility::Ephemeral,
                _ => return Err("visibility is neither durable nor ephemeral".to_owned()),
            },
            alive: optional("alive"),
        })
    }
}

/// The names of an identity in its document, in the order of the digest.
const IDENTITY: [&str; 7] =
    ["repositoryId", "checkoutId", "worktreeId", "branch", "principalId", "controllerInstanceId", "controllerGeneration"];

impl OwnerIdentity {
    /// The identity's document.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let names = IDENTITY.into_iter().zip(self.names());
        Json::Object(names.map(|(name, value)| (name.to_owned(), Json::from(value))).collect())
    }

    fn from_json(identity: &Json) -> Result<Self, String> {
        let name = |name: &str| {
            let text = identity.get(name).and_then(Json::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("ownerIdentity.{name} is no text"))
        };
        let [repository, checkout, worktree, branch, principal, instance, generation] = IDENTITY;
        Ok(Self {
            repository_id: name(repository)?,
            checkout_id: name(checkout)?,
            worktree_id: name(worktree)?,
            branch: name(branch)?,
            principal_id: name(principal)?,
            controller_instance_id: name(instance)?,
            controller_generation: name(generation)?,
        })
    }
}

impl OwnerNames {
    /// Reads the names from a document like that of an identity; null says nothing.
    ///
    /// # Errors
    /// A name that is no text, or one that is unknown.
    pub fn from_json(names: &Json) -> Result<Self, String> {
        let mut given = Self::default();
        let members = match names {
            Json::Null => return Ok(given),
            Json::Object(members) => members,
            _ => return Err("an identity is an object".to_owned()),
        };
        let [repository, checkout, worktree, branch, principal, instance, generation] = IDENTITY;
        for (name, value) in members.iter() {
            let text = value.as_str().map(str::to_owned).ok_or_else(|| format!("{name} is no text"))?;
            let place = match name {
                name if name == repository => &mut given.repository_id,
                name if name == checkout => &mut given.checkout_id,
                name if name == worktree => &mut given.worktree_id,
                name if name == branch => &mut given.branch,
                name if name == principal => &mut given.principal_id,
                name if name == instance => &mut given.controller_instance_id,
                name if name == generation => &mut given.controller_generation,
                _ => return Err(format!("{name} is none of {}", IDENTITY.join(", "))),
            };
            *place = Some(text);
        }
        Ok(given)
    }
}

impl Reference {
    /// Reads a reference; else what is wrong with it.
    ///
    /// # Errors
    /// It has no id, or no whole number as token; a token that no lease can have matches none.
    pub fn from_json(reference: &Json) -> Result<Self, String> {
        let text = |name: &str| reference.get(name).and_then(Json::as_str).map(str::to_owned);
        Ok(Self {
            lease_id: text("leaseId").ok_or("a reference's leaseId is a text")?,
            token: reference.get("fencingToken").and_then(whole).ok_or("a reference's fencingToken is a whole number")?,
            repo_id: text("repoId"),
            checkout_id: text("checkoutId"),
            work_id: text("workId"),
            resource_key: text("resourceKey"),
            owner_digest: text("ownerIdentityDigest"),
        })
    }
}

impl Blocker {
    /// What is told of what is in the way.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let (key, owner, id, mode, digest) = match self {
            Self::Lease(lease) => (&*lease.resource_key, &lease.owner, &lease.id, lease.mode, lease.identity.digest()),
            Self::Waiter { waiter, claim } => (claim.given(), &waiter.owner, &waiter.id, claim.mode(), waiter.digest.clone()),
        };
        let mut blocker = Object::new();
        blocker.insert("resourceKey", key);
        blocker.insert("ownerJobId", owner.as_str());
        blocker.insert("leaseId", id.as_str());
        blocker.insert("mode", mode.as_str());
        blocker.insert("ownerIdentityDigest", digest);
        if matches!(self, Self::Waiter { .. }) {
            blocker.insert("waits", Json::Bool(true));
        }
        Json::Object(blocker)
    }
}

impl Waiter {
    /// The waiter's document.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut waiter = Object::new();
        waiter.insert("waiterId", self.id.as_str());
        waiter.insert("ownerJobId", self.owner.as_str());
        waiter.insert("ownerIdentityDigest", self.digest.as_str());
        waiter.insert("claims", Json::Array(self.claims.iter().map(Claim::to_json).collect()));
        waiter.insert("since", Json::from(iso(self.since_ms)));
        if let Some(alive) = &self.alive {
            waiter.insert("alive", alive.as_str());
        }
        Json::Object(waiter)
    }

    pub(super) fn from_json(waiter: &Json) -> Result<Self, String> {
        let optional = |name: &str| waiter.get(name).and_then(Json::as_str).map(str::to_owned);
        let text = |name: &str| optional(name).ok_or_else(|| format!("{name} is no text"));
        let claims = waiter.get("claims").and_then(Json::as_array).ok_or("claims is no list")?;
        Ok(Self {
            id: text("waiterId")?,
            owner: text("ownerJobId")?,
            digest: text("ownerIdentityDigest")?,
            claims: claims.iter().map(Claim::from_json).collect::<Result<_, _>>().map_err(|error| error.to_string())?,
            since_ms: time(waiter, "since")?,
            alive: optional("alive"),
        })
    }
}
