//! Slots, queue and grant: one of N equal slots for whoever's turn it is.
//!
//! A pool is a file that lists slots, and a folder in the store that holds the queue, the statistics and the grants. A
//! slot's lease in the store is what makes it somebody's; the queue only decides whose turn it is to take one.

mod acquire;
mod cancel;
mod claim;
mod decide;
mod describe;
mod ears;
mod error;
mod eta;
mod file;
mod grant;
mod hooks;
mod marks;
mod nudge;
mod pace;
mod prepare;
mod queue;
mod queue_lock;
mod queue_text;
mod request;
mod salvage;
mod slot;
mod standoff;
mod sweep;
mod temp_dir;
mod template;
mod tend;
mod upkeep;
mod view;
mod waiting;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

pub use acquire::{Keeping, OnLook, Outcome, SlotWanted, Standing, Wait};
pub use cancel::Cancelled;
pub use claim::Claimed;
pub use error::{PoolError, PoolErrorKind, PoolResult};
pub use file::{PoolFile, PoolFileError, PoolFileErrorKind};
pub use grant::Grant;
pub use hooks::{CommandOverrides, Hook, Hooks, Stop};
pub use prepare::HeldSlot;
pub use queue::{Entry, Joined, Mode};
pub use request::Requested;
pub use slot::SlotDef;
pub use standoff::Holding;
pub use sweep::Swept;
pub(crate) use temp_dir::{GRANT, grant_is_held, is_place_of_grant};
pub use tend::Tended;
pub use upkeep::Cleaned;
pub use view::{PoolStatus, QueuedStatus, SlotStatus};

pub(crate) use marks::{
    GRANTS, HELD_RUN, RUN_TOKEN, end_processes_in_slot, end_processes_in_slots_of_run, end_processes_of, end_processes_of_run,
    end_processes_of_turns, for_run, for_turn,
};
pub(crate) use nudge::NUDGE_MARK;

use self::pace::Pace;
use crate::json::{Json, number_from_text};
use crate::store::{self, Beat, Beaten, Env, LeaseStore};
use crate::sys::bell::Bell;
use crate::sys::clock::SharedTime;
use crate::sys::disk::{self, Anew, KnownMaker, Log, Stamp, Written};

const JOURNAL: &str = "pool.log";

/// How a pool is opened.
#[derive(Clone, Default)]
pub struct PoolOptions {
    /// Where variables are read, and what commands inherit.
    pub env: Env,
    /// Lifetime in minutes of grants; else `POOL_TTL_MINUTES`, else the pool file's.
    pub ttl_minutes: Option<f64>,
    /// After how many milliseconds of silence a waiter is dropped; else the pool file's.
    pub waiter_stale_ms: Option<f64>,
    /// What the moving average starts with, in milliseconds; else the pool file's.
    pub moving_avg_seed_ms: Option<f64>,
    /// Commands that beat the environment and the pool file.
    pub commands: CommandOverrides,
    /// Functions in place of commands.
    pub hooks: Hooks,
    /// Asked while a command runs: whether to end it.
    pub stop: Option<Stop>,
}

/// A pool of slots in a store. Cloning gives another handle to the same.
#[derive(Clone)]
pub struct Pool {
    file: Arc<PoolFile>,
    dir: Arc<Path>,
    /// What the file says to others who use the pool, worked out at the first grant.
    description: Arc<OnceLock<String>>,
    /// The places of the slots by their kinds, for when they are many.
    places: Arc<OnceLock<HashMap<String, usize>>>,
    /// The file of the agreed description, as it was when it was found to be ours.
    agreed: Arc<Mutex<Option<Stamp>>>,
    /// When it is asked again whether it is time to tidy up.
    next_tidy: SharedTime,
    /// The pool's journal.
    log: Arc<Log>,
    /// What is known of the files that we make in its folder.
    maker: KnownMaker,
    /// None to do all upkeep each time.
    pace: Option<Arc<Pace>>,
    /// The bell of who waited last, for who waits next.
    idle_bell: Arc<Mutex<Option<Bell>>>,
    store: LeaseStore,
    env: Env,
    ttl_minutes: Option<f64>,
    waiter_stale_ms: Option<f64>,
    moving_avg_seed_ms: Option<f64>,
    commands: CommandOverrides,
    hooks: Hooks,
    stop: Option<Stop>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("file", &self.file.path()).field("store", &self.store.dir()).finish_non_exhaustive()
    }
}

