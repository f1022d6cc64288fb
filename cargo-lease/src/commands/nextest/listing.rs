//! Asking nextest for its list of tests, and the test binaries which of them take slots.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lease_harness::harness::{Ended, LeasedTest, RunNotes};
use nextest_metadata::{FilterMatch, TestListSummary};

use super::super::cargo::Wrapping;
use super::super::held::{StartedBy, run_watched};
use super::folder::RunFolder;
use crate::exit::Failure;
use crate::inject::{OwnWords, TestId, list_words};
use crate::resolve::{Surroundings, Wrap};

/// The variable that says how much nextest tells.
const LOG: &str = "NEXTEST_LOG";

/// When a list is worth what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// If there can be tests that take slots by themselves: all others need the same pool.
    ForLeasedTests,
    /// In any case: somebody wants to know how many tests there are.
    Always,
}

/// What came of asking.
pub(super) enum Listing {
    /// There was nothing to find out, or it could not be: the run will explain what is wrong.
    NotMade,
    /// Nextest has said why it cannot list these tests, as it would have when running them; we end as it ended.
    Failed(Ended),
    Made(Listed),
}

/// The tests that will run.
pub(super) struct Listed {
    pub(super) tests: BTreeSet<TestId>,
    /// Those that take slots by themselves, and whose names make several, with the id of their binary.
    pub(super) leased: Vec<(String, LeasedTest)>,
}

impl Listed {
    /// How many tests work in slots, at most.
    pub(super) fn n_in_slots(&self, wrap: &Wrap) -> usize {
        if self.leased.is_empty() {
            return self.tests.iter().filter(|test| wrap.covers(std::slice::from_ref(&test.0))).count();
        }
        self.tests.len()
    }
}

/// Lists the tests of a run, whose command stands at `at`.
///
/// It also builds them, so that what the build says is said here; the run has nothing left to say.
pub(super) fn list(
    wrapping: &Wrapping<'_>,
    at: usize,
    folder: &RunFolder,
    nextest: Command,
    wanted: Wanted,
) -> Result<Listing, Failure> {
    let words = list_words(wrapping.words, at).filter(|_| wrapping.words[at] == "run" || wrapping.words[at] == "r");
    let Some(words) = words.filter(|_| wanted == Wanted::Always || may_have_leased_tests(&wrapping.own_words(), wrapping.around))
    else {
        return Ok(Listing::NotMade);
    };
    let path = folder.path().join("list.json");
    let file = File::create(&path)
        .map_err(|error| Failure::internal(format!("cannot write nextest's list to {}", path.display()), error))?;
    let mut command = nextest;
    command.args(words).env(RunNotes::TESTS, folder.path()).stdout(file);
    let is_reused = reuses_a_build(&wrapping.own_words());
    if wrapping.around.var_os(LOG).is_none() {
        // What is only worth a warning is said again by the run.
        command.env(LOG, "error");
    }
    if is_reused {
        // Nothing is built, and what is said of unpacking is said again.
        command.stderr(Stdio::null());
    }
    match run_watched(command, &[], StartedBy::Hand)? {
        Ended::Exited(0) => Ok(read(&path, folder).map_or(Listing::NotMade, Listing::Made)),
        Ended::Exited(_) if is_reused => Ok(Listing::NotMade),
        ended => Ok(Listing::Failed(ended)),
    }
}

/// Whether nothing is built, so that there is nothing to see either.
pub(super) fn reuses_a_build(words: &OwnWords<'_>) -> bool {
    ["--archive-file", "--binaries-metadata"].iter().any(|option| !words.values(&[option]).is_empty())
}

/// A list that this version of ours cannot read changes nothing.
fn read(path: &Path, folder: &RunFolder) -> Option<Listed> {
    let list: TestListSummary = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let mut tests = BTreeSet::new();
    for (binary_id, suite) in &list.rust_suites {
        let runs = suite.test_cases.iter().filter(|(_, test)| test.filter_match == FilterMatch::Matches);
        tests.extend(runs.map(|(name, _)| (binary_id.as_str().to_owned(), name.as_str().to_owned())));
    }
    Some(Listed { tests, leased: folder.notes().tests() })
}

/// Whether a list can tell more than that all that is wrapped needs one pool: there can be tests that take slots by
/// themselves only where the workspace's lock file names our library, or there is none to look into.
fn may_have_leased_tests(words: &OwnWords<'_>, around: &Surroundings) -> bool {
    let path = |value: OsString| around.absolute(Path::new(&value));
    let manifest = words.values(&["--manifest-path"]).pop().map(path);
    let remapped = words.values(&["--workspace-remap"]).pop().map(path);
    let start = remapped.or_else(|| Some(manifest?.parent()?.to_owned())).unwrap_or_else(|| around.cwd.clone());
    let lock: Option<PathBuf> = start.ancestors().map(|dir| dir.join("Cargo.lock")).find(|path| path.is_file());
    let text = lock.and_then(|lock| around.read(&lock).ok()?);
    text.is_none_or(|text| text.contains("name = \"lease-harness\""))
}
