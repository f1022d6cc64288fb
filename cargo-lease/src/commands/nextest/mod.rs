//! `cargo lease nextest`: cargo nextest with every test process in a slot.

mod folder;
mod listing;
mod report;
mod schedule;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lease_harness::harness::{Ended, RunNotes, exit_like};

use self::folder::RunFolder;
use self::listing::{Listing, Wanted, reuses_a_build};
use self::report::Ran;
use self::schedule::Schedule;
use super::cargo::{Prepared, Wrapping, become_command, cargo_program, without_own_variables};
use super::held::{StartedBy, acquire, run_around, run_watched};
use super::hold::HeldSlots;
use crate::cli::Reader;
use crate::exit::{self, Failure};
use crate::inject::{self, OwnWords};
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
    let around = wrapping.around;
    let plan = wrapping.plan(cargo)?;
    let builds_only = wrapping.only_builds();
    if let (true, false, Some((pool_file, _))) = (has_debugger(wrapping.words), builds_only, &plan.pool) {
        return debug(wrapping, &plan.settings, pool_file, cargo);
    }
    let holds = plan.hold == Hold::Run && !builds_only;
    let mut prepared = wrapping.prepare(&plan, cargo, Reader::Nextest)?;
    if !prepared.injected.is_empty() {
        warn_of_scripts(&wrapping.own_words(), around)?;
    }
    let folder = RunFolder::create()?;
    let with_env = |prepared: &Prepared, mut command: Command| {
        command.envs(prepared.env.iter().map(|(name, value)| (name, value)));
        without_own_variables(command, around)
    };
    let wanted = if holds { Wanted::Always } else { Wanted::ForLeasedTests };
    let listing = listing::list(&wrapping, at, &folder, with_env(&prepared, nextest(cargo)), wanted)?;
    if let Listing::Failed(ended) = &listing {
        // Ending by a signal drops nothing.
        drop(folder);
        return Ok(exit_like(ended));
    }
    // Behind the listing, which builds: nobody needs a slot for that.
    let n_useful = if holds { n_useful(&wrapping, at, &listing, &prepared)? } else { 0 };
    let held = (0 < n_useful).then(|| HeldSlots::take(&plan, n_useful, "nextest", around)).transpose()?;
    if let (Some(held), Some(pool)) = (&held, &mut prepared.pool) {
        pool.slots = held.n_slots();
    }
    let (schedule, is_built) = match &listing {
        Listing::NotMade | Listing::Failed(_) => (Schedule::of_wrapped(&prepared), false),
        Listing::Made(listed) => (Schedule::of_list(&prepared, listed, around), true),
    };
    let mut command = nextest(cargo);
    command.args(run_words(&wrapping, at, &prepared, is_built, &write_groups(&schedule, &folder)?));
    command.env(RunNotes::SLOTS, folder.path());
    let ended = match held {
        Some(held) => held.run(with_env(&prepared, command), wrapping.between)?,
        None => run_watched(with_env(&prepared, command), &[], StartedBy::Hand)?,
    };
    // A run that ends well has run all it was to run, unless that is what another run has left over.
    let is_rerun = !wrapping.own_words().values(&["--rerun", "-R"]).is_empty();
    let ran = if ended == Ended::Exited(0) && !is_rerun { Ran::All } else { Ran::Some };
    report::tell(&folder.notes().slots(), &schedule, ran);
    drop(folder);
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
fn n_useful(wrapping: &Wrapping<'_>, at: usize, listing: &Listing, prepared: &Prepared) -> Result<usize, Failure> {
    if wrapping.words[at].as_encoded_bytes().starts_with(b"b") {
        return Ok(1);
    }
    let words = wrapping.own_words();
    let config = config_file(&words, wrapping.around).map(|path| wrapping.around.read(&path)).transpose()?.flatten();
    let n_threads = nextest_threads(&words, &config.unwrap_or_default(), wrapping.around);
    Ok(match listing {
        Listing::Made(listed) => n_threads.min(listed.n_in_slots(&prepared.wrap)),
        Listing::NotMade | Listing::Failed(_) => n_threads,
    })
}

/// The words with our runner right behind the command, since for nextest the first of several wins, and our test groups
/// behind all others, where they are the weakest.
fn run_words(wrapping: &Wrapping<'_>, at: usize, prepared: &Prepared, is_built: bool, groups: &[OsString]) -> Vec<OsString> {
    let mut words = wrapping.words.to_vec();
    words.splice(at + 1..at + 1, prepared.injected.iter().cloned());
    let own = wrapping.own_words();
    // The listing has built everything and said so. Once would leave out what cargo says, and not what the compiler does.
    let is_silent = is_built && !reuses_a_build(&own) && !own.has(&["--cargo-quiet", "--cargo-verbose"]);
    let quiet = is_silent.then_some(["--cargo-quiet", "--cargo-quiet"]).into_iter().flatten().map(OsString::from);
    inject::append(&words, quiet.chain(groups.iter().cloned()))
}

fn write_groups(schedule: &Schedule, folder: &RunFolder) -> Result<Vec<OsString>, Failure> {
    if schedule.groups.is_empty() {
        return Ok(Vec::new());
    }
    let path = folder.path().join("nextest.toml");
    std::fs::write(&path, inject::tool_config(&schedule.groups))
        .map_err(|error| Failure::internal(format!("cannot write nextest's test groups to {}", path.display()), error))?;
    Ok(vec!["--tool-config-file".into(), format!("lease:{}", path_text("temporary folder", &path)?).into()])
}

/// Where the command stands, if it is one that runs tests.
fn run_command(wrapping: &Wrapping<'_>) -> Option<usize> {
    let at = wrapping.own_words().first_free(&WITH_VALUE)?;
    let runs_tests = RUN_TESTS.iter().any(|known| wrapping.words[at] == *known);
    (runs_tests && !wrapping.only_asks()).then_some(at)
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
