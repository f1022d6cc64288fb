//! Claims in a store: the operations, with their files.
//!
//! A scope is a folder in which each owner has a file with all his leases. Every operation is about one owner, so it is one
//! file that is replaced, or removed, by one call: a process that is killed leaves all of its set or none of it. Tokens are
//! written before, events after. Readers take no lock and write nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::effects::Effects;
use super::entered::{Drawing, Entered, Told};
use super::error::{ClaimsError, ClaimsResult, RECORD_CORRUPT};
use super::index::Index;
use super::lease::{ClaimLease, Reference};
use super::ledger::Traces;
use super::names::{check_id, file_stem};
use super::place::{enter, scope_folder};
use super::queue::Queue;
use super::record::whole;
use super::refusal::Refusal;
use super::scope::{Blocker, Scope, SetOutcome, SetWanted, Waiter};
use super::spec::Claim;
use super::writer::{Writer, WriterFile};
use crate::json::{Json, Object, trimmed};
use crate::store::{LeaseStore, StoreError, Vital};
use crate::sys::disk;

/// How long an operation waits for others to leave the scope.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The claims of one scope in a store.
#[derive(Clone, Debug)]
pub struct ClaimStore {
    store: LeaseStore,
    scope: String,
    dir: PathBuf,
    lock_wait: Duration,
    pub(super) writer: Option<Writer>,
    effects: Effects,
}

impl ClaimStore {
    /// The claims of `scope`, which is mostly a repository. Nothing is created before something is claimed.
    ///
    /// # Errors
    /// `ID_INVALID` for a scope that is blank, longer than 1024 bytes, or has control characters in it.
    pub fn new(store: LeaseStore, scope: &str) -> ClaimsResult<Self> {
        let dir = scope_folder(&store, scope)?;
        Ok(Self { store, scope: scope.to_owned(), dir, lock_wait: LOCK_WAIT, writer: None, effects: Effects::default() })
    }

    /// Waits no longer than this for others to leave the scope; by default ten seconds.
    #[must_use]
    pub fn lock_wait(self, limit: Duration) -> Self {
        Self { lock_wait: limit, ..self }
    }

    /// The folder of the scope.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Grants all claims of a set, or none. An empty set is granted, and does nothing. Who waits for something that excludes the
    /// set is in the way, as those are who hold it.
    ///
    /// # Errors
    /// See [`Scope::acquire`]; `LOCK_HELD` when the scope was busy; or its files cannot be used. Nothing is granted then.
    ///
    /// # If the process dies
    /// Before this returns: all of the set is held, or nothing. Afterwards the set is held until its time has run out, or its
    /// proof of life is gone, if it names one.
    pub fn acquire(&self, wanted: &SetWanted<'_>, traces: Traces) -> ClaimsResult<SetOutcome> {
        self.acquire_as(wanted, traces, None, |_, _| Ok(()))
    }

