//! One durable lease per kind, in a directory that every program of a host may share.
//!
//! The record `<kind>.json` is the mutex. Changes are made inside the kind's guard and placed by a rename, so readers
//! need no lock and never see half a record. A lease ends by release, by its TTL, or when its holder's proof of life
//! does.

mod alive;
mod alone;
mod checks;
mod date;
mod death;
mod error;
mod fence;
mod files;
mod guard;
mod heartbeat;
mod journal;
mod location;
mod options;
mod outcome;
mod owner;
mod record;
mod renew;
mod resource;
mod resource_file;
mod room;
mod survey;
mod tend;
mod wait;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use checks::{check_kind, check_ttl};
use fence::Drawn;
use guard::Guard;
use room::Rooms;

pub use checks::is_kind;
pub use date::parse as parse_time;
pub use error::{StoreError, StoreErrorKind, StoreResult};
pub use location::main_checkout;
pub use options::StoreOptions;
pub use outcome::{Acquired, Reaped, Reconciled, Refreshed, Released, Status};
pub use owner::OwnerFence;
pub use record::{Expiry, Found, Record};
pub use resource::{ManagedResource, ResourceKind, ResourceState, completed_resource, is_known_resource};
pub use wait::Waited;

pub use crate::sys::clock::{Clock, Ids};
pub use crate::sys::disk::errno_name;
pub use crate::sys::env::Env;

#[cfg(feature = "claims")]
pub(crate) use alive::CLAIMS;
pub(crate) use alive::{ProofOfLife, Vital, folder as alive_folder};
pub(crate) use alone::{Alone, Entering};
pub(crate) use error::chain;
use files::refuse_network;
pub(crate) use heartbeat::{Beat, Beaten, LostNote, beat_from_now_on, pause_for, put_off, quiesce, resume};
#[cfg(feature = "claims")]
pub(crate) use heartbeat::{KeptAlive, Pulse};
use journal::note;
pub(crate) use journal::{iso, note_in};
pub(crate) use owner::quoted;
pub(crate) use record::to_f64;
pub(crate) use renew::Keeper;
pub(crate) use resource_file::{Resources, lock as lock_folder};
pub(crate) use tend::{Gone, Kept, LeaseOf, Tending, Until};
pub(crate) use wait::millis;

use crate::json::{Json, Object};
use crate::sys::clock;
use crate::sys::disk::{self, Anew, At, FileSystem, KnownMaker};

/// What the name of a lease's record ends with.
const RECORD: &str = ".json";
/// Journal of takeovers, reaps and forced releases.
const JOURNAL: &str = "reaped.log";
/// Folders whose name starts with a dot are no part of the format; this keeps leases out of everybody's `git status`.
const IGNORE: &str = ".gitignore";
/// What the name of a file in the making begins with.
pub(crate) const TEMPORARY: &str = ".tmp-";
/// A temporary file that is older than this was left by a writer that is gone.
const TEMPORARY_LIMIT: Duration = Duration::from_secs(60);
/// For so long a proof of life that was there is taken to be there still.
const PROOF_LOOK: Duration = Duration::from_secs(1);
/// The longest lifetime of a lease, in minutes: 366 days.
pub const LONGEST_TTL_MINUTES: f64 = 527_040.0;

/// What to acquire.
#[derive(Clone, Debug)]
pub struct AcquireRequest<'a> {
    /// The lease's kind.
    pub kind: &'a str,
    /// Who asks.
    pub owner: &'a str,
    /// Its lifetime in minutes without a heartbeat.
    pub ttl_minutes: f64,
    /// Anything; shown to others.
    pub payload: Json,
}

/// A directory of leases. Cloning gives another handle to the same.
#[derive(Clone, Debug)]
pub struct LeaseStore {
    inner: Arc<Inner>,
}

/// What is made of the lease that is replaced: the payload, and the number that it names.
type MakePayload<'a> = dyn Fn(Option<&Record>) -> StoreResult<(Json, Option<Drawn>)> + 'a;

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    fence: OwnerFence,
    limits: GuardLimits,
    clock: Clock,
    ids: Ids,
    proof: bool,
    /// What that of the directory is like.
    file_system: FileSystem,
    /// What is known of the files that we make there.
    maker: KnownMaker,
    /// Kept as long as the store is open, because what we write names it; and when others could be seen to see it.
    life: Mutex<Option<(ProofOfLife, Duration)>>,
    rooms: Rooms,
}

