//! Asking for a slot.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::background;
use super::ending::Ending;
use super::error::{SlotError, SlotErrorKind};
use super::grants;
use super::joining::{self, AskedTurn, join};
use super::nextest_run::NextestRun;
use super::pool_files;
#[cfg(feature = "mimic")]
use super::run_notes::NamedPool;
use super::several::Place;
use super::slot::{Slot, loss_watch};
use super::teller::{self, Teller};
use super::times;
use super::who;
use crate::json::number_text;
use crate::pool::{CommandOverrides, Holding, Outcome, Pool, PoolFile, PoolOptions, PoolStatus, SlotWanted, Standing, Wait};
use crate::store::{Env, Found, LeaseStore, StoreOptions};
use crate::sys::process::{Process, known_as};

mod inner;
mod refusals;

pub(super) use refusals::shared_kind;
use refusals::{about_file, check_writable, kinds_of, refuse_shared_kinds};

/// Where a waiter stands.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Waiting {
    /// Name of the pool.
    pub pool: String,
    /// Place in the queue, from 1.
    pub position: usize,
    /// About how long it will take.
    pub eta: Duration,
    /// Whether it is a slot that the run of this process holds for its tests, for which there is no queue: whoever is there
    /// first when one is free has it. The position is 1 then, and nothing is known of the time.
    pub is_for_turn: bool,
}

/// What a pool is, as far as it can be told without asking for a slot.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolInfo {
    /// Its name.
    pub name: String,
    /// How many slots it has.
    pub slots: usize,
    /// The store's directory.
    pub store: PathBuf,
    /// What is doubtful about the pool file or the owner fence although it works.
    pub warnings: Vec<String>,
    /// Whether commands or functions make its slots ready before they are granted.
    pub makes_clean: bool,
    /// Whether this process works under a grant of this pool already, so that asking joins that one slot.
    pub is_joined: bool,
}

pub(super) type Listener = Box<dyn FnMut(&Waiting) + Send>;

/// What to ask of a pool; a builder.
///
/// ```no_run
/// use lease_harness::{SlotRequest, Wait};
/// use std::time::Duration;
///
/// # fn main() -> Result<(), lease_harness::SlotError> {
/// let slot = SlotRequest::from_file("pool.json").wait(Wait::For(Duration::from_secs(60))).acquire()?;
/// println!("port {}", slot.env("PORT_API").unwrap_or_default());
/// slot.release()
/// # }
/// ```
pub struct SlotRequest {
    file: PathBuf,
    store: StoreOptions,
    pool: PoolOptions,
    owner: Option<String>,
    session: Option<String>,
    wait: Wait,
    heartbeat: Option<Duration>,
    listener: Option<Listener>,
    leave_on_signals: bool,
    given_up: Option<Arc<AtomicBool>>,
    run: Option<NextestRun>,
    /// For whom it is, if not for this process, and what that one is told of its run.
    asker: Option<(Arc<Process>, Env)>,
    opened: Option<Pool>,
    /// Kinds of slots that the asker has taken for the same work, all of them before this one in the common order.
    holds: Vec<String>,
}