    /// The same for who waits under this id, if there is one. `if_blocked` is called inside the lock, with the digest of who asks.
    pub(super) fn acquire_as(
        &self,
        wanted: &SetWanted<'_>,
        traces: Traces,
        waiter: Option<&str>,
        if_blocked: impl FnOnce(&Entered<'_>, String) -> ClaimsResult<()>,
    ) -> ClaimsResult<SetOutcome> {
        check_id("owner", wanted.owner)?;
        if wanted.claims.is_empty() {
            return Ok(SetOutcome::Granted(Vec::new()));
        }
        self.store.create()?;
        let entered = self.enter_as_writer("acquire_lease")?;
        let mut scope = Scope::new(&self.scope, entered.around(wanted.owner, wanted.claims)?);
        let before = entered.waiters_before(waiter)?;
        let mut source = Drawing::new(&entered)?;
        let outcome = scope.acquire(wanted, &before, entered.now_ms, &mut source)?;
        match &outcome {
            SetOutcome::Granted(leases) => {
                let held = wanted.claims.iter().map(|claim| (claim.key(), claim.mode()));
                source.keep()?;
                entered.index().add(&file_stem(wanted.owner), held)?;
                waiter.map_or(Ok(()), |id| entered.dequeue(id))?;
                entered.commit(wanted.owner, &scope)?;
                self.effects.set(wanted.visibility);
                entered.tell_of_grant(wanted.owner, leases, traces);
            }
            SetOutcome::Blocked(_) => if_blocked(&entered, scope.identity(wanted)?.digest())?,
        }
        Ok(outcome)
    }

    /// Gives an owner's leases a new time to live; see [`Scope::renew`].
    ///
    /// # Errors
    /// See there; `LOCK_HELD` when the scope was busy; or its files cannot be used. Nothing is renewed then.
    pub fn renew(&self, owner: &str, ttl_ms: i64, references: Option<&[Reference]>) -> ClaimsResult<Vec<ClaimLease>> {
        check_id("owner", owner)?;
        let entered = self.enter_as_writer("renew_lease")?;
        let mut scope = entered.scope_of(owner)?;
        let renewed = scope.renew(owner, ttl_ms, references, entered.now_ms)?;
        entered.commit(owner, &scope)?;
        Ok(renewed)
    }

    /// Gives back an owner's leases; see [`Scope::release`]. What is told of it is as visible as the leases were, unless `traces`
    /// says otherwise.
    ///
    /// # Errors
    /// `LOCK_HELD` when the scope was busy; or its files cannot be used. Nothing is given back then.
    pub fn release(
        &self,
        owner: &str,
        references: Option<&[Reference]>,
        traces: Option<Traces>,
    ) -> ClaimsResult<Vec<ClaimLease>> {
        let told = Told { reason: "leases-released", more: Object::new(), traces };
        let entered = self.enter_to_release(owner)?;
        take(&entered, owner, &told, |scope, now_ms| Ok(scope.release(owner, references, now_ms)))
    }

    /// Gives back all leases of an owner, if they are exactly these; see [`Scope::release_exact`].
    ///
    /// # Errors
    /// See there; `LOCK_HELD` when the scope was busy; or its files cannot be used. Nothing is given back then.
    pub fn release_exact(&self, owner: &str, references: &[Reference], traces: Option<Traces>) -> ClaimsResult<Vec<ClaimLease>> {
        let more = [("exactSet", Json::Bool(true))].into_iter().collect();
        let told = Told { reason: "leases-released-exact", more, traces };
        let entered = self.enter_to_release(owner)?;
        take(&entered, owner, &told, |scope, now_ms| scope.release_exact(owner, references, now_ms))
    }

    /// Gives back what a process had that has ended; see [`Scope::release_process`].
    ///
    /// # Errors
    /// See there; `LOCK_HELD` when the scope was busy; or its files cannot be used. Nothing is given back then.
    pub fn release_process(
        &self,
        process_id: &str,
        references: &[Reference],
        traces: Option<Traces>,
    ) -> ClaimsResult<Vec<ClaimLease>> {
        let id = trimmed(process_id);
        let more = [("terminalProcessId", Json::from(id))].into_iter().collect();
        let told = Told { reason: "terminal-leases-released", more, traces };
        let owner = format!("process:{id}");
        check_id("owner", &owner)?;
        // The process has ended, so that no generation of it can be in anybody's way.
        take(&self.enter()?, &owner, &told, |scope, now_ms| scope.release_process(id, references, now_ms))
    }

    fn enter_to_release(&self, owner: &str) -> ClaimsResult<Entered<'_>> {
        check_id("owner", owner)?;
        self.enter_as_writer("release_lease")
    }

    /// The lease, if it is held and has this token. Writes nothing.
    ///
    /// # Errors
    /// `LEASE_EXPIRED`, `FENCING_TOKEN_STALE`; or the files cannot be read.
    pub fn assert(&self, lease_id: &str, token: u64) -> ClaimsResult<ClaimLease> {
        let scope = Scope::new(&self.scope, self.list()?);
        Ok(scope.assert(lease_id, token, self.store.now_ms())?.clone())
    }

    /// The leases that are held, in the order in which they were granted. Writes nothing.
    ///
    /// # Errors
    /// A file that cannot be read, or is damaged: what it holds is not known.
    pub fn list(&self) -> ClaimsResult<Vec<ClaimLease>> {
        self.leases(owners_in(&self.owners())?)
    }

    /// What these owners hold.
    fn leases(&self, owners: BTreeSet<String>) -> ClaimsResult<Vec<ClaimLease>> {
        let now_ms = self.store.now_ms();
        let mut leases = Vec::new();
        for owner in owners {
            leases.extend(self.read(&owner)?.into_iter().filter(|lease| lease.is_live(now_ms) && !self.is_orphan(lease)));
        }
        Ok(in_order(leases))
    }

    /// Who waits, in the order in which they came, as far as they live. Writes nothing.
    ///
    /// # Errors
    /// The queue cannot be read, or is damaged.
    pub fn waiters(&self) -> ClaimsResult<Vec<Waiter>> {
        Ok(self.queue().read()?.into_iter().filter(|waiter| self.lives(waiter)).collect())
    }

    /// Those of them who came before this one.
    pub(super) fn waiters_before(&self, id: &str) -> ClaimsResult<Vec<Waiter>> {
        Ok(self.waiters()?.into_iter().take_while(|waiter| waiter.id != id).collect())
    }

    /// Takes a waiter out of the queue.
    pub(super) fn leave_queue(&self, id: &str) -> ClaimsResult<()> {
        self.enter()?.dequeue(id)
    }

