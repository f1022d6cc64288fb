//! Holding a set of claims.

use std::ffi::OsStr;
use std::fmt;
use std::process::Command;
use std::time::Duration;

use super::child::LossWatch;
use super::claims::Joined;
use super::ending::Ending;
use super::error::{SlotError, SlotErrorKind};
use super::outer_claims;
use super::slot::loss_watch;
use crate::claims::{Claim, ClaimLease, ClaimStore, ClaimsError, GRANTS, Reference, SET, end_processes_of, mark_of};
use crate::json::trimmed;
use crate::store::{Beat, Env, KeptAlive, ProofOfLife, Pulse};

/// What was granted to nobody but us.
pub(super) struct OwnSet {
    /// Nobody else has this name.
    pub(super) owner: String,
    pub(super) leases: Vec<ClaimLease>,
    /// Kept as long as somebody may ask whether we live.
    pub(super) _proof: ProofOfLife,
    pub(super) ttl_ms: i64,
    /// Time between two heartbeats.
    pub(super) every: Duration,
    /// What we were started with.
    pub(super) env: Env,
}

impl OwnSet {
    pub(super) fn give_back(&self, claims: &ClaimStore) -> Result<(), SlotError> {
        Ok(claims.release_exact(&self.owner, &self.references(), None).map(drop)?)
    }

    fn references(&self) -> Vec<Reference> {
        self.leases.iter().map(Reference::of).collect()
    }
}

/// A held set of claims. It is kept alive by the process's heartbeat thread; dropping it gives it back.
///
/// # If the process dies
/// All of the set is free within moments.
pub struct ClaimSet {
    process: u32,
    /// What was asked for.
    claims: Vec<Claim>,
    /// The lease by which we have each.
    leases: Vec<ClaimLease>,
    loss: LossWatch,
    envs: Vec<(String, String)>,
    /// `None` if all is that of the claims around us.
    own: Option<(ClaimStore, OwnSet)>,
    /// What keeps it alive; `None` after giving it back.
    beat: Option<Beat>,
    /// As long as it lives, signals do not end a process that left them to us.
    _ending: Ending,
}

impl fmt::Debug for ClaimSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.leases.iter().map(|lease| (lease.mode, &lease.resource_key)).collect();
        f.debug_struct("ClaimSet").field("claims", &keys).finish_non_exhaustive()
    }
}

impl ClaimSet {
    pub(super) fn new(
        claims: Vec<Claim>,
        joined: Joined,
        own: Option<(ClaimStore, OwnSet)>,
        ending: Ending,
    ) -> Result<Self, SlotError> {
        let mut leases: Vec<_> = own.iter().flat_map(|(_, own)| own.leases.iter().cloned()).collect();
        joined.into_iter().for_each(|(claim_idx, lease)| leases.insert(claim_idx, lease));
        let (process, loss) = (std::process::id(), loss_watch());
        let loss = match (loss, &own) {
            (Err(error), Some((store, own))) => {
                let _ = own.give_back(store);
                return Err(error);
            }
            (loss, _) => loss?,
        };
        let mut set = Self { process, claims, leases, loss, envs: Vec::new(), own, beat: None, _ending: ending };
        set.envs = set.environment();
        set.beat = set.start_beat()?;
        Ok(set)
    }

    fn start_beat(&self) -> Result<Option<Beat>, SlotError> {
        let Some((store, own)) = &self.own else { return Ok(None) };
        let kept = KeptSet {
            claims: store.clone(),
            owner: own.owner.clone(),
            references: own.references(),
            ttl_ms: own.ttl_ms,
            every: own.every,
        };
        let (watch, about) = (self.loss.clone(), self.about());
        let started = Beat::start(kept, move |reason| watch.declare(format!("{about} were lost: {reason}")));
        let failed = |error| SlotError::new(SlotErrorKind::Internal, format!("cannot start the heartbeat thread: {error}"));
        started.map(Some).map_err(|error| {
            let _ = own.give_back(store);
            failed(error)
        })
    }

    fn environment(&self) -> Vec<(String, String)> {
        let Some((store, own)) = &self.own else { return Vec::new() };
        let leases: Vec<_> = own.leases.iter().collect();
        let held = outer_claims::with(&own.env, store.store().dir(), &leases);
        let mark = mark_of(&own.owner).unwrap_or_default();
        vec![(GRANTS.to_owned(), held), (SET.to_owned(), mark.to_owned())]
    }

    /// The leases, in the order of the claims. What was joined is there by the lease that was there before.
    #[must_use]
    pub fn leases(&self) -> &[ClaimLease] {
        &self.leases
    }

