//! `cargo lease --hold run`: the slots of a run, lent to its tests one after the other; and a slot for a debugger's test.

mod cargo;
mod debugger;
mod ends;
mod lending;
mod losses;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use lease_tests::{Lab, binary, reap, wait};
use serde_json::json;

use crate::solo::{check_said, package, processes_with};
use crate::support::lab;

/// Tests that do one thing each. Those in `many` use the slot for a while.
const TESTS: &str = r#"
use std::process::Command;

unsafe extern "C" {
    fn signal(number: i32, handler: usize) -> usize;
    fn close(descriptor: i32) -> i32;
}

fn daemon() {
    actor(&["daemon", "grandchild"]);
}

#[test]
fn holds() {
    if std::env::var_os("LAB_DEAF").is_some() {
        const SIG_IGN: usize = 1;
        // SAFETY: ignoring a signal has no handler that could do something wrong.
        let _ = [2, 15].map(|number| unsafe { signal(number, SIG_IGN) });
    }
    daemon();
    actor(&["hold", &std::env::var("LAB_GATE").expect("LAB_GATE names the gate")]);
    assert!(std::env::var_os("LAB_FAILS").is_none(), "as it was told");
}

#[test]
fn holds_as_well() {
    holds();
}

#[test]
fn dies() {
    daemon();
    actor(&["note", "died"]);
    std::process::abort();
}

#[test]
fn hangs() {
    daemon();
    loop {
        std::thread::park();
    }
}

#[test]
fn notes() {
    actor(&["note", "noted"]);
}

#[test]
fn nests() {
    let lease = std::env::var_os("LAB_LEASE").expect("LAB_LEASE names our program");
    let actor = std::env::var_os("LAB_ACTOR").expect("LAB_ACTOR names the helper program");
    let status = Command::new(lease).args(["--no-wait", "run", "--"]).arg(actor).args(["note", "inner"]).status();
    assert!(status.expect("it can be started").success());
}

/// As somebody does who starts anew in a process that he got from others.
fn closes() {
    // SAFETY: nobody in this process uses a file by then, but for the three streams.
    (3..64).for_each(|descriptor| _ = unsafe { close(descriptor) });
    actor(&["work", "50"]);
}

#[test]
fn closes_first() {
    closes();
}

#[test]
fn closes_second() {
    closes();
}

macro_rules! many {
    ($($name:ident)*) => { mod many { $(#[test] fn $name() { super::actor(&["work", "5"]) })* } };
}

many! { a b c d e f g h i j k l }
"#;

/// How many tests there are in `many`.
const N_MANY: usize = 12;

/// A package in a laboratory with a pool.
struct Scene {
    lab: Lab,
    folder: PathBuf,
}

impl Scene {
    fn new(slots: &[&str]) -> Self {
        let lab = lab();
        lab.write_slots(slots);
        let folder = package(&lab, TESTS);
        Self { lab, folder }
    }

    /// Slots whose reset does this after it has said that it runs.
    fn with_reset(slots: &[&str], script: &str) -> Self {
        let scene = Self::new(slots);
        let slots: Vec<_> = slots.iter().map(|id| json!({"id": id})).collect();
        let reset = format!("{} \"$1\"; {script}", scene.lab.note("reset"));
        scene.lab.write_pool(&json!({"slots": slots, "provision": scene.lab.note("provision"), "reset": reset}));
        scene
    }

    /// `cargo lease --hold run` with these words.
    fn held(&self, words: &[&str]) -> Command {
        self.lease(&[&["--hold", "run"], words].concat())
    }

    /// `cargo lease` with these words, in the package's folder.
    fn lease(&self, words: &[&str]) -> Command {
        self.in_package(self.lab.lease(words))
    }

    fn in_package(&self, mut command: Command) -> Command {
        command.env("LAB_GATE", self.lab.path("gate")).env("LAB_LEASE", binary::cargo_lease());
        command.env("CARGO_TARGET_DIR", self.folder.join("target")).current_dir(&self.folder);
        command
    }

    /// Writes nextest's configuration.
    fn configure(&self, text: &str) {
        fs::create_dir_all(self.folder.join(".config")).expect("the laboratory is writable");
        fs::write(self.folder.join(".config/nextest.toml"), text).expect("the laboratory is writable");
    }

    /// Nothing is held, nobody is left who worked in a slot or guarded it, and no file of the run.
    #[track_caller]
    fn check_ended(&self) {
        wait::until_true("nobody is left", || reap::marked(self.lab.id()).is_empty());
        let left = fs::read_dir(self.lab.store().join(".held")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "folders of runs are left");
        self.lab.check_all_given_back();
    }

    fn how_often(&self, word: &str) -> usize {
        self.lab.history().all(word).len()
    }

    /// The words of the history that are among these, with their slots.
    fn told(&self, words: &[&str]) -> Vec<String> {
        let events = self.lab.history().events();
        let told = events.iter().filter(|event| words.contains(&event.word.as_str()));
        told.map(|event| format!("{} {}", event.word, event.get("slot"))).collect()
    }

    fn processes_with(&self, word: &str) -> Vec<u32> {
        processes_with(&self.lab, word)
    }
}

#[track_caller]
fn check_grants(lab: &Lab, pool: &str, n_grants: usize) {
    let journal = fs::read_to_string(lab.store().join(pool).join("pool.log")).expect("slots were granted");
    assert_eq!(journal.matches("\"event\":\"granted\"").count(), n_grants, "{journal}");
    lab.check_all_given_back();
}
