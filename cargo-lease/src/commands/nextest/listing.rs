//! Asking nextest for its list of tests, and the test binaries which of them take slots.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lease_harness::harness::{Ended, LeasedTest, RunFolder, RunNotes};
use nextest_metadata::{FilterMatch, TestListSummary};

use super::super::cargo::Wrapping;
use super::super::held::{StartedBy, run_watched};
use super::archive::Archive;
use super::program::{Help, Nextest};
use super::test_command::{TestCommand, Verb};
use crate::exit::Failure;
use crate::inject::{NoList, OwnWords, TestId, list_words};
use crate::resolve::Surroundings;

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

/// What came of asking: the list; none if there was nothing to find out, or it could not be, so that the run will explain what
/// is wrong. Or nextest has said why it cannot list these tests, as it would have when running them; then we end as it ended.
pub(super) type Listing = Result<Option<Listed>, Ended>;

/// The tests that will run.
pub(super) struct Listed {
    pub(super) tests: BTreeSet<TestId>,
    /// Those that take slots by themselves, and whose names make several, with the id of their binary.
    pub(super) leased: Vec<(String, LeasedTest)>,
    /// Where they were unpacked from.
    pub(super) archive: Option<Archive>,
    /// Whether the run can be told to leave out what was said of the build here.
    pub(super) can_be_silenced: bool,
}

/// Lists the tests of a run, with these words.
///
/// It also builds or unpacks them, so that what is to be said of that is said here; the run has nothing left to say.
///
/// # Errors
///
/// Nextest could not be started, or our own folder cannot be written.
pub(super) fn list(
    wrapping: &Wrapping<'_>,
    words: Vec<OsString>,
    folder: &RunFolder,
    nextest: &Nextest,
    mut command: Command,
) -> Result<Listing, Failure> {
    let (own, around) = (wrapping.own_words(), wrapping.around);
    let archive = Archive::of(&own, folder, around)?;
    let path = folder.path().join("list.json");
    let file = File::create(&path)
        .map_err(|error| Failure::internal(format!("cannot write nextest's list to {}", path.display()), error))?;
    command.args(archive.as_ref().map_or(words.clone(), |archive| archive.unpacking(words)));
    command.env(RunNotes::TESTS, folder.path()).stdout(file);
    if around.var_os(LOG).is_none() {
        // What is only worth a warning is said again by the run.
        command.env(LOG, "error");
    }
    let builds = !reuses_a_build(&own);
    if !builds {
        command.stderr(Stdio::null());
    }
    let speaks_of_build = builds && archive.is_none() && !own.has(&["--cargo-quiet", "--cargo-verbose"]);
    // It has answered when the list is there.
    let help = speaks_of_build.then(|| nextest.ask_for_help());
    match run_watched(command, &[], StartedBy::Hand)? {
        Ended::Exited(0) => {
            let can_be_silenced = help.is_some_and(Help::names_silence);
            Ok(Ok(read(&path, folder, archive, can_be_silenced)))
        }
        Ended::Exited(_) if !builds => Ok(Ok(None)),
        ended => Ok(Err(ended)),
    }
}

/// The words that list the tests.
///
/// # Errors
///
/// There is to be no list, and why.
pub(super) fn words(wrapping: &Wrapping<'_>, command: TestCommand, wanted: Wanted) -> Result<Vec<OsString>, NoList> {
    let is_of_use = || wanted == Wanted::Always || may_have_leased_tests(&wrapping.own_words(), wrapping.around);
    if command.verb != Verb::Run || !is_of_use() {
        return Err(NoList::OfNoUse);
    }
    list_words(wrapping.words, command.at)
}

/// Whether nothing is built or unpacked, so that there is nothing to see either.
fn reuses_a_build(words: &OwnWords<'_>) -> bool {
    !words.values(&["--binaries-metadata"]).is_empty()
}

/// A list that this version of ours cannot read changes nothing.
fn read(path: &Path, folder: &RunFolder, archive: Option<Archive>, can_be_silenced: bool) -> Option<Listed> {
    let list: TestListSummary = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let mut tests = BTreeSet::new();
    for (binary_id, suite) in &list.rust_suites {
        let runs = suite.test_cases.iter().filter(|(_, test)| test.filter_match == FilterMatch::Matches);
        tests.extend(runs.map(|(name, _)| (binary_id.as_str().to_owned(), name.as_str().to_owned())));
    }
    Some(Listed { tests, leased: folder.notes().tests(), archive, can_be_silenced })
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
