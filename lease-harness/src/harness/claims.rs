//! Holding a set of claims.

use std::fmt;
use std::time::Duration;

use super::child::LossWatch;
use super::error::{SlotError, SlotErrorKind};
use super::who;
use crate::claims::{
    Claim, ClaimLease, ClaimStore, ClaimsError, Mode, OwnerNames, OwnerProcess, Reference, SetOutcome, SetWanted, Standing,
    Visibility, Writer,
};
use crate::pool::Wait;
use crate::store::{Beat, Ids, KeptAlive, LeaseStore, ProofOfLife, Pulse, StoreOptions, main_checkout, pause_for};

/// The lifetime of a set that nobody renews, in minutes.
const TTL_MINUTES: f64 = 30.0;

/// What to claim; a builder.
///
/// ```no_run
/// use lease_harness::ClaimRequest;
///
/// # fn main() -> Result<(), lease_harness::SlotError> {
/// let claims = ClaimRequest::new().read("schema:orders")?.write("path:fixtures/users")?.acquire()?;
/// // Nobody else has these fixtures now, and nobody changes the schema.
/// claims.release()
/// # }
/// ```
pub struct ClaimRequest {
    claims: Vec<Claim>,
    store: StoreOptions,
    scope: Option<String>,
    owner: Option<String>,
    ttl_minutes: f64,
    wait: Wait,
    listener: Option<Listener>,
}

type Listener = Box<dyn FnMut(&Standing<'_>) + Send>;

impl fmt::Debug for ClaimRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimRequest").field("claims", &self.claims).field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Default for ClaimRequest {
    fn default() -> Self {
        Self::new()
    }
}

impl ClaimRequest {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            claims: Vec::new(),
            store: StoreOptions::default(),
            scope: None,
            owner: None,
            ttl_minutes: TTL_MINUTES,
            wait: Wait::Forever,
            listener: None,
        }
    }

    /// And this resource, shared with other readers.
    ///
    /// # Errors
    /// A usage error for a blank key.
    pub fn read(self, key: &str) -> Result<Self, SlotError> {
        self.claim(Mode::Read, key)
    }

    /// And this resource, alone.
    ///
    /// # Errors
    /// A usage error for a blank key.
    pub fn write(self, key: &str) -> Result<Self, SlotError> {
        self.claim(Mode::Write, key)
    }

    /// And this resource in a mode.
    ///
    /// # Errors
    /// A usage error for a blank key.
    pub fn claim(mut self, mode: Mode, key: &str) -> Result<Self, SlotError> {
        let claim = Claim::new(key, mode).map_err(|error| SlotError::new(SlotErrorKind::Usage, error.to_string()))?;
        self.claims.push(claim);
        Ok(self)
    }

    /// And these.
    #[must_use]
    pub fn claims(mut self, claims: impl IntoIterator<Item = Claim>) -> Self {
        self.claims.extend(claims);
        self
    }

    /// The store's directory (default: `LEASE_STORE`, else `logs/leases` of the repository's main checkout).
    #[must_use]
    pub fn store(mut self, dir: impl Into<std::path::PathBuf>) -> Self {
        self.store.store = Some(dir.into());
        self
    }

    /// Claims of different scopes never meet (default: the repository's main checkout, else the current directory).
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Who asks (default: `LEASE_OWNER`, else `<user>@<host>`). Each set has a name of its own behind it, so that two sets of
    /// one owner exclude each other.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// How long the set lives without a heartbeat, in minutes; 30 by default.
    #[must_use]
    pub fn ttl_minutes(mut self, minutes: f64) -> Self {
        self.ttl_minutes = minutes;
        self
    }

    /// How long to wait for what others hold; for ever by default.
    #[must_use]
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Is told each change of the place in the queue.
    #[must_use]
    pub fn on_wait(mut self, listener: impl FnMut(&Standing<'_>) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Waits for the set and holds it.
    ///
    /// # Errors
    /// When the set was not had; nothing of it is held then, and nothing waits.
    ///
    /// # If the process dies
    /// While it waits its place is free at once; afterwards all of the set is, within moments.
    pub fn acquire(mut self) -> Result<ClaimSet, SlotError> {
        let store = LeaseStore::open(&self.store)?;
        let writer = Writer::from_env(&|name: &str| self.store.env.get(name));
        let claims = ClaimStore::new(store.clone(), &self.scope_id()?)?.as_writer(writer);
        let no_proof = || SlotError::new(SlotErrorKind::Internal, "this store knows no proofs of life");
        let proof = store.proof_of_life()?.ok_or_else(no_proof)?;
        let owner = self.owner.take().unwrap_or_else(|| who::owner(&self.store.env));
        let owner = format!("{owner}/{}", Ids::random().fresh());
        let env = |name: &str| self.store.env.get(name);
        let wanted = SetWanted {
            owner: &owner,
            claims: &self.claims,
            ttl_ms: ttl_ms(self.ttl_minutes)?,
            names: &OwnerNames::default(),
            process: &OwnerProcess { env: &env, number: std::process::id() },
            visibility: Visibility::Durable,
            alive: Some(proof.id()),
        };
        let traces = Visibility::Durable.into();
        let listener = &mut self.listener;
        let mut tell = |standing: &Standing<'_>| {
            if let Some(listener) = listener {
                listener(standing);
            }
            true
        };
        let outcome = match self.wait {
            Wait::No => claims.acquire(&wanted, traces)?,
            Wait::For(limit) => claims.acquire_within(&wanted, traces, Some(limit), &mut tell)?,
            Wait::Forever => claims.acquire_within(&wanted, traces, None, &mut tell)?,
        };
        match outcome {
            SetOutcome::Granted(leases) => ClaimSet::own(claims, owner, leases, proof, self.ttl_minutes),
            SetOutcome::Blocked(blockers) => {
                let shown: Vec<_> = blockers.iter().take(3).map(ToString::to_string).collect();
                Err(SlotError::new(SlotErrorKind::Refused, format!("not all claims could be had: {}", shown.join("; "))))
            }
        }
    }

    fn scope_id(&self) -> Result<String, SlotError> {
        if let Some(scope) = &self.scope {
            return Ok(scope.clone());
        }
        let no_folder = |error| SlotError::new(SlotErrorKind::Internal, format!("cannot find the current directory: {error}"));
        let folder = std::env::current_dir().map_err(no_folder)?;
        Ok(main_checkout(&folder).unwrap_or(folder).display().to_string())
    }
}