impl Pool {
    /// Opens the pool that a file describes. Nothing is created before something is asked.
    ///
    /// # Errors
    /// A usage error when `POOL_TTL_MINUTES` is no number.
    pub fn open(file: PoolFile, store: LeaseStore, options: PoolOptions) -> PoolResult<Self> {
        let ttl_minutes = options.ttl_minutes.map_or_else(|| ttl_from_env(&options.env), |minutes| Ok(Some(minutes)))?;
        Ok(Self {
            dir: disk::path_in(store.dir(), &[file.name()]).into(),
            file: Arc::new(file),
            description: Arc::default(),
            places: Arc::default(),
            agreed: Arc::default(),
            next_tidy: SharedTime::default(),
            log: Arc::default(),
            maker: KnownMaker::default(),
            pace: None,
            idle_bell: Arc::default(),
            store,
            env: options.env,
            ttl_minutes,
            waiter_stale_ms: options.waiter_stale_ms,
            moving_avg_seed_ms: options.moving_avg_seed_ms,
            commands: options.commands,
            hooks: options.hooks,
            stop: options.stop,
        })
    }

    /// The pool file.
    #[must_use]
    pub fn file(&self) -> &PoolFile {
        &self.file
    }

    /// What works but is doubtful in the pool file and in the store's owner pattern: to be told to people when it is opened.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.file.warnings().iter().cloned().chain(self.store.fence().warning()).collect()
    }

    /// The store below.
    #[must_use]
    pub fn store(&self) -> &LeaseStore {
        &self.store
    }

    /// The pool's directory in the store.
    #[must_use]
    pub fn dir(&self) -> PathBuf {
        self.dir.to_path_buf()
    }

    /// Lifetime in minutes of a grant without a heartbeat.
    #[must_use]
    pub fn ttl_minutes(&self) -> f64 {
        self.ttl_minutes.unwrap_or_else(|| self.file.ttl_minutes())
    }

    fn waiter_stale_ms(&self) -> f64 {
        self.waiter_stale_ms.unwrap_or_else(|| self.file.waiter_stale_ms())
    }

    fn moving_avg_seed_ms(&self) -> f64 {
        self.moving_avg_seed_ms.unwrap_or_else(|| self.file.moving_avg_seed_ms())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path_of(&[name])
    }

    /// The same with a name in parts.
    fn path_of(&self, name: &[&str]) -> PathBuf {
        disk::path_in(&self.dir, name)
    }

    /// Writes a file of the pool's folder whole.
    fn write_file(&self, name: &str, anew: Option<&Anew>, text: &str) -> PoolResult<()> {
        let path = self.path(name);
        let folder = path.parent().unwrap_or(&path);
        let temporary = || disk::path_in(folder, &[store::TEMPORARY, &self.store.ids().fresh()]);
        let write = || Written::write_anew(anew, temporary, text.as_bytes())?.swap_in(&path);
        Ok(disk::with_folder(folder, write)?)
    }

    /// For a file of the pool's folder that is replaced again and again.
    fn swapped(&self, name: &str) -> Option<Anew> {
        self.store.anew(&self.maker, |maker| Anew::swapped(&self.dir, name, maker))
    }

    fn journal(&self, event: &str, story: impl IntoIterator<Item = (&'static str, Json)>) {
        store::note_in(&self.log, &self.path(JOURNAL), self.store.now_ms(), event, story);
    }

    /// The same for an event that the format does not know.
    fn journal_ours(&self, event: &str, story: impl IntoIterator<Item = (&'static str, Json)>) {
        if self.store.has_additions() {
            self.journal(event, story);
        }
    }

    /// Keeps a lease of ours alive while commands of the pool work on its slot. If it is lost, `on_lost` is told, and what
    /// works on the slot under its token is ended: whoever has the slot now provisions it.
    fn beat(
        &self,
        slot: &SlotDef,
        owner: &str,
        token: &str,
        every: Duration,
        mut on_lost: impl FnMut(String) + Send + 'static,
    ) -> PoolResult<Beat> {
        let lease = Beaten {
            store: self.store.clone(),
            kind: slot.kind().to_owned(),
            owner: owner.to_owned(),
            token: token.to_owned(),
            every,
        };
        let token = token.to_owned();
        let started = Beat::start(lease, move |reason| {
            on_lost(reason);
            let _ = end_processes_of(&token);
        });
        started.map_err(|error| no_heart(&error))
    }
}

fn no_heart(error: &io::Error) -> PoolError {
    PoolError::internal(format!("cannot start the heartbeat thread: {error}"))
}

fn ttl_from_env(env: &Env) -> PoolResult<Option<f64>> {
    for name in ["POOL_TTL_MINUTES", "E2E_LEASE_TTL_MINUTES"] {
        if let Some(text) = env.get(name) {
            let minutes = number_from_text(&text).filter(|minutes| minutes.is_finite() && *minutes > 0.0);
            let refused =
                || PoolError::usage(format!("invalid ttlMinutes in {name} {} — must be a positive number", store::quoted(&text)));
            return minutes.map(Some).ok_or_else(refused);
        }
    }
    Ok(None)
}
