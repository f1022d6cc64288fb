//! What the commands that wrap cargo have in common.
//!
//! They look at the pool, add words to cargo's command line, and then *become* cargo; a run of nextest is the exception.
//! Only the runner, in front of each test binary, holds a lease.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lease_harness::Wait;
use lease_harness::harness::{BetweenTests, Ended, PoolInfo, exec, exit_like};

use super::held::{StartedBy, run_watched};
use super::hold::{HeldSlots, for_run};
use super::nextest::small_runner::SmallRunner;
use crate::cli::{LeaseOptions, RUNNER, Reader, lease_option};
use crate::exit::{self, Failure};
use crate::inject::{self, AskedHost, CargoConfig, OwnWords};
use crate::resolve::{
    Hold, Manifests, Settings, Surroundings, Wrap, find_hold, find_pool_file, find_wrap, passed_over, path_text,
};

/// Words that ask cargo about itself; then nothing runs and no pool is needed.
const ASKS: [&str; 4] = ["--help", "-h", "--version", "-V"];

/// A command line to be wrapped.
#[derive(Clone, Copy)]
pub(super) struct Wrapping<'a> {
    pub(super) lease: &'a LeaseOptions,
    /// `--wrap`, as typed.
    pub(super) wrap: Option<&'a str>,
    /// `--hold`, as typed.
    pub(super) hold: Option<&'a str>,
    /// What a held slot goes through between two tests.
    pub(super) between: BetweenTests,
    pub(super) words: &'a [OsString],
    pub(super) around: &'a Surroundings,
}

impl<'a> Wrapping<'a> {
    /// The words that belong to cargo.
    pub(super) fn own_words(&self) -> OwnWords<'a> {
        OwnWords::new(self.words)
    }

    /// Whether the words only ask cargo about itself.
    pub(super) fn only_asks(&self) -> bool {
        self.own_words().has(&ASKS)
    }

    /// Whether tests are only built.
    pub(super) fn only_builds(&self) -> bool {
        self.own_words().has(&["--no-run"])
    }

    /// Whether cargo can build what it runs, and nothing else, so that nobody waits for a slot that waits for a build. It
    /// refuses to where there are only documentation tests; and what it says to programs must not be said twice.
    fn can_be_built_before(&self) -> bool {
        let own = self.own_words();
        !own.has(&["--doc"]) && own.values(&["--message-format"]).is_empty()
    }

    /// Checks the pool.
    ///
    /// # Errors
    ///
    /// Everything that would make each runner fail: better once, before anything is built.
    pub(super) fn plan(&self, cargo: &OsStr) -> Result<Plan, Failure> {
        self.warn_of_misplaced_options();
        let settings = Settings::read(self.lease, self.around)?;
        let manifests = Manifests::new(self.words, self.around, Some(cargo));
        let (wrap, hold) = (find_wrap(self.wrap, &manifests)?, find_hold(self.hold, &manifests)?);
        if self.between == BetweenTests::Reset && hold == Hold::Test {
            let message = "--reset-between has no effect without --hold run: a slot is made clean for each test";
            return Err(Failure::usage(message));
        }
        if wrap == Wrap::Annotated && hold == Hold::Test {
            return Ok(Plan { settings, wrap, holder: Holder::Tests(None) });
        }
        let typed = self.lease.pool.as_deref();
        let pool_file = find_pool_file(typed, self.around, &manifests)?;
        passed_over(typed, self.around, &manifests, &pool_file)?.iter().for_each(|warning| exit::warn(warning));
        let info = checked(&settings, &pool_file)?;
        // The runner starts in its package's folder, so that it is told where the store is.
        let settings = Settings { store: Some(info.store.clone()), ..settings };
        let pool = PoolAt { file: pool_file, info };
        let holder = match hold {
            Hold::Test => Holder::Tests(Some(pool)),
            Hold::Run => Holder::Run(pool),
        };
        Ok(Plan { settings, wrap, holder })
    }

    /// Finds what brings our runner in front of the test binaries; where it asks the process that holds slots for them, if one
    /// does.
    ///
    /// # Errors
    ///
    /// A configuration of cargo's that cannot be read.
    pub(super) fn prepare(
        &self,
        plan: &Plan,
        host: AskedHost,
        reader: Reader,
        proxy: Option<&AskAt>,
    ) -> Result<Prepared, Failure> {
        let Plan { settings, wrap, holder } = plan;
        let prepared = Prepared { wrap: wrap.clone(), settings: settings.clone(), ..Prepared::default() };
        let Some(pool) = plan.pool() else {
            return Ok(Prepared { env: settings.to_env(self.lease)?, ..prepared });
        };
        let prepared = Prepared { pool: Some(pool.info.clone()), ..prepared };
        if *wrap == Wrap::Annotated {
            // The pool is held, so the options that cannot be told to the tests are not lost.
            return Ok(Prepared { env: settings.to_env(&LeaseOptions::default())?, ..prepared });
        }
        let settings = match holder {
            Holder::Tests(_) => settings.clone(),
            // The run has its slots; no test has to wait for others than its own.
            Holder::Run(_) => Settings { wait: Wait::Forever, ..settings.clone() },
        };
        let mut ours: Vec<String> =
            proxy.and_then(|proxy| proxy.small_runner.as_ref()).map(|small| small.path().to_owned()).into_iter().collect();
        ours.push(path_text("program", &own_program()?)?.to_owned());
        ours.extend([RUNNER, reader.to_word()].map(str::to_owned));
        ours.extend(settings.to_words(&pool.file)?);
        ours.extend(wrap.to_word());
        ours.extend(proxy.map(|proxy| format!("--proxy={}", proxy.socket)));
        let words = self.own_words();
        let config = CargoConfig::read(&words, self.around, reader)?;
        let injected = inject::runner_words(&ours, &config, &words, &host.told(&config)?)?;
        Ok(Prepared { injected, ..prepared })
    }
}