    /// The fencing token of a resource of the set: larger than that of every earlier grant of it. For what was joined it is
    /// that of the lease that was there before.
    #[must_use]
    pub fn fence(&self, key: &str) -> Option<u64> {
        let is_meant = |claim: &Claim| trimmed(claim.given()) == trimmed(key) || claim.key().as_str() == key;
        let claim_idx = self.claims.iter().position(is_meant)?;
        self.leases.get(claim_idx).map(|lease| lease.token)
    }

    /// Whether nothing was taken, because the claims around this process give all of it.
    #[must_use]
    pub fn is_joined(&self) -> bool {
        self.own.is_none()
    }

    /// What a process under this set sees: `LEASE_CLAIMS`, by which nested uses join, and `LEASE_CLAIMS_SET`, by which it is found
    /// and ended if it is left behind. Nothing if all was joined: then the process sees that of the claims around us.
    #[must_use]
    pub fn envs(&self) -> &[(String, String)] {
        &self.envs
    }

    /// A command that runs under this set: with [`ClaimSet::envs`] in its environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.envs(self.envs.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Tells of the loss of the set. What was joined is watched by who holds it.
    #[must_use]
    pub fn loss_watch(&self) -> LossWatch {
        self.loss.clone()
    }

    /// Whether the set was lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.loss.is_lost()
    }

    /// Ends every process that was started under this set, and still has its mark in the environment. For when the work was cut
    /// off and could not end what it had started.
    ///
    /// # Errors
    /// `Internal` when the processes of this machine cannot be looked at, or one would not end.
    pub fn end_survivors(&self) -> Result<(), SlotError> {
        let failed = |error| SlotError::new(SlotErrorKind::Internal, format!("cannot end what the work left: {error}"));
        self.own.as_ref().map_or(Ok(()), |(_, own)| end_processes_of(&own.owner)).map_err(failed)
    }

    /// The same for somebody who outlives the set.
    pub(crate) fn survivors(&self) -> ClaimSurvivors {
        ClaimSurvivors { owner: self.own.as_ref().map(|(_, own)| own.owner.clone()) }
    }

    /// Gives the set back, and says whether it was ours to the end. What was joined stays with who holds it.
    ///
    /// # Errors
    /// `Lost` when it was lost meanwhile; `Internal` when the store cannot be used, and then its lifetime ends it.
    pub fn release(mut self) -> Result<(), SlotError> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<(), SlotError> {
        if self.process != std::process::id() {
            // The heart did not come along with the fork.
            std::mem::forget(self.beat.take());
            return Err(SlotError::new(SlotErrorKind::Usage, "a fork cannot give back the claims that its parent holds"));
        }
        // A beat under way ends first, so that it cannot renew what is being given back.
        let (Some(_), Some((store, own))) = (self.beat.take(), &self.own) else { return Ok(()) };
        if let Some(reason) = self.loss.reason() {
            return Err(SlotError::new(SlotErrorKind::Lost, reason));
        }
        let released = store.release_exact(&own.owner, &own.references(), None);
        released.map(drop).map_err(|error| match error {
            ClaimsError::Refused(refusal) if refusal.code() != "LOCK_HELD" => {
                let reason = format!("{} were lost: {refusal}", self.about());
                // Whoever drops a set does not hear of it otherwise.
                self.loss.declare(&*reason);
                SlotError::new(SlotErrorKind::Lost, reason)
            }
            error => error.into(),
        })
    }

    fn about(&self) -> String {
        let own = self.own.iter().flat_map(|(_, own)| &own.leases);
        let shown: Vec<_> = own.map(|lease| format!("{}:{}", lease.mode, lease.resource_key)).collect();
        format!("the claims {}", shown.join(", "))
    }
}

/// The processes under a set besides this one.
#[derive(Clone)]
pub(crate) struct ClaimSurvivors {
    owner: Option<String>,
}

impl ClaimSurvivors {
    /// Ends them, and waits until they are gone.
    pub(crate) fn end(&self) -> std::io::Result<()> {
        self.owner.as_deref().map_or(Ok(()), end_processes_of)
    }
}

impl Drop for ClaimSet {
    fn drop(&mut self) {
        // Whoever wants to know calls `release`.
        let _ = self.give_back();
    }
}

/// A set under the heart.
struct KeptSet {
    claims: ClaimStore,
    owner: String,
    references: Vec<Reference>,
    ttl_ms: i64,
    every: Duration,
}

impl KeptAlive for KeptSet {
    fn beat(&self) -> Pulse {
        match self.claims.renew(&self.owner, self.ttl_ms, Some(&self.references)) {
            Ok(_) => Pulse::Good,
            Err(ClaimsError::Refused(refusal)) if refusal.code() == "FENCING_TOKEN_STALE" => {
                Pulse::Lost("they were given back, reaped or had expired (was this process suspended?)".to_owned())
            }
            Err(error) => Pulse::Failed(format!("they could not be renewed twice in a row: {error}")),
        }
    }

    fn every(&self) -> Duration {
        self.every
    }
}