fn ttl_ms(minutes: f64) -> Result<i64, SlotError> {
    let ttl = Duration::try_from_secs_f64(minutes * 60.0).ok().filter(|ttl| !ttl.is_zero());
    let ttl = ttl.and_then(|ttl| i64::try_from(ttl.as_millis()).ok());
    ttl.ok_or_else(|| SlotError::new(SlotErrorKind::Usage, format!("a lifetime of {minutes} minutes is none")))
}

/// A held set of claims. It is kept alive by the process's heartbeat thread; dropping it gives it back.
///
/// # If the process dies
/// All of the set is free within moments.
pub struct ClaimSet {
    process: u32,
    claims: ClaimStore,
    owner: String,
    leases: Vec<ClaimLease>,
    loss: LossWatch,
    /// What keeps the set alive; `None` after giving it back.
    beat: Option<Beat>,
    /// Kept as long as somebody may ask whether we live.
    _proof: ProofOfLife,
}

impl fmt::Debug for ClaimSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.leases.iter().map(|lease| (lease.mode, &lease.resource_key)).collect();
        f.debug_struct("ClaimSet").field("claims", &keys).finish_non_exhaustive()
    }
}

impl ClaimSet {
    fn own(
        claims: ClaimStore,
        owner: String,
        leases: Vec<ClaimLease>,
        proof: ProofOfLife,
        ttl_minutes: f64,
    ) -> Result<Self, SlotError> {
        let loss = LossWatch::new().map_err(|error| SlotError::new(SlotErrorKind::Internal, format!("cannot watch: {error}")))?;
        let mut set = Self { process: std::process::id(), claims, owner, leases, loss, beat: None, _proof: proof };
        set.beat = Some(set.start_beat(ttl_minutes)?);
        Ok(set)
    }

    fn start_beat(&self, ttl_minutes: f64) -> Result<Beat, SlotError> {
        let kept = KeptSet {
            claims: self.claims.clone(),
            owner: self.owner.clone(),
            references: self.references(),
            ttl_ms: ttl_ms(ttl_minutes)?,
            every: pause_for(ttl_minutes),
        };
        let (watch, about) = (self.loss.clone(), self.about());
        let started = Beat::start(kept, move |reason| watch.declare(format!("{about} were lost: {reason}")));
        started.map_err(|error| SlotError::new(SlotErrorKind::Internal, format!("cannot start the heartbeat thread: {error}")))
    }

    /// The leases, in the order of the claims.
    #[must_use]
    pub fn leases(&self) -> &[ClaimLease] {
        &self.leases
    }

    /// The fencing token of a resource of the set: larger than that of every earlier grant of it.
    #[must_use]
    pub fn fence(&self, key: &str) -> Option<u64> {
        self.leases.iter().find(|lease| lease.resource_key == key).map(|lease| lease.token)
    }

    /// Tells of the loss of the set.
    #[must_use]
    pub fn loss_watch(&self) -> LossWatch {
        self.loss.clone()
    }

    /// Whether the set was lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.loss.is_lost()
    }

    /// Gives the set back, and says whether it was ours to the end.
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
        if self.beat.take().is_none() {
            return Ok(());
        }
        if let Some(reason) = self.loss.reason() {
            return Err(SlotError::new(SlotErrorKind::Lost, reason));
        }
        let released = self.claims.release_exact(&self.owner, &self.references(), None);
        released.map(drop).map_err(|error| match error {
            ClaimsError::Refused(refusal) if refusal.code() != "LOCK_HELD" => {
                SlotError::new(SlotErrorKind::Lost, format!("{} were lost: {refusal}", self.about()))
            }
            error => error.into(),
        })
    }

    fn references(&self) -> Vec<Reference> {
        self.leases.iter().map(Reference::of).collect()
    }

    fn about(&self) -> String {
        let shown: Vec<_> = self.leases.iter().map(|lease| format!("{}:{}", lease.mode, lease.resource_key)).collect();
        format!("the claims {}", shown.join(", "))
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