    /// What is in the way of a set for who waits under this id. Takes no lock, so it may be true no more.
    pub(super) fn look(&self, wanted: &SetWanted<'_>, id: &str) -> ClaimsResult<Vec<Blocker>> {
        let index = Index::new(&self.dir);
        let buckets = Index::buckets(wanted.claims.iter().map(Claim::key));
        let leases = match buckets {
            Some(buckets) if index.is_of_this_boot()? => self.leases(index.owners(&buckets, wanted.claims)?)?,
            _ => self.list()?,
        };
        let scope = Scope::new(&self.scope, leases);
        Ok(scope.blockers(wanted, &self.waiters_before(id)?, self.store.now_ms()))
    }

    pub(super) fn queue(&self) -> Queue {
        Queue::new(self.dir.join("waiters.json"))
    }

    /// Whether nothing proves that the waiter is gone.
    pub(super) fn lives(&self, waiter: &Waiter) -> bool {
        !matches!(self.store.vital(waiter.alive.as_deref()), Vital::Dead(_))
    }

    /// The directory of the store.
    #[must_use]
    pub fn store_dir(&self) -> &Path {
        self.store.dir()
    }

    /// The store.
    pub(crate) fn store(&self) -> &LeaseStore {
        &self.store
    }

    /// The scope's name.
    pub(crate) fn scope(&self) -> &str {
        &self.scope
    }

    pub(super) fn lock_limit(&self) -> Duration {
        self.lock_wait
    }

    pub(super) fn owners(&self) -> PathBuf {
        self.dir.join("owners")
    }

    pub(super) fn file(&self, owner_stem: &str) -> PathBuf {
        self.owners().join(format!("{owner_stem}.json"))
    }

    /// The leases in an owner's file, whether they are over or not.
    pub(super) fn read(&self, owner_stem: &str) -> ClaimsResult<Vec<ClaimLease>> {
        let path = self.file(owner_stem);
        let Some(bytes) = disk::read(&path)? else { return Ok(Vec::new()) };
        leases_of(&bytes).map_err(|what| ClaimsError::damaged(RECORD_CORRUPT, &path, what))
    }

    /// Whether the process that held the lease is gone.
    pub(super) fn is_orphan(&self, lease: &ClaimLease) -> bool {
        matches!(self.store.vital(lease.alive.as_deref()), Vital::Dead(_))
    }

    pub(super) fn effects(&self) -> &Effects {
        &self.effects
    }

    fn enter(&self) -> ClaimsResult<Entered<'_>> {
        Ok(Entered::new(self, enter(&self.dir, self.lock_wait)?))
    }

    /// Enters, unless another writer has taken over. Looked at inside the lock, so that who takes over can wait for us.
    fn enter_as_writer(&self, action: &str) -> ClaimsResult<Entered<'_>> {
        let entered = self.enter()?;
        WriterFile::new(&self.store).check(action, self.writer.as_ref())?;
        Ok(entered)
    }
}

/// Gives back what `take` takes out of the leases of an owner, and tells of it.
fn take(
    entered: &Entered<'_>,
    owner: &str,
    told: &Told<'_>,
    take: impl FnOnce(&mut Scope, i64) -> Result<Vec<ClaimLease>, Refusal>,
) -> ClaimsResult<Vec<ClaimLease>> {
    let mut scope = entered.scope_of(owner)?;
    let taken = take(&mut scope, entered.now_ms)?;
    if !taken.is_empty() {
        entered.commit(owner, &scope)?;
        entered.tell_of_release(owner, &taken, told);
    }
    Ok(taken)
}

/// The owners' files of a scope, by their names without the ending.
pub(super) fn owners_in(folder: &Path) -> ClaimsResult<BTreeSet<String>> {
    let names = disk::names(folder).map_err(StoreError::from)?;
    let stems = names.iter().filter(|name| !name.starts_with('.')).filter_map(|name| name.strip_suffix(".json"));
    Ok(stems.map(str::to_owned).collect())
}

fn leases_of(bytes: &[u8]) -> Result<Vec<ClaimLease>, String> {
    let document = Json::parse_bytes(bytes).map_err(|error| error.to_string())?;
    if document.get("schemaVersion").and_then(whole) != Some(1) {
        return Err("schemaVersion is not 1".to_owned());
    }
    let leases = document.get("leases").and_then(Json::as_array).ok_or("it has no list of leases")?;
    leases.iter().map(ClaimLease::from_json).collect()
}

/// In the order in which they were granted.
pub(super) fn in_order(mut leases: Vec<ClaimLease>) -> Vec<ClaimLease> {
    leases.sort_by_key(|lease| (lease.acquired_at, lease.sequence));
    leases
}
