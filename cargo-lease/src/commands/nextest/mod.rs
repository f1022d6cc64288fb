//! `cargo lease nextest`: cargo nextest with every test process in a slot.

mod archive;
mod config;
mod listing;
mod program;
pub(super) mod proxy;
mod report;
mod schedule;
pub(super) mod small_runner;
mod test_command;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};

use lease_harness::harness::{Ended, Ending, RunFolder, RunNotes, SlotProxy, exit_like, heed_interrupts};

use self::listing::{Listed, Wanted};
use self::program::{Nextest, SILENCES};
use self::report::Ran;
use self::schedule::{Schedule, n_in_slots};
use self::test_command::{TestCommand, Verb};
use super::cargo::{Holder, PoolAt, Prepared, Wrapping, become_command, cargo_program, without_own_variables};
use super::held::{StartedBy, acquire, run_around, run_watched};
use super::hold::{HeldSlots, for_run};
use crate::cli::Reader;
use crate::exit::{self, Failure};
use crate::inject::{self, AskedHost, NoList};
use crate::resolve::{Settings, has_debugger, nextest_threads, path_text};

/// Runs tests below this process, which stays to look after the run; becomes `cargo nextest` for everything else, and
/// then returns only when that fails.
pub(super) fn run(wrapping: Wrapping<'_>) -> Result<ExitCode, Failure> {
    let cargo = cargo_program(wrapping.around)?;
    let nextest = Nextest::find(&cargo, wrapping.around)?;
    match TestCommand::find(&wrapping) {
        Some(command) => TestRun { wrapping, command, cargo: &cargo, nextest: &nextest }.run(),
        None => {
            let mut command = nextest.command();
            command.args(wrapping.words);
            Err(become_command(without_own_variables(command, wrapping.around)))
        }
    }
}

/// A run of tests.
struct TestRun<'a> {
    wrapping: Wrapping<'a>,
    command: TestCommand,
    cargo: &'a OsStr,
    nextest: &'a Nextest,
}

