//! A laboratory: a folder with a store, a pool and a history, and everything that was started in it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::environment::{self, LAB_MARK};
use crate::history::History;
use crate::running::{Finished, Running};
use crate::{binary, reap, wait};

/// Of how many programs, the last ones that were started, a failed test tells what they said.
const N_TOLD: u32 = 40;

/// A folder of its own for one test. Dropping it kills every process that was started in it, also those that moved to
/// other groups and sessions, and removes the folder.
#[derive(Debug)]
pub struct Lab {
    root: TempDir,
    id: String,
    actor: PathBuf,
    started: AtomicU32,
}

impl Lab {
    /// An empty laboratory. `actor` is this package's helper program.
    ///
    /// # Panics
    ///
    /// If no folder can be made.
    pub fn new(actor: impl Into<PathBuf>) -> Self {
        let root = tempfile::Builder::new().prefix("lease-lab-").tempdir().expect("a temporary folder can be made");
        let id = uuid::Uuid::new_v4().to_string();
        let lab = Self { root, id, actor: actor.into(), started: AtomicU32::new(0) };
        fs::create_dir(lab.path("logs")).expect("the laboratory is writable");
        lab
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// A path in the folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    /// What its processes carry in their environment as [`LAB_MARK`].
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The store that [`Lab::lease`] uses.
    pub fn store(&self) -> PathBuf {
        self.path("store")
    }

    /// The pool file that [`Lab::lease`] uses.
    pub fn pool_file(&self) -> PathBuf {
        self.path("pool.json")
    }

    /// The file that everybody appends to.
    pub fn history(&self) -> History {
        History::at(self.path("history"))
    }

    /// Writes the pool file.
    pub fn write_pool(&self, pool: &Value) {
        fs::write(self.pool_file(), serde_json::to_string_pretty(pool).expect("a value prints"))
            .expect("the laboratory is writable");
    }

    /// Writes a pool file with these slots. Its provision writes a `provision` line into the history.
    pub fn write_slots(&self, ids: &[&str]) {
        let slots: Vec<_> = ids.iter().map(|id| json!({"id": id})).collect();
        self.write_pool(&json!({"slots": slots, "provision": self.note("provision")}));
    }

    /// A shell command that writes a line with this word into the history; the slot's id is added by the pool.
    pub fn note(&self, word: &str) -> String {
        format!("{} note {word}", self.actor.display())
    }

    /// A command with a clean environment that belongs to this laboratory. Its working directory is the folder.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        environment::clean(&mut command)
            .env(LAB_MARK, &self.id)
            .env("LAB_HISTORY", self.history().path())
            .env("LAB_ACTOR", &self.actor)
            .current_dir(self.root())
            .stdin(std::process::Stdio::null());
        command
    }

    /// This package's helper program.
    pub fn actor<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(&self.actor);
        command.args(args);
        command
    }

    /// `cargo` of this toolchain.
    pub fn cargo<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(environment::cargo());
        command.args(args);
        command
    }

    /// `rustc` of this toolchain.
    pub fn command_of_rustc<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command("rustc");
        command.args(args);
        command
    }

    /// `cargo-lease` that must find pool and store by itself.
    pub fn bare_lease<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(binary::cargo_lease());
        command.env("CARGO", environment::cargo()).args(args);
        command
    }

    /// `cargo-lease` with the laboratory's pool and store.
    pub fn lease<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.bare_lease(args);
        command.env("LEASE_STORE", self.store()).env("LEASE_POOL_FILE", self.pool_file());
        command
    }

    /// `cargo-lease` with the laboratory's pool and store that runs `actor` with these arguments.
    pub fn lease_actor(&self, options: &[&str], args: &[&str]) -> Command {
        let mut command = self.lease(options);
        command.arg("run").arg("--").arg(&self.actor).args(args);
        command
    }

    /// Starts a command.
    pub fn start(&self, command: Command) -> Running {
        let n = self.started.fetch_add(1, Ordering::Relaxed);
        Running::start(command, &self.path(format!("logs/{n}")))
    }

    /// Runs a command to its end.
    #[track_caller]
    pub fn run(&self, command: Command) -> Finished {
        self.start(command).finish()
    }

    /// Opens the gate that an `actor hold` waits for.
    pub fn open(&self, gate: &str) {
        fs::write(self.path(gate), "").expect("the laboratory is writable");
    }

    /// The queue of the pool `name` in `store`, as it lies on disk; no file is an empty queue.
    pub fn queue(store: &Path, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(store.join(name).join("queue.json")).unwrap_or_default();
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        document["entries"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until `n` waiters stand in the queue of the laboratory's pool.
    #[track_caller]
    pub fn wait_for_queue(&self, n: usize) {
        wait::until_true(&format!("{n} waiters in the queue"), || Self::queue(&self.store(), "pool").len() == n);
    }

    /// The record of one lease of the laboratory's store, if there is one.
    pub fn record(&self, kind: &str) -> Option<Value> {
        let text = fs::read_to_string(self.store().join(format!("{kind}.json"))).ok()?;
        Some(serde_json::from_str(&text).expect("a record is JSON"))
    }

    /// Checks that the laboratory's store has no leases and nobody waits.
    #[track_caller]
    pub fn check_all_given_back(&self) {
        check_nothing_held(&self.store());
    }
}

/// Checks that a store has no leases, no guards, no half-written files, and that nobody waits in its pool.
///
/// # Panics
///
/// If something is left.
#[track_caller]
pub fn check_nothing_held(store: &Path) {
    let listing = fs::read_dir(store).unwrap_or_else(|error| panic!("{}: {error}", store.display()));
    let left: Vec<_> = listing
        .map(|entry| entry.expect("the store can be read").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".json") || name.starts_with(".guard-") || name.starts_with(".tmp-"))
        .collect();
    assert!(left.is_empty(), "left in {}: {left:?}", store.display());
    let waiting = Lab::queue(store, "pool");
    assert!(waiting.is_empty(), "still in the queue: {waiting:?}");
}

impl Drop for Lab {
    fn drop(&mut self) {
        reap::kill_marked(&self.id);
        if std::thread::panicking() {
            self.tell();
        }
    }
}

impl Lab {
    /// Prints what the started programs said, for whoever reads a failed test.
    fn tell(&self) {
        let history = fs::read_to_string(self.history().path()).unwrap_or_default();
        let tail: Vec<_> = history.lines().rev().take(60).collect();
        eprintln!("--- the last lines of the history");
        tail.iter().rev().for_each(|line| eprintln!("{line}"));
        let n_started = self.started.load(Ordering::Relaxed);
        for n in n_started.saturating_sub(N_TOLD)..n_started {
            for path in ["out", "err"].map(|ending| self.path(format!("logs/{n}.{ending}"))) {
                let text = fs::read(&path).unwrap_or_default();
                if !text.is_empty() {
                    eprintln!("--- {n}, {}\n{}", path.display(), String::from_utf8_lossy(&text));
                }
            }
        }
    }
}
