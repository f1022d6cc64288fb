//! `cargo lease nextest`: cargo nextest with every test process in a slot.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lease_harness::harness::exit_like;

use super::cargo::{Prepared, Wrapping, become_command, cargo_program, without_own_variables};
use super::held::{StartedBy, acquire, run_around, run_watched};
use super::hold::HeldSlots;
use crate::cli::Reader;
use crate::exit::{self, Failure};
use crate::inject::{self, OwnWords, ToolConfig};
use crate::resolve::{Hold, Settings, Surroundings, has_debugger, nextest_threads, path_text};

/// Nextest's own options, before its command, that take the next word as their value.
const WITH_VALUE: [&str; 7] =
    ["--color", "--manifest-path", "--config-file", "--user-config-file", "--tool-config-file", "--profile", "-P"];

/// Nextest's commands that run tests.
const RUN_TESTS: [&str; 4] = ["run", "r", "bench", "b"];

/// Runs tests below this process, which stays to look after the run; becomes `cargo nextest` for everything else, and
/// then returns only when that fails.
pub(super) fn run(wrapping: Wrapping<'_>) -> Result<ExitCode, Failure> {
    let cargo = cargo_program(wrapping.around)?;
    installed(wrapping.around)?;
    match run_command(&wrapping) {
        Some(at) => run_tests(wrapping, at, &cargo),
        None => {
            let mut command = nextest(&cargo);
            command.args(wrapping.words);
            Err(become_command(without_own_variables(command, wrapping.around)))
        }
    }
}

fn nextest(cargo: &OsStr) -> Command {
    let mut command = Command::new(cargo);
    command.arg("nextest");
    command
}

/// Runs tests and ends as nextest ended. Cargo becomes nextest, so that this is nextest's parent.
fn run_tests(wrapping: Wrapping<'_>, at: usize, cargo: &OsStr) -> Result<ExitCode, Failure> {
    let plan = wrapping.plan(cargo)?;
    let builds_only = wrapping.only_builds();
    if let (true, false, Some((pool_file, _))) = (has_debugger(wrapping.words), builds_only, &plan.pool) {
        return debug(wrapping, &plan.settings, pool_file, cargo);
    }
    let prepared = wrapping.prepare(&plan, cargo, Reader::Nextest)?;
    if plan.hold == Hold::Run && !builds_only {
        let held = HeldSlots::take(&plan, n_useful(&wrapping, at)?, "nextest", wrapping.around)?;
        let prepared = Prepared { group: prepared.group.map(|group| group.with_width(held.n_slots())), ..prepared };
        return held.run(run_line(wrapping, at, cargo, prepared)?, wrapping.between);
    }
    let ended = run_watched(run_line(wrapping, at, cargo, prepared)?, &[], StartedBy::Hand)?;
    Ok(exit_like(&ended))
}

/// Nextest puts a debugger in front of a runner as well, where it would see only us. So the one test that it is for has its
/// slot from here, and no runner.
fn debug(wrapping: Wrapping<'_>, settings: &Settings, pool_file: &Path, cargo: &OsStr) -> Result<ExitCode, Failure> {
    let slot = acquire(settings.request(pool_file))?;
    let mut command = nextest(cargo);
    command.args(wrapping.words).envs(slot.envs().iter().map(|(name, value)| (name, value)));
    run_around(slot, without_own_variables(command, wrapping.around), StartedBy::Hand)
}

/// As many slots as tests can run at once. Benchmarks run one after another.
fn n_useful(wrapping: &Wrapping<'_>, at: usize) -> Result<usize, Failure> {
    if wrapping.words[at].as_encoded_bytes().starts_with(b"b") {
        return Ok(1);
    }
    let words = wrapping.own_words();
    let config = config_file(&words, wrapping.around).map(|path| wrapping.around.read(&path)).transpose()?.flatten();
    Ok(nextest_threads(&words, &config.unwrap_or_default(), wrapping.around))
}

/// Where the command stands, if it is one that runs tests.
fn run_command(wrapping: &Wrapping<'_>) -> Option<usize> {
    let at = wrapping.own_words().first_free(&WITH_VALUE)?;
    let runs_tests = RUN_TESTS.iter().any(|known| wrapping.words[at] == *known);
    (runs_tests && !wrapping.only_asks()).then_some(at)
}

/// The words with our runner stand right behind the command, since for nextest the first of several wins, and our test
/// group behind all others, where it is the weakest.
fn run_line(wrapping: Wrapping<'_>, at: usize, cargo: &OsStr, prepared: Prepared) -> Result<Command, Failure> {
    let mut words = wrapping.words.to_vec();
    if !prepared.injected.is_empty() {
        warn_of_scripts(&wrapping.own_words(), wrapping.around)?;
    }
    words.splice(at + 1..at + 1, prepared.injected);
    let group = prepared.group.map(|group| group_words(&group, &prepared.store)).transpose()?;
    let mut command = nextest(cargo);
    command.args(inject::append(&words, group.into_iter().flatten())).envs(prepared.env);
    Ok(without_own_variables(command, wrapping.around))
}

fn group_words(group: &ToolConfig, store: &Path) -> Result<[OsString; 2], Failure> {
    let path = group
        .write(store)
        .map_err(|error| Failure::internal(format!("cannot write nextest's test group into {}", store.display()), error))?;
    Ok(["--tool-config-file".into(), format!("lease:{}", path_text("store", &path)?).into()])
}

/// Cargo looks for subcommands in its home's `bin` as well as in `PATH`.
fn installed(around: &Surroundings) -> Result<(), Failure> {
    const NAME: &str = "cargo-nextest";
    let in_home = around.cargo_home().is_some_and(|home| home.join("bin").join(NAME).is_file());
    if in_home || which::which(NAME).is_ok() {
        return Ok(());
    }
    Err(Failure::usage(
        "cargo-nextest is not installed; install it with `cargo install --locked cargo-nextest` \
         (or see https://nexte.st/docs/installation), or use `cargo lease test`",
    ))
}

/// Warns of wrapper scripts under which tests would run without a slot.
fn warn_of_scripts(words: &OwnWords<'_>, around: &Surroundings) -> Result<(), Failure> {
    let Some(path) = config_file(words, around) else {
        return Ok(());
    };
    let text = around.read(&path)?.unwrap_or_default();
    for script in inject::scripts_without_runner(&text) {
        exit::warn(&format!(
            "{}: tests under the wrapper script '{script}' run without a slot, since nextest leaves the target runner \
             out; give it target-runner = \"around-wrapper\"",
            path.display()
        ));
    }
    Ok(())
}

/// Nextest's configuration: the one that was named, else the workspace's.
fn config_file(words: &OwnWords<'_>, around: &Surroundings) -> Option<PathBuf> {
    if let Some(named) = words.values(&["--config-file"]).pop() {
        return Some(around.absolute(Path::new(&named)));
    }
    let manifest = words.values(&["--manifest-path"]).pop().map(|path| around.absolute(Path::new(&path)));
    let start = manifest.as_deref().and_then(Path::parent).unwrap_or(&around.cwd);
    start.ancestors().map(|dir| dir.join(".config/nextest.toml")).find(|path| path.is_file())
}