impl Wrapping<'_> {
    /// Cargo gets its words as they are; about an option of ours among them it would only say that it knows none such.
    fn warn_of_misplaced_options(&self) {
        for option in self.own_words().iter().filter_map(|word| lease_option(word)) {
            exit::warn(&format!(
                "{option} stands behind the command, so it belongs to that; an option of the lease comes before it, \
                 right behind `cargo lease`"
            ));
        }
    }
}

/// Where a runner asks for the slot of its test.
pub(super) struct AskAt {
    pub(super) socket: String,
    /// A program that does so and is small, to be put in front of ours.
    pub(super) small_runner: Option<SmallRunner>,
}

/// What is to be done, before anything is started.
pub(super) struct Plan {
    pub(super) settings: Settings,
    pub(super) wrap: Wrap,
    pub(super) holder: Holder,
}

/// Who holds slots, and of which pool.
pub(super) enum Holder {
    /// Each test, of this pool; without one only the tests know of which.
    Tests(Option<PoolAt>),
    /// The run, for all of its tests.
    Run(PoolAt),
}

/// A pool's file and what it is.
pub(super) struct PoolAt {
    pub(super) file: PathBuf,
    pub(super) info: PoolInfo,
}

impl Plan {
    /// The pool, if it is known.
    pub(super) fn pool(&self) -> Option<&PoolAt> {
        match &self.holder {
            Holder::Tests(pool) => pool.as_ref(),
            Holder::Run(pool) => Some(pool),
        }
    }
}

