//! This program, run with a pool and a store of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use lease_harness::{Slot, SlotRequest};
use tempfile::TempDir;

use crate::scenario;

/// When a broken program is called broken. Nothing passes or fails by how long it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// No slot is held.
pub(crate) const NONE: [&Path; 0] = [];

/// A folder with a pool file, which plays the package, and a store.
pub(crate) struct Package {
    dir: TempDir,
}

impl Package {
    /// A package whose pool file has this text.
    pub(crate) fn with_pool(pool: &str) -> Self {
        let package = Self::without_pool();
        fs::write(package.pool_file(), pool).unwrap();
        package
    }

    pub(crate) fn without_pool() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn pool_file(&self) -> PathBuf {
        self.dir.path().join("behaviour.json")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// This program as a test runner of the package would start it, without anything of the one that runs us.
    pub(crate) fn program(&self, args: &[&str]) -> Command {
        self.prepared(Command::new(this_program()), args)
    }

    /// The same under the grant of a slot.
    pub(crate) fn program_under(&self, slot: &Slot, args: &[&str]) -> Command {
        let mut command = self.prepared(Command::new(this_program()), args);
        command.envs(slot.envs().iter().map(|(name, value)| (name, value)));
        command
    }

    fn prepared(&self, mut command: Command, args: &[&str]) -> Command {
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let ours = ["LEASE_", "POOL_", "NEXTEST", "SCENARIO_", "RUST_TEST_"];
            if ours.iter().any(|start| text.starts_with(start)) {
                command.env_remove(name);
            }
        }
        command.args(args).env("CARGO_MANIFEST_DIR", self.dir.path()).env("LEASE_STORE", self.store());
        command.env(scenario::LOG, self.log()).env("RUST_BACKTRACE", "0").current_dir(self.dir.path());
        command
    }

    /// Asks for a slot of the package's pool.
    pub(crate) fn request(&self) -> SlotRequest {
        SlotRequest::from_file(self.pool_file()).store(self.store())
    }

    /// Which scenarios got inside so far, each with its slot.
    pub(crate) fn entered(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        text.lines().filter_map(|line| line.split_once(' ')).map(|(name, slot)| (name.to_owned(), slot.to_owned())).collect()
    }

    /// How many grants the pool has given.
    pub(crate) fn n_grants(&self) -> usize {
        let journal = fs::read_to_string(self.store().join("behaviour/pool.log")).unwrap_or_default();
        journal.lines().filter(|line| line.contains("\"event\":\"granted\"")).count()
    }

    /// The records of slots that are held.
    pub(crate) fn held(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(self.store()).into_iter().flatten().map(|entry| entry.unwrap().path());
        names.filter(|path| is_slot_record(path)).collect()
    }

    /// Starts the program and waits until a scenario is inside, where it stays until this file is there.
    pub(crate) fn start_and_enter(&self, until: &Path, command: &mut Command) -> Child {
        command.env(scenario::STAYS_UNTIL, until);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while self.entered().is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it was inside");
            assert!(begun.elapsed() < PATIENCE, "it does not get inside");
            std::thread::sleep(Duration::from_millis(5));
        }
        child
    }

    /// A file that is not there yet.
    pub(crate) fn gate(&self) -> PathBuf {
        self.dir.path().join("gate")
    }
}

fn is_slot_record(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("slot-") && name.ends_with(".json")
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// What libtest said of each test: `ok`, `FAILED` or `ignored`.
pub(crate) fn verdicts(output: &Output) -> BTreeMap<String, String> {
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let verdict = |line: &str| {
        let (name, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
        // Libtest-mimic pads names.
        let name = name.trim_end_matches(" - should panic").trim_end();
        Some((name.to_owned(), verdict.split(',').next()?.to_owned()))
    };
    lines.lines().filter_map(verdict).collect()
}

pub(crate) fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// Everything it wrote, for messages.
pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
