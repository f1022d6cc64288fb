//! `cargo lease setup-script`: one slot for a whole run of real nextest.

mod ends;
mod joins;
mod losses;
mod refusals;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use lease_tests::{Lab, binary, reap, wait};

use crate::solo::{check_said, package, processes_with};
use crate::support::lab;

/// A test that works until the gate is opened, then ends as it was told; it may be deaf to SIGINT.
const TESTS: &str = r#"
unsafe extern "C" {
    fn signal(number: i32, handler: usize) -> usize;
}

#[test]
fn holds() {
    if std::env::var_os("LAB_DEAF").is_some() {
        const SIGINT: i32 = 2;
        const SIG_IGN: usize = 1;
        // SAFETY: ignoring a signal has no handler that could do something wrong.
        unsafe { signal(SIGINT, SIG_IGN) };
    }
    actor(&["hold", &std::env::var("LAB_GATE").expect("LAB_GATE names the gate")]);
    assert!(std::env::var_os("LAB_FAILS").is_none(), "as it was told");
}

#[test]
fn notes() {
    actor(&["note", "noted"]);
}

#[test]
fn nests() {
    let lease = std::env::var_os("LAB_LEASE").expect("LAB_LEASE names our program");
    let actor = std::env::var_os("LAB_ACTOR").expect("LAB_ACTOR names the helper program");
    let status = std::process::Command::new(lease).args(["--no-wait", "run", "--"]).arg(actor).args(["note", "inner"]).status();
    assert!(status.expect("it can be started").success());
}
"#;

/// A package with a configuration of nextest, in a laboratory with a pool.
struct Scene {
    lab: Lab,
    folder: PathBuf,
}

impl Scene {
    /// The script is for all tests, with these words and these further lines of its table.
    fn new(slots: &[&str], options: &str, more: &str) -> Self {
        let scene = Self::unconfigured(slots);
        scene.configure(&script("lease", options, more), "");
        scene
    }

    fn unconfigured(slots: &[&str]) -> Self {
        let lab = lab();
        lab.write_slots(slots);
        let folder = package(&lab, TESTS);
        fs::create_dir(folder.join(".config")).expect("the laboratory is writable");
        Self { lab, folder }
    }

    /// Writes nextest's configuration; the scripts are for all tests unless there are rules.
    fn configure(&self, scripts: &str, rules: &str) {
        let for_all = "[[profile.default.scripts]]\nfilter = 'all()'\nsetup = ['lease']\n";
        let rules = if rules.is_empty() { for_all } else { rules };
        let text = format!("experimental = ['setup-scripts']\n{scripts}{rules}");
        fs::write(self.folder.join(".config/nextest.toml"), text).expect("the laboratory is writable");
    }

    /// `cargo nextest` with these words.
    fn nextest(&self, words: &[&str]) -> Command {
        self.with_pool(self.lab.cargo(["nextest"].iter().chain(words)))
    }

    /// The same, with both of its outputs in a pipe to `cat`; it prints nextest's exit code in the end.
    fn piped_nextest(&self, words: &str) -> Command {
        let mut command = self.lab.command("sh");
        command.args(["-c", &format!("{{ \"$0\" nextest {words} 2>&1; echo code=$?; }} | cat")]);
        command.arg(lease_tests::environment::cargo());
        self.with_pool(command)
    }

    fn with_pool(&self, mut command: Command) -> Command {
        command.env("LEASE_STORE", self.lab.store()).env("LEASE_POOL_FILE", self.lab.pool_file());
        command.env("LAB_GATE", self.lab.path("gate")).env("LAB_LEASE", binary::cargo_lease());
        command.env("CARGO_TARGET_DIR", self.folder.join("target")).current_dir(&self.folder);
        command
    }

    /// The keeper of the run that holds a slot.
    fn keeper(&self) -> u32 {
        wait::until("the keeper", || self.processes_with("--detached").pop())
    }

    fn processes_with(&self, word: &str) -> Vec<u32> {
        processes_with(&self.lab, word)
    }

    /// The slot is free, nothing works on it, and nobody is left who kept it.
    #[track_caller]
    fn check_ended(&self) {
        wait::until_true("slot a is free", || self.lab.record("slot-a").is_none());
        wait::until_true("nobody is left", || reap::marked(self.lab.id()).is_empty());
        self.lab.check_all_given_back();
    }

    fn how_often(&self, word: &str) -> usize {
        self.lab.history().all(word).len()
    }
}

/// A setup script of ours.
fn script(name: &str, options: &str, more: &str) -> String {
    let ours = binary::cargo_lease().display();
    format!("[scripts.setup.{name}]\ncommand = \"{ours} setup-script {options}\"\n{more}\n")
}