/// What brings our runner in front of the test binaries, and what else cargo or nextest is told.
#[derive(Default)]
pub(super) struct Prepared {
    pub(super) injected: Vec<OsString>,
    /// For processes that take their slot by themselves.
    pub(super) env: Vec<(&'static str, OsString)>,
    pub(super) wrap: Wrap,
    /// The pool of what is wrapped or held, if anything is.
    pub(super) pool: Option<PoolInfo>,
    pub(super) settings: Settings,
}

/// Becomes a cargo subcommand that runs test binaries, or runs it in a slot that is held for all of them; returns from the
/// former only when that fails.
pub(super) fn run_cargo(subcommand: &str, wrapping: Wrapping<'_>) -> Result<ExitCode, Failure> {
    let cargo = cargo_program(wrapping.around)?;
    let command = |prepared: &Prepared, more: &[&str]| {
        let ours = prepared.injected.iter().cloned().chain(more.iter().map(OsString::from));
        let mut command = Command::new(&cargo);
        command.arg(subcommand).args(inject::append(wrapping.words, ours));
        command.envs(prepared.env.iter().map(|(name, value)| (name, value)));
        without_own_variables(command, wrapping.around)
    };
    if wrapping.only_asks() {
        return Err(become_command(command(&Prepared::default(), &[])));
    }
    let host = AskedHost::ask(&cargo, wrapping.around)?;
    let plan = wrapping.plan(&cargo)?;
    let prepared = wrapping.prepare(&plan, host, Reader::Cargo, None)?;
    if let Holder::Run(pool) = &plan.holder
        && !wrapping.only_builds()
    {
        if wrapping.can_be_built_before() {
            let built = run_watched(command(&prepared, &["--no-run"]), &[], StartedBy::Hand)?;
            if built != Ended::Exited(0) {
                return Ok(exit_like(&built));
            }
        }
        // Cargo runs one binary after the other.
        let held = HeldSlots::take(&for_run(&plan.settings, subcommand, wrapping.around), pool, 1)?;
        return Ok(exit_like(&held.run(command(&prepared, &[]), wrapping.between)?));
    }
    Err(become_command(command(&prepared, &[])))
}

/// Checks that a slot could be asked for, and says the pool's warnings.
pub(super) fn checked(settings: &Settings, pool_file: &Path) -> Result<PoolInfo, Failure> {
    let info = settings.request(pool_file).check()?;
    info.warnings.iter().for_each(|warning| exit::warn(warning));
    Ok(info)
}

/// Replaces this process; returns only when that fails.
pub(super) fn become_command(command: Command) -> Failure {
    let program = command.get_program().to_owned();
    Failure::start(&program, exec(command))
}

/// Takes out what `cargo run --package cargo-lease` (a `cargo lease` alias) set for this program: a wrapped command
/// must not believe that it is this package. Not for what the runner starts: those variables are the test's.
pub(super) fn without_own_variables(mut command: Command, around: &Surroundings) -> Command {
    if around.var_os("CARGO_PKG_NAME").is_none_or(|name| name != env!("CARGO_PKG_NAME")) {
        return command;
    }
    let ours = |name: &&str| {
        name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || matches!(*name, "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE" | "OUT_DIR")
    };
    for name in around.var_names().filter(ours) {
        command.env_remove(name);
    }
    command
}

/// The cargo that started us, else the one in `PATH`.
pub(super) fn cargo_program(around: &Surroundings) -> Result<OsString, Failure> {
    let started_us = around.var_os("CARGO").filter(|cargo| Path::new(cargo).file_stem() == Some("cargo".as_ref()));
    if let Some(cargo) = started_us {
        return Ok(cargo.clone());
    }
    which::which("cargo").map(PathBuf::into_os_string).map_err(|error| Failure::usage("cargo not found in PATH").because(error))
}

/// The path of this program. If another has taken its place since it was started, as happens when it is built anew, the kernel
/// adds a remark to the path: then the path is that of the other one, which is what everybody finds there from now on.
pub(super) fn own_program() -> Result<PathBuf, Failure> {
    let told = std::env::current_exe().map_err(|error| Failure::internal("cannot tell the path of this program", error))?;
    Ok(successor(&told).unwrap_or(told))
}

/// What stands in the place of a program that is no longer there.
fn successor(told: &Path) -> Option<PathBuf> {
    let place = told.as_os_str().as_bytes().strip_suffix(b" (deleted)")?;
    let place = Path::new(OsStr::from_bytes(place));
    (!told.exists() && place.is_file()).then(|| place.to_owned())
}