impl fmt::Debug for SlotRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotRequest").field("file", &self.file).field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl SlotRequest {
    /// A slot of the pool that this file describes. A relative path is looked for in the working directory, and in a test of
    /// cargo's where the attribute looks: in the package's folder, then in the workspace's.
    pub fn from_file(pool_file: impl Into<PathBuf>) -> Self {
        let file = pool_files::named(pool_file.into());
        // A test runs in its package's folder and `cargo lease` wherever it was typed: outside of repositories, the pool
        // file is what they have in common.
        let outside = file.parent().map(Path::to_owned);
        Self {
            file,
            store: StoreOptions { outside, ..StoreOptions::default() },
            pool: PoolOptions::default(),
            owner: None,
            session: None,
            wait: Wait::Forever,
            heartbeat: None,
            listener: None,
            leave_on_signals: false,
            given_up: None,
            run: None,
            asker: None,
            opened: None,
            holds: Vec::new(),
        }
    }

    /// The store's directory (default: `LEASE_STORE`, else `logs/leases` of the repository's main checkout; outside of
    /// repositories, `logs/leases` beside the pool file).
    #[must_use]
    pub fn store(mut self, dir: impl Into<PathBuf>) -> Self {
        self.store.store = Some(dir.into());
        self
    }

    /// Who asks (default: `LEASE_OWNER`, else `<user>@<host>`).
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// The owner fence, an anchored ECMAScript pattern (default: `LEASE_OWNER_PATTERN`, else the format's). Another one than the
    /// format's needs the feature `owner-patterns`.
    #[must_use]
    pub fn owner_pattern(mut self, pattern: impl Into<String>) -> Self {
        self.store.owner_pattern = Some(pattern.into());
        self
    }

    /// What is shown to people as the session (default: worktree, package, test).
    #[must_use]
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Lifetime in minutes without a heartbeat (default: `POOL_TTL_MINUTES`, else the pool file's).
    #[must_use]
    pub fn ttl_minutes(mut self, minutes: f64) -> Self {
        self.pool.ttl_minutes = Some(minutes);
        self
    }

    /// How long to wait (default: for ever).
    #[must_use]
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Pause between two heartbeats (default: a sixth of the lifetime, 50 ms to 4 min); shorter than the lifetime, or asking
    /// is a usage error.
    #[must_use]
    pub fn heartbeat_every(mut self, pause: Duration) -> Self {
        self.heartbeat = Some(pause);
        self
    }

    /// Commands that replace those of the pool file.
    #[must_use]
    pub fn commands(mut self, commands: CommandOverrides) -> Self {
        self.pool.commands = commands;
        self
    }

    /// Called each time the place in the queue changes, on the thread that waits: the calling one, or that of
    /// [`SlotRequest::acquire_async`].
    #[must_use]
    pub fn on_wait(mut self, listener: impl FnMut(&Waiting) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// For programs that only wait and then run something: SIGINT, SIGTERM, SIGHUP and SIGQUIT end the wait, leave the
    /// queue, and are told as [`SlotErrorKind::Interrupted`]. As long as the slot is held they do not end the process either,
    /// so that it is given back undisturbed; [`Child`](super::Child) has them then. Without this a library's user keeps its
    /// signals.
    #[must_use]
    pub fn leave_on_signals(mut self) -> Self {
        self.leave_on_signals = true;
        self
    }

    /// Ends the wait, and a command that prepares the slot, once the flag is set: nobody waits for the slot any more.
    #[must_use]
    pub(crate) fn give_up_when(mut self, given_up: Arc<AtomicBool>) -> Self {
        self.given_up = Some(given_up);
        self
    }

    /// For a slot that a whole run of nextest works in: one that this run has been granted already is joined, also if a process
    /// that has ended since had asked for it. The wait ends with the run.
    #[must_use]
    pub fn for_run(mut self, run: &NextestRun) -> Self {
        self.run = Some(run.clone());
        self
    }

    /// What is shown as the session, and who is told of the place in the queue, if nobody said so.
    #[cfg(feature = "mimic")]
    #[must_use]
    pub(crate) fn or_else(mut self, session: String, listener: impl FnMut(&Waiting) + Send + 'static) -> Self {
        self.session.get_or_insert(session);
        self.listener.get_or_insert_with(|| Box::new(listener));
        self
    }

    /// The pool, as a listing is told of it. A path that is not absolute is one of the process.
    #[cfg(feature = "mimic")]
    pub(crate) fn named_pool(&self) -> NamedPool {
        let (written, found) = (self.file.display().to_string(), std::path::absolute(&self.file).ok());
        NamedPool { written, found, store: self.store.store.as_deref().and_then(|dir| std::path::absolute(dir).ok()) }
    }

    /// The pool, for who keeps a slot of it for somebody else.
    ///
    /// # Errors
    /// When the pool file or an option is wrong.
    pub fn open(&self) -> Result<Pool, SlotError> {
        if let Some(pool) = &self.opened {
            return Ok(pool.stopped_by(self.pool.stop.clone()));
        }
        if self.file.is_relative() && !self.file.exists() {
            // It was not found anywhere: this says where it was looked for.
            pool_files::find(&self.file)?;
        }
        let file = PoolFile::load(&self.file).map_err(|error| about_file(&error))?;
        let store = LeaseStore::open(&self.store)?;
        Ok(Pool::open(file, store, self.pool.clone())?)
    }

    pub(super) fn owner_name(&self, pool: &Pool) -> Result<String, SlotError> {
        let owner = self.owner.clone().unwrap_or_else(|| who::owner(&self.store.env));
        if pool.store().fence().contains(&owner)? {
            return Ok(owner);
        }
        let hint = if self.owner.is_none() { "; set it with --owner or LEASE_OWNER" } else { "" };
        let shown = crate::json::Json::from(&owner).to_text();
        let pattern = pool.store().fence().shown();
        let message = format!("invalid owner {shown} — must match the owner pattern {pattern}{hint}");
        Err(SlotError::new(SlotErrorKind::Usage, message))
    }

    /// A lease that is not refreshed within its lifetime is lost for certain, at some later moment.
    fn check_heartbeat(&self, pool: &Pool) -> Result<(), SlotError> {
        let lifetime = times::of_minutes(pool.ttl_minutes());
        match self.heartbeat {
            Some(pause) if pause >= lifetime => {
                let (pause, minutes) = (pause.as_secs_f64(), pool.ttl_minutes());
                let message = format!(
                    "a heartbeat every {} seconds is too slow for a lifetime (ttl) of {} minutes: the lease would be lost \
                     between two",
                    number_text(pause),
                    number_text(minutes)
                );
                Err(SlotError::new(SlotErrorKind::Usage, message))
            }
            _ => Ok(()),
        }
    }

    /// Checks everything that can be checked without asking for a slot: the pool file, the heartbeat, the owner, that the
    /// store can be written. Changes nothing.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<PoolInfo, SlotError> {
        let pool = self.open()?;
        self.check_heartbeat(&pool)?;
        self.owner_name(&pool)?;
        check_writable(pool.store().dir())?;
        Ok(PoolInfo {
            name: pool.file().name().to_owned(),
            slots: pool.file().slots().len(),
            store: pool.store().dir().to_owned(),
            warnings: pool.warnings(),
            makes_clean: pool.makes_clean(),
            is_joined: grants::find(&self.store.env, pool.store().dir(), pool.file().name()).is_some(),
        })
    }

    /// What works but is doubtful in the pool file and the owner pattern.
    ///
    /// # Errors
    /// When one of them is wrong.
    pub fn warnings(&self) -> Result<Vec<String>, SlotError> {
        Ok(self.open()?.warnings())
    }

    /// How the pool stands. Takes no lock and changes nothing.
    ///
    /// # Errors
    /// When the pool file is wrong or the store cannot be read.
    pub fn status(&self) -> Result<PoolStatus, SlotError> {
        Ok(self.open()?.status()?)
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Where the pool is.
    pub(super) fn place(&self) -> Result<Place, SlotError> {
        let pool = self.open()?;
        Ok(Place { store: grants::real(pool.store().dir()), pool: pool.file().name().to_owned() })
    }

    /// The leases of the pool's slots, by their kinds.
    pub(super) fn kinds(&self) -> Result<BTreeSet<String>, SlotError> {
        Ok(kinds_of(&self.open()?))
    }

    /// The pool's name, and the variables that a grant of it may set besides those of every grant.
    pub(super) fn variables(&self) -> Result<(String, BTreeSet<String>), SlotError> {
        let pool = self.open()?;
        let variables = pool.file().slots().iter().flat_map(|slot| slot.grant_env().iter().map(|(name, _)| name.clone()));
        Ok((pool.file().name().to_owned(), variables.collect()))
    }

    /// Waits for a slot and holds it; joins an outer grant of the same pool in the same store instead.
    ///
    /// # Errors
    /// When no slot was had; nothing is held and nothing waits then. [`SlotErrorKind::Lost`] when there is an outer grant
    /// whose lease is not held any more.
    ///
    /// # If the process dies
    /// While it waits its place in the queue is dropped, afterwards its slot is given to the next in line, both within
    /// moments where others believe in proofs of life, else when the lifetime has run out.
    pub fn acquire(mut self) -> Result<Slot, SlotError> {
        let process =
            self.run.as_ref().map(NextestRun::process).or_else(|| self.asker.as_ref().map(|(process, _)| process)).cloned();
        let ending = Ending::new(self.leave_on_signals, self.given_up.take())?.or_end_of(process);
        self.pool.stop = ending.stop();
        let pool = self.open()?;
        self.check_heartbeat(&pool)?;
        let outer = grants::find(&self.store.env, pool.store().dir(), pool.file().name());
        if let Some(outer) = outer {
            let env = &self.store.env;
            return match &outer.turn {
                None => {
                    teller::tell_joined(&pool, env);
                    join(pool, &outer)
                }
                // A whole run cannot be in turn: all of its tests would be.
                Some(_) if self.run.is_some() => Err(joining::run_inside_run()),
                Some(turn) => {
                    let teller = Teller::new(&pool, env, self.listener.as_mut());
                    joining::join_in_turn(pool, turn, AskedTurn { env, wait: self.wait, ending: &ending, teller })
                }
            };
        }
        if let Some(run) = &self.run
            && let Some((slot, record)) = pool.granted(run.id())?
        {
            let granted = grants::OuterGrant::of_lease(slot, &record);
            let mut slot = join(pool, &granted)?;
            slot.let_others_join();
            return Ok(slot);
        }
        refuse_shared_kinds(&self.store.env, &pool)?;
        let owner = self.owner_name(&pool)?;
        let mut listener = self.listener.take();
        let session = self.session.clone().unwrap_or_else(|| who::session(&self.store.env));
        let (kinds, is_out_of_order) = self.keeps_meanwhile(&pool)?;
        let holding = Holding { kinds: &kinds, is_out_of_order };
        let worker = self.asker.as_ref().and_then(|(process, _)| known_as(process));
        let wanted = SlotWanted {
            request_id: self.run.as_ref().map(NextestRun::id),
            session: Some(&session),
            wait: self.wait,
            heartbeat: self.heartbeat,
            holding,
            worker: worker.as_deref(),
            ..SlotWanted::by(&owner)
        };
        let loss = loss_watch()?;
        let told = self.asker.as_ref().map_or(&self.store.env, |(_, env)| env);
        let mut tell = Teller::new(&pool, told, listener.as_mut());
        let outcome = pool.acquire(&wanted, &mut |standing: &Standing| {
            tell.tell(standing);
            !ending.is_asked()
        });
        tell.end(&pool, &outcome);
        match (outcome, ending.signal()) {
            (Ok(Outcome::Granted(held)), None) => Ok(Slot::own(pool, *held, loss)),
            (Ok(Outcome::Granted(held)), Some(signal)) => {
                Slot::own(pool, *held, loss).release()?;
                Err(SlotError::interrupted(signal))
            }
            (_, Some(signal)) => Err(SlotError::interrupted(signal)),
            (Ok(refusal), None) => Err(SlotError::refused(pool.file().name(), &refusal)),
            (Err(error), None) => Err(error.into()),
        }
    }
}

impl SlotRequest {
    /// The kinds of leases in the pool's store that stay held while a slot is waited for, and whether the pool of one of them
    /// comes behind this one.
    fn keeps_meanwhile(&self, pool: &Pool) -> Result<(Vec<String>, bool), SlotError> {
        let (mut kinds, mut is_out_of_order) = (self.holds.clone(), false);
        for (outer_pool, outer) in grants::all_in(&self.store.env, pool.store().dir()) {
            if matches!(pool.store().found(&outer.kind)?, Found::Lease(record) if record.token() == Some(&outer.token)) {
                is_out_of_order |= pool.file().name() < outer_pool.as_str();
                kinds.push(outer.kind);
            }
        }
        Ok((kinds, is_out_of_order))
    }

    /// The same as [`SlotRequest::acquire`] for async code, under whatever runtime: the wait is that of a thread of its own,
    /// which ends with it. Nothing happens before the future is polled.
    ///
    /// Dropped while it waits, the future leaves the queue; dropped when the slot is granted, it gives it back.
    ///
    /// # Errors
    /// As [`SlotRequest::acquire`]; `Internal` when there can be no further thread.
    ///
    /// # If the process dies
    /// As with [`SlotRequest::acquire`].
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), lease_harness::SlotError> {
    /// let slot = lease_harness::SlotRequest::from_file("pool.json").acquire_async().await?;
    /// # slot.release()
    /// # }
    /// ```
    pub async fn acquire_async(self) -> Result<Slot, SlotError> {
        let acquired = background::run(|given_up| self.give_up_when(given_up).acquire()).await;
        acquired.map_err(|error| SlotError::new(SlotErrorKind::Internal, format!("cannot start a thread: {error}")))?
    }
}

#[cfg(test)]
mod tests;
