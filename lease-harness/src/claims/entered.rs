//! Inside the lock of a scope: what reads again before it removes, and what writes.

use std::collections::BTreeSet;
use std::io;

use super::effects::Effect;
use super::error::{ClaimsError, ClaimsResult};
use super::index::Index;
use super::lease::ClaimLease;
use super::ledger::{Ledger, Traces};
use super::marked::end_processes_of;
use super::names::file_stem;
use super::place::{claims_folder, enter};
use super::refusal::Refusal;
use super::scope::{Scope, SetWanted, Source, Waiter};
use super::spec::Claim;
use super::store::{ClaimStore, in_order, owners_in};
use super::tokens::Tokens;
use crate::json::{Json, Object, object};
use crate::store::{StoreError, iso};
use crate::sys::disk;
use crate::sys::lock::LockedPlace;

/// Inside the lock of a scope.
pub(super) struct Entered<'a> {
    claims: &'a ClaimStore,
    pub(super) now_ms: i64,
    index: Index,
    _lock: LockedPlace,
}

impl<'a> Entered<'a> {
    pub(super) fn new(claims: &'a ClaimStore, lock: LockedPlace) -> Self {
        Self { claims, now_ms: claims.store().now_ms(), index: Index::new(claims.dir()), _lock: lock }
    }

    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    fn ledger(&self) -> Ledger {
        Ledger::new(&claims_folder(self.claims.store()), self.claims.dir())
    }

    /// An id that nobody else has.
    fn fresh_id(&self, prefix: &str) -> String {
        let random = self.claims.store().ids().fresh().replace('-', "");
        format!("{prefix}-{}-{}", self.now_ms, random.get(..8).unwrap_or(&random))
    }

    /// Puts who asks behind all others.
    ///
    /// # Errors
    /// `LEASE_HOLD_AND_WAIT` when he holds something in the scope.
    pub(super) fn enqueue(&self, wanted: &SetWanted<'_>, digest: String, alive: Option<&str>) -> ClaimsResult<Waiter> {
        let owner = wanted.owner;
        if !self.reaped(&file_stem(owner))?.is_empty() {
            let about = format!("{owner} holds claims of this scope; give them back first, or claim all at once");
            return Err(Refusal::new("LEASE_HOLD_AND_WAIT", about).into());
        }
        let waiter = Waiter {
            id: self.fresh_id("WAITER"),
            owner: owner.to_owned(),
            digest,
            claims: wanted.claims.to_vec(),
            since_ms: self.now_ms,
            alive: alive.map(str::to_owned),
        };
        let mut waiters = self.claims.waiters()?;
        waiters.push(waiter.clone());
        self.claims.queue().write(&waiters)?;
        Ok(waiter)
    }

    pub(super) fn dequeue(&self, id: &str) -> ClaimsResult<()> {
        let all = self.claims.queue().read()?;
        let others: Vec<_> = all.into_iter().filter(|waiter| waiter.id != id && self.claims.lives(waiter)).collect();
        self.claims.queue().write(&others)
    }

    /// Who came before a waiter, or everybody for who does not wait.
    pub(super) fn waiters_before(&self, waiter: Option<&str>) -> ClaimsResult<Vec<Waiter>> {
        match waiter {
            Some(id) => self.claims.waiters_before(id),
            None => self.claims.waiters(),
        }
    }

    pub(super) fn scope_of(&self, owner: &str) -> ClaimsResult<Scope> {
        Ok(Scope::new(self.claims.scope(), self.reaped(&file_stem(owner))?))
    }

    /// The leases of an owner, and all of others that may exclude one of these claims.
    pub(super) fn around(&self, owner: &str, claims: &[Claim]) -> ClaimsResult<Vec<ClaimLease>> {
        self.provide_index()?;
        let buckets = Index::buckets(claims.iter().map(Claim::key));
        let mut owners = match &buckets {
            Some(buckets) => self.index().owners(buckets, claims)?,
            None => owners_in(&self.claims.owners())?,
        };
        owners.insert(file_stem(owner));
        let (mut leases, mut gone) = (Vec::new(), BTreeSet::new());
        for stem in owners {
            let of_owner = self.reaped(&stem)?;
            if of_owner.is_empty() {
                gone.insert(stem);
            }
            leases.extend(of_owner);
        }
        if let Some(buckets) = &buckets {
            gone.remove(&file_stem(owner));
            self.index().forget(buckets, &gone)?;
        }
        Ok(in_order(leases))
    }

    fn provide_index(&self) -> ClaimsResult<()> {
        if self.index().is_of_this_boot()? {
            return Ok(());
        }
        let mut held = Vec::new();
        for stem in owners_in(&self.claims.owners())? {
            held.extend(self.claims.read(&stem)?.into_iter().map(|lease| (stem.clone(), lease.key, lease.mode)));
        }
        self.index().rebuild(held.iter().map(|(stem, key, mode)| (stem.as_str(), key, *mode)))
    }

