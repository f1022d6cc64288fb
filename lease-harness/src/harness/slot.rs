//! Asking for a slot, and holding one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::child::LossWatch;
use super::error::SlotError;

/// How long to wait for a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Until there is one.
    #[default]
    Forever,
    /// At most so long.
    For(Duration),
    /// Not at all.
    No,
}

/// Where a waiter stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Waiting {
    /// Name of the pool.
    pub pool: String,
    /// Place in the queue, from 1.
    pub position: usize,
    /// About how long it will take.
    pub eta: Duration,
}

/// Commands that replace those of the pool file.
#[derive(Clone, Debug, Default)]
pub struct CommandOverrides {
    /// Instead of the file's `provision`.
    pub provision: Option<String>,
    /// Instead of the file's `reset`.
    pub reset: Option<String>,
    /// Instead of the file's `health`.
    pub health: Option<String>,
    /// Instead of the file's `nudgeCommand`.
    pub nudge: Option<String>,
}

/// What to ask of a pool; a builder.
pub struct SlotRequest {
    _private: (),
}

impl SlotRequest {
    /// A slot of the pool that this file describes.
    pub fn from_file(_pool_file: impl Into<PathBuf>) -> Self {
        todo!()
    }
    /// The store's directory (default: `LEASE_STORE`, else `logs/leases` of the main checkout).
    pub fn store(self, _dir: impl Into<PathBuf>) -> Self {
        todo!()
    }
    /// Who asks (default: `LEASE_OWNER`, else `<user>@<host>`).
    pub fn owner(self, _owner: impl Into<String>) -> Self {
        todo!()
    }
    /// The owner fence, an anchored ECMAScript pattern (default: `LEASE_OWNER_PATTERN`, else the format's).
    pub fn owner_pattern(self, _pattern: impl Into<String>) -> Self {
        todo!()
    }
    /// What is shown to people as the session (default: worktree, package, test).
    pub fn session(self, _session: impl Into<String>) -> Self {
        todo!()
    }
    /// TTL in minutes.
    pub fn ttl_minutes(self, _minutes: f64) -> Self {
        todo!()
    }
    /// How long to wait (default: for ever).
    pub fn wait(self, _wait: Wait) -> Self {
        todo!()
    }
    /// Pause between two heartbeats (default: a sixth of the TTL, 50 ms to 4 min).
    pub fn heartbeat_every(self, _pause: Duration) -> Self {
        todo!()
    }
    /// Commands that replace those of the pool file.
    pub fn commands(self, _commands: CommandOverrides) -> Self {
        todo!()
    }
    /// Called each time the place in the queue changes, on the calling thread.
    pub fn on_wait(self, _listener: impl FnMut(&Waiting) + Send + 'static) -> Self {
        todo!()
    }
    /// Waits for a slot and holds it; joins an outer grant of the same pool in the same store instead.
    pub fn acquire(self) -> Result<Slot, SlotError> {
        todo!()
    }
}

/// A held slot. Its lease is kept alive by the process's heartbeat thread; dropping it gives it back.
pub struct Slot {
    _private: (),
}

impl Slot {
    /// The slot's id, as text.
    pub fn id(&self) -> &str {
        todo!()
    }
    /// The pool's name.
    pub fn pool(&self) -> &str {
        todo!()
    }
    /// The slot's lease kind.
    pub fn kind(&self) -> &str {
        todo!()
    }
    /// Who holds it.
    pub fn owner(&self) -> &str {
        todo!()
    }
    /// The lease's token.
    pub fn token(&self) -> &str {
        todo!()
    }
    /// Larger than the number of any earlier grant of this slot.
    pub fn fence(&self) -> Option<u64> {
        todo!()
    }
    /// The store's directory.
    pub fn store_dir(&self) -> &Path {
        todo!()
    }
    /// One variable of the grant's environment.
    pub fn env(&self, _name: &str) -> Option<&str> {
        todo!()
    }
    /// The grant's environment plus `POOL_RUN_SLOT`, `POOL_RUN_TOKEN`, `POOL_RUN_OWNER`, `POOL_RUN_FENCE` and the marker that lets nested
    /// uses join: what a process under this grant sees.
    pub fn envs(&self) -> &[(String, String)] {
        todo!()
    }
    /// An attribute of the slot by its dotted path, typed.
    pub fn get<T: serde::de::DeserializeOwned>(&self, _path: &str) -> Result<T, SlotError> {
        todo!()
    }
    /// A command that runs under this grant.
    pub fn command(&self, _program: impl AsRef<std::ffi::OsStr>) -> Command {
        todo!()
    }
    /// True if this slot belongs to an outer `cargo lease` and was joined, not taken.
    pub fn is_joined(&self) -> bool {
        todo!()
    }
    /// Whether the lease was lost.
    pub fn is_lost(&self) -> bool {
        todo!()
    }
    /// Tells of the loss of the lease.
    pub fn loss_watch(&self) -> LossWatch {
        todo!()
    }
    /// Runs the pool's reset and health commands on the slot.
    pub fn reset(&self) -> Result<(), SlotError> {
        todo!()
    }
    /// Gives the slot back.
    pub fn release(self) -> Result<(), SlotError> {
        todo!()
    }
}
