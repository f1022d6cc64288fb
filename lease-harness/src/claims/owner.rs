//! Who an owner is.

use super::names::digest;
use super::refusal::Refusal;
use super::spec::Claim;
use crate::json::{Json, trimmed};

/// The seven names by which an owner is told from others, in the order in which they are digested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerIdentity {
    /// The scope.
    pub repository_id: String,
    /// The checkout that the owner works in; default: the first one that a claim names, else `unscoped`.
    pub checkout_id: String,
    /// The worktree; default: the checkout.
    pub worktree_id: String,
    /// The branch; default `unknown`.
    pub branch: String,
    /// On whose behalf; default `owner:` and the owner.
    pub principal_id: String,
    /// The running program; default `FORGE_WRITER_INSTANCE_ID`, `FORGE_DAEMON_INSTANCE_ID`, else `process:` and its number.
    pub controller_instance_id: String,
    /// Which of its generations; default `FORGE_WRITER_GENERATION`, `FORGE_ACTIVE_RUNTIME_REVISION`, else `unbound`.
    pub controller_generation: String,
}

/// What an owner says of himself; blank is unsaid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are those of an `OwnerIdentity`")]
pub struct OwnerNames {
    pub repository_id: Option<String>,
    pub checkout_id: Option<String>,
    pub worktree_id: Option<String>,
    pub branch: Option<String>,
    pub principal_id: Option<String>,
    pub controller_instance_id: Option<String>,
    pub controller_generation: Option<String>,
}

/// The process in whose name an owner acts, where defaults come from.
pub struct OwnerProcess<'a> {
    /// Its environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Its number.
    pub number: u32,
}

impl OwnerIdentity {
    /// The identity of `owner`, who claims these resources of the scope `repository`.
    ///
    /// # Errors
    /// He says that he is of another repository, or of another checkout than his claims.
    pub fn new(
        repository: &str,
        owner: &str,
        claims: &[Claim],
        names: &OwnerNames,
        process: &OwnerProcess<'_>,
    ) -> Result<Self, Refusal> {
        if let Some(received) = names.repository_id.as_deref().filter(|received| *received != repository) {
            let about = format!("expected {repository}, received {received}");
            return Err(Refusal::new("LEASE_OWNER_REPOSITORY_MISMATCH", about));
        }
        let claimed = claims.iter().filter_map(|claim| said(claim.text("checkoutId"))).next();
        // Here even white space counts as said.
        let received = names.checkout_id.as_deref().filter(|received| !received.is_empty());
        if let (Some(claimed), Some(received)) = (&claimed, received)
            && claimed != received
        {
            let about = format!("claim {claimed}, owner {received}");
            return Err(Refusal::new("LEASE_OWNER_CHECKOUT_MISMATCH", about));
        }
        let checkout = said(names.checkout_id.as_deref()).or(claimed).unwrap_or_else(|| "unscoped".to_owned());
        let inherited = |names: [&str; 2]| names.into_iter().find_map(|name| said((process.env)(name).as_deref()));
        Ok(Self {
            repository_id: repository.to_owned(),
            worktree_id: said(names.worktree_id.as_deref()).unwrap_or_else(|| checkout.clone()),
            checkout_id: checkout,
            branch: said(names.branch.as_deref()).unwrap_or_else(|| "unknown".to_owned()),
            principal_id: said(names.principal_id.as_deref()).unwrap_or_else(|| format!("owner:{owner}")),
            controller_instance_id: said(names.controller_instance_id.as_deref())
                .or_else(|| inherited(["FORGE_WRITER_INSTANCE_ID", "FORGE_DAEMON_INSTANCE_ID"]))
                .unwrap_or_else(|| format!("process:{}", process.number)),
            controller_generation: said(names.controller_generation.as_deref())
                .or_else(|| inherited(["FORGE_WRITER_GENERATION", "FORGE_ACTIVE_RUNTIME_REVISION"]))
                .unwrap_or_else(|| "unbound".to_owned()),
        })
    }

    /// The names in the order of the digest.
    pub(super) fn names(&self) -> [&str; 7] {
        [
            &self.repository_id,
            &self.checkout_id,
            &self.worktree_id,
            &self.branch,
            &self.principal_id,
            &self.controller_instance_id,
            &self.controller_generation,
        ]
    }

    /// What is digested: a compact JSON list of the seven names.
    #[must_use]
    pub fn preimage(&self) -> String {
        Json::Array(self.names().into_iter().map(Json::from).collect()).to_text()
    }

    /// The SHA-256 of the [preimage](Self::preimage), in hexadecimal digits: a name for this owner that is short and tells
    /// nothing.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(&self.preimage())
    }
}

/// A name without white space around it, unless it is blank.
fn said(name: Option<&str>) -> Option<String> {
    name.map(trimmed).filter(|name| !name.is_empty()).map(str::to_owned)
}