    /// The leases of an owner that are held. Those that are over are taken out of his file, and it is told.
    fn reaped(&self, owner_stem: &str) -> ClaimsResult<Vec<ClaimLease>> {
        let all = self.claims.read(owner_stem)?;
        let (live, over): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|lease| lease.is_live(self.now_ms) && !self.claims.is_orphan(lease));
        if over.is_empty() {
            return Ok(live);
        }
        end_what_is_left(&over)?;
        self.place(owner_stem, &live)?;
        // Whose time has run out, and whose process is gone before that.
        let (orphans, expired): (Vec<_>, Vec<_>) = over.into_iter().partition(|lease| lease.is_live(self.now_ms));
        for (event, leases) in [("lease_expired", expired), ("lease_reaped", orphans)] {
            let told = leases.iter().filter(|lease| Traces::from(lease.visibility).events);
            self.note(event, told.map(|lease| (lease, Object::new())));
        }
        Ok(live)
    }

    /// The one write that makes an operation true.
    pub(super) fn commit(&self, owner: &str, scope: &Scope) -> ClaimsResult<()> {
        let of_owner: Vec<_> = scope.live(self.now_ms).filter(|lease| lease.owner == owner).cloned().collect();
        self.place(&file_stem(owner), &of_owner)
    }

    fn place(&self, owner_stem: &str, leases: &[ClaimLease]) -> ClaimsResult<()> {
        let path = self.claims.file(owner_stem);
        if leases.is_empty() {
            disk::remove_file(&path)?;
            return Ok(());
        }
        let leases = Json::Array(leases.iter().map(ClaimLease::to_json).collect());
        let text = object([("schemaVersion", Json::Number(1.0)), ("leases", leases)]).to_text();
        disk::create_dirs(&self.claims.owners())?;
        disk::replace_beside(&path, text.as_bytes())?;
        Ok(())
    }

    pub(super) fn tell_of_grant(&self, owner: &str, leases: &[ClaimLease], traces: Traces) {
        let more = |lease: &ClaimLease| [("expiresAt", Json::from(iso(lease.expires_at)))].into_iter().collect();
        self.note("lease_acquired", leases.iter().filter(|_| traces.events).map(|lease| (lease, more(lease))));
        self.mark_and_wake(&format!("leases-acquired:{owner}"), traces);
    }

    /// What is wanted, else what each lease leaves, and of the last one mark and signal.
    pub(super) fn tell_of_release(&self, owner: &str, leases: &[ClaimLease], told: &Told<'_>) {
        let of = |lease: &ClaimLease| told.traces.unwrap_or_else(|| lease.visibility.into());
        let released = leases.iter().filter(|lease| of(lease).events).map(|lease| (lease, told.more.clone()));
        self.note("lease_released", released);
        if let Some(last) = leases.last() {
            self.mark_and_wake(&format!("{}:{owner}", told.reason), of(last));
        }
    }

    fn mark_and_wake(&self, reason: &str, traces: Traces) {
        if traces.mark {
            self.tell(Effect::Mark, self.ledger().mark(reason, self.now_ms));
        }
        if traces.wake {
            // The signal is that of all scopes.
            let lock = enter(&claims_folder(self.claims.store()), self.claims.lock_limit());
            self.tell(Effect::Wake, lock.is_ok() && self.ledger().wake(reason, self.now_ms));
        }
    }

    fn note<'b>(&self, event: &str, leases: impl Iterator<Item = (&'b ClaimLease, Object)>) {
        let leases: Vec<_> = leases.collect();
        let n_leases = leases.len();
        if n_leases > 0 {
            let is_told = self.ledger().note(event, leases, self.now_ms);
            self.claims.effects().told(Effect::Event, n_leases, is_told);
        }
    }

    fn tell(&self, effect: Effect, is_told: bool) {
        self.claims.effects().told(effect, 1, is_told);
    }
}

/// Before it can be granted to others: what still works under a set whose holder is gone or silent is ended.
fn end_what_is_left(over: &[ClaimLease]) -> ClaimsResult<()> {
    // Whoever has no proof of life has started nothing that carries a mark.
    let owners: BTreeSet<_> = over.iter().filter(|lease| lease.alive.is_some()).map(|lease| lease.owner.as_str()).collect();
    for owner in owners {
        // Where nobody can be looked for, nobody is waited for.
        if let Err(error) = end_processes_of(owner).or_else(unless_timed_out) {
            return Err(StoreError::busy(format!("what works under the claims of {owner} does not end: {error}")).into());
        }
    }
    Ok(())
}

fn unless_timed_out(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::TimedOut { Err(error) } else { Ok(()) }
}

/// What is told of leases that are given back.
pub(super) struct Told<'a> {
    pub(super) reason: &'a str,
    /// What an event says besides.
    pub(super) more: Object,
    pub(super) traces: Option<Traces>,
}

/// Ids and tokens from the files.
pub(super) struct Drawing<'a> {
    entered: &'a Entered<'a>,
    tokens: Tokens,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(entered: &'a Entered<'a>) -> ClaimsResult<Self> {
        Ok(Self { entered, tokens: Tokens::open(entered.claims.dir().join("tokens"))? })
    }

    /// Makes what was drawn count.
    pub(super) fn keep(self) -> ClaimsResult<()> {
        self.tokens.keep()
    }
}

impl Source for Drawing<'_> {
    type Error = ClaimsError;

    fn lease_id(&mut self, _now_ms: i64) -> String {
        self.entered.fresh_id("LEASE")
    }

    fn sequence(&mut self) -> u64 {
        self.tokens.sequence()
    }

    fn token(&mut self, claim: &Claim, seen: u64) -> ClaimsResult<u64> {
        self.tokens.next(claim.key(), seen, &self.entered.ledger())
    }
}