#[derive(Clone, Copy, Debug)]
struct GuardLimits {
    wait: Duration,
    stale: Duration,
}

impl LeaseStore {
    /// Opens a store. Nothing is created before something is acquired.
    ///
    /// # Errors
    /// A usage error for a bad owner pattern, or a directory on a network file system, where locks do not hold.
    pub fn open(options: &StoreOptions) -> StoreResult<Self> {
        let pattern = options.owner_pattern.clone().or_else(|| options.env.get("LEASE_OWNER_PATTERN")).unwrap_or_default();
        let fence = OwnerFence::new(&pattern)?;
        let cwd = std::env::current_dir().at("find", Path::new("."))?;
        let dir = location::resolve(options, &cwd)?;
        let file_system = refuse_network(&dir)?;
        let limits = GuardLimits { wait: options.guard_wait, stale: options.guard_stale };
        let inner = Inner {
            dir,
            fence,
            limits,
            clock: options.clock.clone(),
            ids: options.ids.clone(),
            proof: options.additions,
            file_system,
            maker: KnownMaker::default(),
            life: Mutex::default(),
            rooms: Rooms::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// The owner fence.
    #[must_use]
    pub fn fence(&self) -> &OwnerFence {
        &self.inner.fence
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.inner.clock.now_ms()
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.inner.ids
    }

    /// This process's proof of life here, if the store uses them.
    pub(crate) fn proof_of_life(&self) -> StoreResult<Option<ProofOfLife>> {
        if !self.inner.proof {
            return Ok(None);
        }
        let mut life = self.inner.life.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::since_boot();
        if let Some((proof, seen)) = life.as_mut() {
            if now.saturating_sub(*seen) < PROOF_LOOK && proof.is_of_this_process() {
                return Ok(Some(proof.clone()));
            }
            if proof.can_be_seen() {
                *seen = now;
                return Ok(Some(proof.clone()));
            }
        }
        self.create()?;
        let proof = ProofOfLife::of_this_process(self.dir(), &self.inner.ids)?;
        *life = Some((proof.clone(), now));
        Ok(Some(proof))
    }

    /// Whoever finds that something of ours was removed looks whether our proof of life was, too.
    fn look_again_at_proof(&self) {
        if let Some((_, seen)) = self.inner.life.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            *seen = Duration::ZERO;
        }
    }

    /// Whether our additions to the format are in use: proofs of life, fence numbers, what else other programs ignore.
    pub(crate) fn has_additions(&self) -> bool {
        self.inner.proof
    }

    /// What a proof of life tells; nothing if the store does not use them.
    pub(crate) fn vital(&self, id: Option<&str>) -> Vital {
        let Some(id) = id.filter(|_| self.inner.proof) else { return Vital::Unknown };
        let life = self.inner.life.lock().unwrap_or_else(PoisonError::into_inner);
        match life.as_ref().filter(|(proof, _)| proof.is(id)) {
            // Whoever asks lives and works.
            Some(_) => Vital::Alive { silent_for: Duration::ZERO },
            None => alive::vital(self.dir(), id),
        }
    }

    /// Acquires the lease of a kind, also over one that is dead.
    ///
    /// # Errors
    /// A usage error for a bad kind, owner or TTL, checked in this order; else when the store cannot be used, and then
    /// nothing was acquired.
    ///
    /// # If the process dies
    /// The lease stays until its TTL has run out, or less if its payload names a proof of life.
    pub fn acquire(&self, request: &AcquireRequest<'_>) -> StoreResult<Acquired> {
        self.acquire_with(request, &|_| Ok((request.payload.clone(), None)), &mut |_| Ok(()))
    }

    /// The same with a fence number: `payload` is made when the lease is known to be free, and gets the lease that is replaced and
    /// the number. Then `tell` is told of the lease, right before it is there for others.
    pub(crate) fn acquire_fenced(
        &self,
        request: &AcquireRequest<'_>,
        payload: &dyn Fn(Option<&Record>, u64) -> StoreResult<Json>,
        tell: &mut dyn FnMut(&Record) -> StoreResult<()>,
    ) -> StoreResult<Acquired> {
        let fenced = |previous: Option<&Record>| {
            let seen = previous.and_then(Record::fence);
            let drawn = fence::draw(self.dir(), request.kind, seen, self.now_ms())?;
            Ok((payload(previous, drawn.number())?, Some(drawn)))
        };
        self.acquire_with(request, &fenced, tell)
    }

    fn acquire_with(
        &self,
        request: &AcquireRequest<'_>,
        payload: &MakePayload<'_>,
        tell: &mut dyn FnMut(&Record) -> StoreResult<()>,
    ) -> StoreResult<Acquired> {
        check_kind(request.kind)?;
        self.fence().check(request.owner)?;
        check_ttl(request.ttl_minutes)?;
        let guard = Guard::enter(self, request.kind)?;
        let now = self.now_ms();
        let kind = request.kind.to_owned();
        let found = self.found(request.kind)?;
        if let Found::Lease(record) = &found
            && !self.is_dead(request.kind, record, now)
        {
            let held_by_self = record.owner() == Some(request.owner);
            return Ok(Acquired::Held { kind, expiry: record.expiry(now), held_by_self, record: record.clone() });
        }
        let replaced = if let Found::Lease(record) = &found { Some(record) } else { None };
        let (payload, drawn) = payload(replaced)?;
        let token = self.inner.ids.fresh();
        let at = iso(now).unwrap_or_default();
        let record = Record::new(request.kind, request.owner, &token, request.ttl_minutes, payload, &at);
        // Written before the number counts, so that a full disk changes nothing.
        let is_new = found == Found::Free;
        let anew = self.anew(&self.inner.maker, |maker| Anew::linked(self.dir(), request.kind, maker)).filter(|_| is_new);
        let written = self.write(request.kind, &record, anew.as_ref())?;
        tell(&record)?;
        guard.check()?;
        drawn.map_or(Ok(()), |drawn| drawn.keep(self.dir()))?;
        let path = self.path(request.kind);
        if !is_new {
            written.swap_in(&path)?;
        } else if !written.place_new(&path)? {
            return Err(guard.lost());
        }
        let previous = (!is_new).then_some(found);
        if let Some(previous) = &previous {
            self.tell_takeover(now, request.kind, request.owner, previous);
        }
        Ok(Acquired::Acquired { kind, record, previous })
    }

    /// Gives a lease back to whoever comes next. Needs no space on the disk.
    ///
    /// # Errors
    /// When the store cannot be used; the lease is then as it was.
    pub fn release(&self, kind: &str, owner: &str, token: &str) -> StoreResult<Released> {
        check_kind(kind)?;
        self.fence().check(owner)?;
        self.release_if(kind, &|record| {
            let kind = kind.to_owned();
            let Some(record) = record else { return Some(Released::NotOwner { kind, holder: None }) };
            let holder = record.owner().map(str::to_owned);
            if record.owner() != Some(owner) {
                return Some(Released::NotOwner { kind, holder });
            }
            (record.token() != Some(token)).then_some(Released::TokenMismatch { kind, holder })
        })
    }

    /// Removes a lease whoever holds it, and tells the journal.
    ///
    /// # Errors
    /// When the store cannot be used; the lease is then as it was.
    pub fn force_release(&self, kind: &str) -> StoreResult<Released> {
        let released = self.release_if(kind, &|_| None)?;
        if let Released::Released { previous, .. } = &released {
            self.journal(self.now_ms(), "force_release", self.story(kind, previous).0);
        }
        Ok(released)
    }

    /// Removes the lease unless `refuse` has an answer; it is asked with `None` for a corrupt one.
    fn release_if(&self, kind: &str, refuse: &dyn Fn(Option<&Record>) -> Option<Released>) -> StoreResult<Released> {
        check_kind(kind)?;
        let Some(guard) = Guard::enter_existing(self, kind)? else {
            return Ok(Released::NotHeld { kind: kind.to_owned() });
        };
        let now = self.now_ms();
        let found = self.found(kind)?;
        let (refusal, was_expired) = match &found {
            Found::Free => return Ok(Released::NotHeld { kind: kind.to_owned() }),
            Found::Corrupt(_) => (refuse(None), true),
            Found::Lease(record) => (refuse(Some(record)), record.is_expired(now)),
        };
        if let Some(refusal) = refusal {
            return Ok(refusal);
        }
        guard.check()?;
        disk::remove_file(&self.path(kind))?;
        Ok(Released::Released { kind: kind.to_owned(), was_expired, previous: found })
    }

    /// Removes a lease that is dead; a live one stays.
    ///
    /// # Errors
    /// When the store cannot be used; the lease is then as it was.
    pub fn reap(&self, kind: &str) -> StoreResult<Reaped> {
        check_kind(kind)?;
        let Some(guard) = Guard::enter_existing(self, kind)? else {
            return Ok(Reaped::NotHeld { kind: kind.to_owned() });
        };
        let now = self.now_ms();
        let found = self.found(kind)?;
        let kind_text = kind.to_owned();
        let mut story = self.story(kind, &found);
        match &found {
            Found::Free => return Ok(Reaped::NotHeld { kind: kind_text }),
            Found::Lease(record) if !self.is_dead(kind, record, now) => {
                return Ok(Reaped::Held { kind: kind_text, expiry: record.expiry(now), record: record.clone() });
            }
            Found::Lease(record) if !record.is_expired(now) => {
                story.insert("reason", Json::from("the process that held it is gone"));
            }
            Found::Lease(_) | Found::Corrupt(_) => {}
        }
        guard.check()?;
        disk::remove_file(&self.path(kind))?;
        self.journal(now, "reap", story.0);
        Ok(Reaped::Reaped { kind: kind_text, previous: found })
    }

    /// Takes away the guard of a kind if a process died inside.
    ///
    /// Who waits for a lease does not knock at its guard as long as somebody holds it. But that may be a program that knows no
    /// proofs of life, and it could not even release its lease before the guard is stale.
    pub(crate) fn clear_guard(&self, kind: &str) {
        if self.inner.proof {
            guard::clear(self, kind);
        }
    }

    /// Removes what dead processes left: half-written files, guards, proofs of life. What cannot be removed stays: that
    /// must not cost anybody a slot.
    pub(crate) fn tidy(&self) {
        if !self.inner.proof {
            return;
        }
        self.remove_left_temporaries(self.dir());
        disk::tidy_anew(self.dir());
        for name in disk::names(self.dir()).unwrap_or_default() {
            let _ = guard::collect(self, &name);
        }
        let _ = alive::collect(self.dir(), guard::is_in_place);
    }

    /// Removes the half-written files in a folder whose writers are gone.
    pub(crate) fn remove_left_temporaries(&self, folder: &Path) {
        let names = if self.inner.proof { disk::names(folder) } else { Ok(Vec::new()) };
        for name in names.unwrap_or_default().iter().filter(|name| name.starts_with(TEMPORARY)) {
            let path = folder.join(name);
            if matches!(disk::age_of(&path), Ok(Some(age)) if age > TEMPORARY_LIMIT) {
                let _ = disk::remove_file(&path);
            }
        }
    }

    /// Creates the directory if there is none, hidden from git.
    ///
    /// # Errors
    /// When it cannot be created, or lies on a network file system.
    pub fn create(&self) -> StoreResult<()> {
        if self.dir().is_dir() {
            return Ok(());
        }
        fs::create_dir_all(self.dir()).at("create", self.dir())?;
        refuse_network(self.dir())?;
        let ignore = self.dir().join(IGNORE);
        fs::write(&ignore, "*\n").at("write", &ignore)?;
        Ok(())
    }

    fn story(&self, kind: &str, previous: &Found) -> Story {
        let mut story = Object::new();
        story.insert("kind", Json::from(kind));
        story.insert("previous", previous.to_json(kind));
        Story(story)
    }

    fn journal(&self, now: i64, event: &str, rest: Object) {
        note(&disk::path_in(self.dir(), &[JOURNAL]), now, event, rest);
    }
}

/// The name of the file of a kind's lease.
pub(crate) fn file_name(kind: &str) -> String {
    kind.to_owned() + RECORD
}

/// The members of a journal line.
struct Story(Object);

impl Story {
    fn insert(&mut self, key: &str, value: Json) {
        self.0.insert(key, value);
    }

    fn in_order(mut self, keys: &[&str]) -> Object {
        keys.iter().filter_map(|key| self.0.remove(key).map(|value| ((*key).to_owned(), value))).collect()
    }
}