impl TestRun<'_> {
    /// Runs tests and ends as nextest ended, whose parent this is.
    fn run(self) -> Result<ExitCode, Failure> {
        let (wrapping, around) = (self.wrapping, self.wrapping.around);
        // Nextest catches them from its start. Where that cannot be, they stay ignored.
        let _ = heed_interrupts();
        let host = AskedHost::ask(self.cargo, around)?;
        let plan = wrapping.plan(self.cargo)?;
        let builds_only = wrapping.only_builds();
        if let (true, false, Some(pool)) = (has_debugger(wrapping.words), builds_only, plan.pool()) {
            drop(host);
            return debug(wrapping, &plan.settings, &pool.file, self.nextest);
        }
        let held_pool = match &plan.holder {
            Holder::Run(pool) if !builds_only => Some(pool),
            _ => None,
        };
        let folder = create_folder()?;
        let (proxy, ask_at) = if builds_only { None } else { proxy::start(&plan, &folder, around) }.unzip();
        let mut prepared = wrapping.prepare(&plan, host, Reader::Nextest, ask_at.as_ref())?;
        if !prepared.injected.is_empty() {
            config::warn_of_scripts(&wrapping.own_words(), around)?;
        }
        let wanted = if held_pool.is_some() { Wanted::Always } else { Wanted::ForLeasedTests };
        let words = listing::words(&wrapping, self.command, wanted);
        let unknown = match &words {
            Err(NoList::Unknown(option)) => Some(option.clone()),
            Ok(_) | Err(NoList::OfNoUse) => None,
        };
        let list = |words| listing::list(&wrapping, words, &folder, self.nextest, self.nextest_for(&prepared));
        let listed = match words.map_or(Ok(Ok(None)), list)? {
            Ok(listed) => listed,
            Err(ended) => {
                // Ending by a signal drops nothing.
                drop(folder);
                return Ok(exit_like(&ended));
            }
        };
        // Behind the listing, which builds: nobody needs a slot for that.
        let held = match held_pool {
            Some(pool) => self.hold(&plan.settings, pool, &mut prepared, listed.as_ref())?,
            None => None,
        };
        let schedule = match &listed {
            None => Schedule::of_wrapped(&prepared),
            Some(listed) => Schedule::of_list(&prepared, listed, around),
        };
        let holds = match (held, proxy) {
            (Some(held), _) => Holds::Slots(held),
            (None, Some(proxy)) => Holds::ForTests(proxy, Ending::on_signals()?),
            (None, None) => Holds::Nothing,
        };
        // Behind the run the folder has to be removed.
        let outlasts_signals = if let Holds::ForTests(_, signals) = &holds { Some(signals.clone()) } else { None };
        let ended = self.run_tests(&prepared, listed.as_ref(), &schedule, &folder, holds)?;
        self.report(&ended, &folder, &schedule);
        // Behind the run: what nextest does not know either is for it to explain.
        unknown.filter(|_| ended != USAGE).iter().for_each(|option| note_unlisted(option));
        drop(folder);
        // To the very end: one that comes now would take the place of nextest's exit code.
        std::mem::forget(outlasts_signals);
        Ok(exit_like(&ended))
    }

    /// Nextest with the environment of the run.
    fn nextest_for(&self, prepared: &Prepared) -> Command {
        let mut command = self.nextest.command();
        command.envs(prepared.env.iter().map(|(name, value)| (name, value)));
        without_own_variables(command, self.wrapping.around)
    }

    /// Takes the slots of the run; none if no test needs one.
    fn hold(
        &self,
        settings: &Settings,
        pool: &PoolAt,
        prepared: &mut Prepared,
        listed: Option<&Listed>,
    ) -> Result<Option<HeldSlots>, Failure> {
        let n_useful = self.n_useful(listed, prepared)?;
        let take = || HeldSlots::take(&for_run(settings, "nextest", self.wrapping.around), pool, n_useful);
        let held = (0 < n_useful).then(take).transpose()?;
        if let (Some(held), Some(pool)) = (&held, &mut prepared.pool) {
            pool.slots = held.n_slots();
        }
        Ok(held)
    }

    /// As many slots as tests can run at once.
    fn n_useful(&self, listed: Option<&Listed>, prepared: &Prepared) -> Result<usize, Failure> {
        if self.command.verb == Verb::Bench {
            return Ok(1);
        }
        let words = self.wrapping.own_words();
        let config = config::text(&words, self.wrapping.around)?;
        let n_threads = nextest_threads(&words, &config, self.wrapping.around);
        Ok(listed.map_or(n_threads, |listed| n_threads.min(n_in_slots(prepared, listed, self.wrapping.around))))
    }

    fn run_tests(
        &self,
        prepared: &Prepared,
        listed: Option<&Listed>,
        schedule: &Schedule,
        folder: &RunFolder,
        holds: Holds,
    ) -> Result<Ended, Failure> {
        let mut command = self.nextest_for(prepared);
        command.args(self.words(prepared, listed, &write_groups(schedule, folder)?));
        command.env(RunNotes::SLOTS, folder.path());
        match holds {
            Holds::Slots(held) => held.run(command, self.wrapping.between),
            Holds::ForTests(proxy, signals) => proxy::run(proxy, command, &signals),
            Holds::Nothing => run_watched(command, &[], StartedBy::Hand),
        }
    }

    /// The words with our runner right behind the command, since for nextest the first of several wins, and our test groups
    /// behind all others, where they are the weakest.
    fn words(&self, prepared: &Prepared, listed: Option<&Listed>, groups: &[OsString]) -> Vec<OsString> {
        let behind = self.command.at + 1;
        let mut words = self.wrapping.words.to_vec();
        words.splice(behind..behind, prepared.injected.iter().cloned());
        if let Some(archive) = listed.and_then(|listed| listed.archive.as_ref()) {
            return inject::append(&archive.unpacked(words), groups.iter().cloned());
        }
        // The listing has built everything and said so. Once would leave out what cargo says, and not what the compiler does.
        let quiet = listed.is_some_and(|listed| listed.can_be_silenced).then_some([SILENCES, SILENCES]);
        inject::append(&words, quiet.into_iter().flatten().map(OsString::from).chain(groups.iter().cloned()))
    }

    fn report(&self, ended: &Ended, folder: &RunFolder, schedule: &Schedule) {
        // A run that ends well has run all it was to run, unless that is what another run has left over.
        let is_rerun = !self.wrapping.own_words().values(&["--rerun", "-R"]).is_empty();
        let ran = if *ended == Ended::Exited(0) && !is_rerun { Ran::All } else { Ran::Some };
        report::tell(&folder.notes().slots(), schedule, ran);
    }
}

/// What this process holds while the tests run.
enum Holds {
    /// Slots of the run, which it lends to the tests.
    Slots(HeldSlots),
    /// A slot for each test that runs. Signals do not end this process meanwhile.
    ForTests(SlotProxy, Ending),
    Nothing,
}

/// How nextest ends if it does not know what it was told.
const USAGE: Ended = Ended::Exited(2);

fn note_unlisted(option: &str) {
    exit::note(&format!(
        "the tests were not listed before the run, since cargo lease does not know nextest's option {option}; what tests waited \
         for slots that they take by themselves counted as their time"
    ));
}

fn create_folder() -> Result<RunFolder, Failure> {
    // An empty TMPDIR names no folder, and nextest takes only absolute paths.
    let temporary = Some(std::env::temp_dir()).filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| "/tmp".into());
    let above = std::path::absolute(&temporary).unwrap_or(temporary);
    RunFolder::create(&above).map_err(|error| Failure::internal(format!("cannot create a folder in {}", above.display()), error))
}

/// Nextest puts a debugger in front of a runner as well, where it would see only us. So the one test that it is for has its
/// slot from here, and no runner.
fn debug(wrapping: Wrapping<'_>, settings: &Settings, pool_file: &Path, nextest: &Nextest) -> Result<ExitCode, Failure> {
    let slot = acquire(settings.request(pool_file))?;
    let mut command = nextest.command();
    command.args(wrapping.words).envs(slot.envs().iter().map(|(name, value)| (name, value)));
    run_around(slot, without_own_variables(command, wrapping.around), StartedBy::Hand)
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
