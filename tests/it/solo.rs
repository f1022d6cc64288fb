//! A package of one test binary, for what is about runs of nextest and not about forms.

use std::fs;
use std::path::PathBuf;

use lease_tests::{Finished, Lab, process, reap, scratch};

/// What every such binary has: how to call the helper program.
const ACTOR: &str = r#"
fn actor(args: &[&str]) {
    let actor = std::env::var_os("LAB_ACTOR").expect("LAB_ACTOR names the helper program");
    assert!(std::process::Command::new(actor).args(args).status().expect("it can be started").success(), "{args:?}");
}
"#;

/// The package in a folder of the laboratory, with these tests in the place of its own. They can call `actor(&["note", …])`.
pub(crate) fn package(lab: &Lab, tests: &str) -> PathBuf {
    let folder = scratch::fixture(lab, "solo", "solo");
    fs::remove_file(folder.join("tests/solo.rs")).expect("the fixture has it");
    fs::write(folder.join("tests/all.rs"), format!("{ACTOR}{tests}")).expect("the laboratory is writable");
    folder
}

/// The laboratory's processes that have this word among their arguments.
pub(crate) fn processes_with(lab: &Lab, word: &str) -> Vec<u32> {
    let has_word = |pid: &u32| process::arguments_of(*pid).iter().any(|argument| argument == word);
    reap::marked(lab.id()).into_iter().filter(has_word).collect()
}

/// Whichever of its outputs it was, a run has said these.
#[track_caller]
pub(crate) fn check_said(run: &Finished, parts: &[&str]) {
    let said = format!("{}{}", run.stdout, run.stderr);
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in {}", run.account());
    }
}
