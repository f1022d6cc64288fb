//! Asking for a set of claims.

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::background;
use super::claim_set::{ClaimSet, OwnSet};
use super::ending::Ending;
use super::error::{SlotError, SlotErrorKind};
use super::outer_claims::{self, OuterClaim};
use super::times::of_minutes;
use super::who;
use crate::claims::{
    Blocker, Claim, ClaimLease, ClaimStore, Mode, OwnerNames, OwnerProcess, Patience, SetOutcome, SetWanted, Standing,
    UnknownMode, Visibility, Writer, conflicts,
};
use crate::pool::Wait;
use crate::store::{Ids, LeaseStore, StoreOptions, main_checkout, pause_for};

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
    heartbeat: Option<Duration>,
    listener: Option<Listener>,
    leave_on_signals: bool,
    given_up: Option<Arc<AtomicBool>>,
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
            heartbeat: None,
            listener: None,
            leave_on_signals: false,
            given_up: None,
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

    /// Pause between two heartbeats (default: a sixth of the lifetime, 50 ms to 4 min); shorter than the lifetime, or asking is
    /// a usage error.
    #[must_use]
    pub fn heartbeat_every(mut self, pause: Duration) -> Self {
        self.heartbeat = Some(pause);
        self
    }

    /// For programs that only wait and then run something: SIGINT, SIGTERM, SIGHUP and SIGQUIT end the wait, leave the queue, and
    /// are told as [`SlotErrorKind::Interrupted`]. As long as the set is held they do not end the process either, so that it is
    /// given back undisturbed; [`Child`](super::Child) has them then.
    #[must_use]
    pub fn leave_on_signals(mut self) -> Self {
        self.leave_on_signals = true;
        self
    }

    /// Ends the wait once the flag is set: nobody waits for the set any more.
    #[must_use]
    pub(crate) fn give_up_when(mut self, given_up: Arc<AtomicBool>) -> Self {
        self.given_up = Some(given_up);
        self
    }

    /// Where the store is that of no repository and nobody names one.
    #[must_use]
    pub(crate) fn outside(mut self, folder: std::path::PathBuf) -> Self {
        self.store.outside = Some(folder);
        self
    }

    /// The claims of the scope, for who only looks.
    ///
    /// # Errors
    /// When an option is wrong.
    pub fn open(&self) -> Result<ClaimStore, SlotError> {
        let writer = Writer::from_env(&|name: &str| self.store.env.get(name));
        Ok(ClaimStore::new(LeaseStore::open(&self.store)?, &self.scope_id()?)?.as_writer(writer))
    }

    /// Waits for the set and holds it.
    ///
    /// What this process has already, because it was started under claims (`LEASE_CLAIMS`), is joined: the same, a path inside of
    /// theirs, or to read what they write. What is left is not waited for then, since somebody else may wait for theirs.
    ///
    /// # Errors
    /// When the set was not had; nothing of it is held then, and nothing waits. `Lost` when it would be joined, and is not held any
    /// more.
    ///
    /// # If the process dies
    /// While it waits its place is free at once; afterwards all of the set is, within moments.
    pub fn acquire(mut self) -> Result<ClaimSet, SlotError> {
        let ending = Ending::new(self.leave_on_signals, self.given_up.take())?;
        self.check_heartbeat()?;
        let claims = self.open()?;
        let outer = outer_claims::all_in(&self.store.env, claims.store().dir(), claims.scope());
        let (joined, rest) = self.joined(&outer, &claims)?;
        if rest.is_empty() {
            return ClaimSet::new(std::mem::take(&mut self.claims), joined, None, ending);
        }
        let own = self.take(&claims, &rest, !outer.is_empty(), &ending)?;
        if let Some(signal) = ending.signal() {
            own.give_back(&claims)?;
            return Err(SlotError::interrupted(signal));
        }
        ClaimSet::new(std::mem::take(&mut self.claims), joined, Some((claims, own)), ending)
    }

    /// The same as [`ClaimRequest::acquire`] for async code, under whatever runtime: the wait is that of a thread of its own,
    /// which ends with it. Nothing happens before the future is polled.
    ///
    /// Dropped while it waits, the future leaves the queue; dropped when the set is granted, it gives it back.
    ///
    /// # Errors
    /// As [`ClaimRequest::acquire`]; `Internal` when there can be no further thread.
    ///
    /// # If the process dies
    /// As with [`ClaimRequest::acquire`].
    pub async fn acquire_async(self) -> Result<ClaimSet, SlotError> {
        let acquired = background::run(|given_up| self.give_up_when(given_up).acquire()).await;
        acquired.map_err(|error| SlotError::new(SlotErrorKind::Internal, format!("cannot start a thread: {error}")))?
    }

    /// What the claims around us give, with the place of each in the set, and what they do not.
    fn joined(&self, outer: &[OuterClaim], claims: &ClaimStore) -> Result<(Joined, Vec<Claim>), SlotError> {
        let (mut joined, mut rest) = (Vec::new(), Vec::new());
        for (claim_idx, claim) in self.claims.iter().enumerate() {
            // The innermost is the last.
            match outer.iter().rev().find(|outer| outer.gives(claim)) {
                Some(outer) => joined.push((claim_idx, outer.join(claims)?)),
                None => rest.push(claim.clone()),
            }
        }
        Ok((joined, rest))
    }

    fn take(&mut self, claims: &ClaimStore, rest: &[Claim], is_inside: bool, ending: &Ending) -> Result<OwnSet, SlotError> {
        let no_proof = || SlotError::new(SlotErrorKind::Internal, "this store knows no proofs of life");
        let proof = claims.store().proof_of_life()?.ok_or_else(no_proof)?;
        let owner = self.owner.take().unwrap_or_else(|| who::owner(&self.store.env));
        let owner = format!("{owner}/{}", Ids::random().fresh());
        let env = |name: &str| self.store.env.get(name);
        let wanted = SetWanted {
            owner: &owner,
            claims: rest,
            ttl_ms: ttl_ms(self.ttl_minutes)?,
            names: &OwnerNames::default(),
            process: &OwnerProcess { env: &env, number: std::process::id() },
            visibility: Visibility::Durable,
            alive: Some(proof.id()),
        };
        let listener = &mut self.listener;
        let mut tell = |standing: &Standing<'_>| {
            listener.iter_mut().for_each(|listener| listener(standing));
            true
        };
        let is_over = || ending.is_asked();
        let patience = |limit| Patience { limit, is_over: &is_over };
        let traces = Visibility::Durable.into();
        // Who holds claims and waits for others could wait for somebody who waits for him.
        let outcome = match self.wait {
            _ if is_inside => claims.acquire(&wanted, traces)?,
            Wait::No => claims.acquire(&wanted, traces)?,
            Wait::For(limit) => claims.acquire_patiently(&wanted, traces, &patience(Some(limit)), &mut tell)?,
            Wait::Forever => claims.acquire_patiently(&wanted, traces, &patience(None), &mut tell)?,
        };
        let leases = match outcome {
            SetOutcome::Granted(leases) => leases,
            SetOutcome::Blocked(blockers) => {
                return Err(ending.signal().map_or_else(|| not_had(&blockers, is_inside), SlotError::interrupted));
            }
        };
        let (ttl_ms, every) = (ttl_ms(self.ttl_minutes)?, self.heartbeat.unwrap_or_else(|| pause_for(self.ttl_minutes)));
        Ok(OwnSet { owner, leases, _proof: proof, ttl_ms, every, env: self.store.env.clone() })
    }

    /// Leases that are not renewed within their lifetime are lost for certain, at some later moment.
    fn check_heartbeat(&self) -> Result<(), SlotError> {
        match self.heartbeat {
            Some(pause) if of_minutes(self.ttl_minutes) <= pause => {
                let message = format!("a heartbeat every {pause:?} is too slow for a lifetime of {} minutes", self.ttl_minutes);
                Err(SlotError::new(SlotErrorKind::Usage, message))
            }
            _ => Ok(()),
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

/// Leases of others, with the place of each in the set that is asked for.
pub(super) type Joined = Vec<(usize, ClaimLease)>;

fn not_had(blockers: &[Blocker], is_inside: bool) -> SlotError {
    let shown: Vec<_> = blockers.iter().take(3).map(ToString::to_string).collect();
    let mut message = format!("not all claims could be had: {}", shown.join("; "));
    if is_inside {
        message += "; and this process does not wait for them, because it is under claims already (LEASE_CLAIMS), for which they \
                    may wait (LEASE_HOLD_AND_WAIT): claim all of it at once, out there";
    }
    SlotError::new(SlotErrorKind::Refused, message)
}

fn ttl_ms(minutes: f64) -> Result<i64, SlotError> {
    let ttl = Duration::try_from_secs_f64(minutes * 60.0).ok().filter(|ttl| !ttl.is_zero());
    let ttl = ttl.and_then(|ttl| i64::try_from(ttl.as_millis()).ok());
    ttl.ok_or_else(|| SlotError::new(SlotErrorKind::Usage, format!("a lifetime of {minutes} minutes is none")))
}

/// Claims as an attribute writes them: mode and key of each.
pub(crate) fn claims_of(written: &[(&str, &str)]) -> Result<Vec<Claim>, SlotError> {
    let usage = |error: &dyn fmt::Display| SlotError::new(SlotErrorKind::Usage, error.to_string());
    let claim = |(mode, key): &(&str, &str)| {
        let mode: Mode = mode.parse().map_err(|error: UnknownMode| usage(&error))?;
        Claim::new(key, mode).map_err(|error| usage(&error))
    };
    written.iter().map(claim).collect()
}

/// Whether two sets, so written, could not be held at once.
pub(crate) fn exclude_each_other(left: &[(&str, &str)], right: &[(&str, &str)]) -> bool {
    let (left, right) = (claims_of(left).unwrap_or_default(), claims_of(right).unwrap_or_default());
    left.iter().any(|left| right.iter().any(|right| conflicts(left, right)))
}

/// Tells a waiter's place on stderr, also of a test whose output is captured: otherwise it would look stuck.
pub(crate) fn tell_claims_place(Standing { position, blockers }: &Standing<'_>) {
    let in_the_way = blockers.first().map(ToString::to_string).unwrap_or_default();
    // Nobody is left to be told that stderr is gone.
    let _ = writeln!(std::io::stderr(), "lease-harness: queue position {position}: {in_the_way}");
}
