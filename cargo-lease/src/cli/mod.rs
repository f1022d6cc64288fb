//! What was typed.
//!
//! Parsing touches nothing but the words of the command line; what they mean, together with the environment and the
//! project's files, is decided in [`crate::resolve`].

mod runner;
pub(crate) mod script;
mod texts;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use lease_harness::claims::Claim;

pub(crate) use texts::SETUP_IN_NEXTEST;
use texts::{EXAMPLES, LONG_ABOUT, MORE};

/// The hidden command that cargo and nextest start in front of each test binary.
pub(crate) const RUNNER: &str = "__runner";
/// The hidden command that ends what works in the slots of a run whose holder is gone.
pub(crate) const GUARD: &str = "__guard";

/// Commands whose words belong to the wrapped program, word for word.
const WRAPPERS: [&str; 3] = ["test", "nextest", "bench"];

/// Commands that take the lease options after their name as well as before it.
const TAKE_OPTIONS: [&str; 4] = ["run", "setup-script", "status", "gc"];

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "cargo lease",
    bin_name = "cargo lease",
    version,
    about = "Every test process in a slot of its own, leased from a pool that all runs of this host share",
    long_about = LONG_ABOUT,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{MORE}"),
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) lease: LeaseOptions,
    /// Which test binaries run in a slot; the help text has brackets, which are links in a comment like this.
    #[arg(
        long,
        value_name = "WHAT",
        help_heading = "Lease options",
        help = "Which test binaries run in a slot: all, annotated (those with a #[leased_slot] test), or \
                binary ids such as api::it,db::* [default: `wrap` in the manifest's metadata, else all]"
    )]
    pub(crate) wrap: Option<String>,
    /// For how long a slot is held; the help text has brackets, which are links in a comment like this.
    #[arg(
        long,
        value_name = "WHAT",
        value_parser = hold(),
        hide_possible_values = true,
        help_heading = "Lease options",
        help = "Who holds the slots: each test for itself, or the run as a whole, which lends them to its tests: \
                test, run [default: `hold` in the manifest's metadata, else test]"
    )]
    pub(crate) hold: Option<String>,
    /// With `--hold run`, reset a slot before the next test gets it
    #[arg(long, help_heading = "Lease options")]
    pub(crate) reset_between: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run `cargo test` with every test binary in a slot
    #[command(
        disable_help_flag = true,
        override_usage = "cargo lease [LEASE OPTIONS] test [CARGO TEST ARGUMENTS]...",
        after_help = "\
Each test binary waits for a slot, sees its environment, and gives it back when it ends. Documentation tests are \
wrapped too. A runner that you configured for cargo stays in place, inside ours. `cargo lease test --help` shows \
cargo's own help.

Examples:
  cargo lease test
  cargo lease --pool ci/pool.json test -p api --test it -- --nocapture"
    )]
    Test(Wrapped),

    /// Run `cargo nextest` with every test process in a slot
    #[command(
        disable_help_flag = true,
        override_usage = "cargo lease [LEASE OPTIONS] nextest [NEXTEST ARGUMENTS]...",
        after_help = "\
One slot for each test process; listing tests takes none. A test group for each pool, as wide as that, keeps this run's \
own queue inside nextest, where waiting does not count as the test's time; `#[leased_slot]` tests are asked for theirs by a \
listing first. Who waited for another run is told at the end. With `--hold run` the run holds its slots and lends them to its tests. A test under `--debugger` or \
`--tracer` has a slot too. Nextest commands other than `run` and `bench` pass through \
untouched.

Examples:
  cargo lease nextest run
  cargo lease --wait 10m nextest run --profile ci -E 'test(db)'
  cargo lease --hold run nextest run"
    )]
    Nextest(Wrapped),

    /// Run `cargo bench` with every bench binary in a slot
    #[command(
        disable_help_flag = true,
        override_usage = "cargo lease [LEASE OPTIONS] bench [CARGO BENCH ARGUMENTS]...",
        after_help = "\
Examples:
  cargo lease bench
  cargo lease --no-wait bench --bench throughput -- --sample-size 20"
    )]
    Bench(Wrapped),

    /// Run any command in a slot, or holding claims, or both
    #[command(after_help = "\
The command sees the slot's environment and POOL_RUN_SLOT, POOL_RUN_TOKEN, POOL_RUN_OWNER; otherwise it behaves as if \
started directly: same input, output, folder, exit code. Under an outer `cargo lease` of the same pool it joins that \
slot.

With --claim it holds these resources, all or none, and takes a slot only if --pool is given: first the slot, then the \
claims. The command sees LEASE_CLAIMS. What it claims itself and has by that it joins; what goes beyond is not waited \
for.

Examples:
  cargo lease run -- psql
  cargo lease run --ttl 5 --no-wait -- ./smoke.sh --fast
  cargo lease run --claim read:schema --claim write:path:fixtures/users -- ./load.sh
  cargo lease run --pool db.json --claim write:schema -- ./migrate.sh")]
    Run(RunArgs),

    /// As a setup script of nextest, take one slot for the whole run
    #[command(after_help = format!("\
All tests that the script is for see the slot's environment. The slot is kept until nextest ends, however that ends, and \
then given back. A second setup script of the same run gets the same slot. `#[leased_slot]` tests and `cargo lease` in \
a test join it. If the lease is lost, nextest is ended.

In .config/nextest.toml:
{SETUP_IN_NEXTEST}

Options stand in the command: \"cargo lease setup-script --pool db.json --wait 10m\"."))]
    SetupScript(SetupScriptArgs),

    /// Show slots, holders and the queue, and who holds which claims
    #[command(after_help = "\
Without a pool file only claims are shown, those of --scope.

Examples:
  cargo lease status
  cargo lease status --json | jq '.slots[] | select(.state == \"free\")'")]
    Status(StatusArgs),

    /// Remove what was made, recorded and left
    #[command(
        override_usage = "cargo lease gc [--apply] [--json] [--store DIR]",
        after_help = "\
Shows what would go, and with --apply removes it: temporary folders, worktrees and branches that are recorded in the store, \
whose owner is provably gone and whose time has come. Everything else stays, and the table says why. Worktrees and branches \
go only from the repository in which this runs.

Exit code 1 says that something was to go and could not; the next run tries again.

Examples:
  cargo lease gc
  cargo lease gc --apply
  cargo lease gc --json | jq '.resources[] | select(.verdict == \"kept\")'"
    )]
    Gc(GcArgs),

    /// An operation of a family for scripts, which are tables and join the help from there.
    #[command(skip)]
    Script(Box<script::Call>),

    #[command(name = RUNNER, hide = true)]
    Runner(RunnerArgs),

    #[command(name = GUARD, hide = true)]
    Guard,
}

/// The lease options: how a slot is asked for.
///
/// All values are as typed; an empty one counts as not given.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Lease options")]
pub(crate) struct LeaseOptions {
    /// The pool file [env: LEASE_POOL_FILE]
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) pool: Option<PathBuf>,
    /// The folder that all runs share [env: LEASE_STORE] [default: logs/leases of the main checkout]
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub(crate) store: Option<PathBuf>,
    /// Who asks; the help text has angle brackets, which are markup in a comment like this.
    #[arg(long, value_name = "NAME", help = "Who asks [env: LEASE_OWNER] [default: <user>@<host>]")]
    pub(crate) owner: Option<String>,
    /// Which owners the store accepts, an anchored ECMAScript pattern [env: LEASE_OWNER_PATTERN]
    #[arg(long, value_name = "PATTERN")]
    pub(crate) owner_pattern: Option<String>,
    /// What people see as the session [default: worktree, package and test]
    #[arg(long, value_name = "TEXT")]
    pub(crate) session: Option<String>,
    /// Minutes that a holder may stay silent [env: POOL_TTL_MINUTES]
    #[arg(long, value_name = "MINUTES", allow_negative_numbers = true)]
    pub(crate) ttl: Option<String>,
    /// Longest wait for a slot, such as 90s, 10m or 1h30m [default: for ever]
    #[arg(long, value_name = "DURATION")]
    pub(crate) wait: Option<String>,
    /// The same in milliseconds
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) wait_ms: Option<String>,
    /// Fail at once when no slot is free
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Seconds between two heartbeats [default: a sixth of the TTL]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) heartbeat_secs: Option<String>,
    /// Command that makes a slot clean [env: POOL_PROVISION_CMD]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) provision_cmd: Option<String>,
    /// Command that resets a held slot [env: POOL_RESET_CMD]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) reset_cmd: Option<String>,
    /// Command that checks a slot [env: POOL_HEALTH_CMD]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) health_cmd: Option<String>,
    /// Command that tells a waiting session of its grant [env: POOL_NUDGE_CMD]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) nudge_cmd: Option<String>,
}

/// A word of `--hold`; an empty one counts as not given.
fn hold() -> PossibleValuesParser {
    let words = [PossibleValue::new("test"), PossibleValue::new("run"), PossibleValue::new("").hide(true)];
    PossibleValuesParser::new(words)
}

/// A path; unlike clap's own kind it may be empty, which counts as not given.
fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

impl LeaseOptions {
    /// Refuses two options that say how long to wait. Clap could do that too, but not know that an empty one says nothing.
    fn check_conflicts(&self) -> Result<(), clap::Error> {
        let is_given = |typed: &Option<String>| typed.as_ref().is_some_and(|text| !text.is_empty());
        let options = [("--wait", is_given(&self.wait)), ("--wait-ms", is_given(&self.wait_ms)), ("--no-wait", self.no_wait)];
        let given: Vec<&str> = options.into_iter().filter_map(|(name, given)| given.then_some(name)).collect();
        match given[..] {
            [first, second, ..] => {
                let message = format!("{first} cannot be used with {second}: both say how long to wait");
                Err(Cli::command().error(ErrorKind::ArgumentConflict, message))
            }
            _ => Ok(()),
        }
    }
}

impl Cli {
    /// A command without options of the lease.
    fn of_command(command: Command) -> Self {
        Self { lease: LeaseOptions::default(), wrap: None, hold: None, reset_between: false, command }
    }
}

/// The words of a wrapped command.
#[derive(Args, Debug)]
pub(crate) struct Wrapped {
    /// Handed on word for word
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

/// `run`.
#[derive(Args, Debug)]
#[command(override_usage = "cargo lease run [LEASE OPTIONS] -- COMMAND [ARGUMENTS]...")]
pub(crate) struct RunArgs {
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// A resource to hold, and how: read:KEY, write:KEY or exclusive:KEY; may be repeated
    #[arg(long = "claim", value_name = "MODE:KEY", value_parser = script::claim)]
    pub(crate) claims: Vec<Claim>,
    /// Claims of different scopes never meet [default: the repository's main checkout]
    #[arg(long, value_name = "ID")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(crate) lease: LeaseOptions,
}

/// `setup-script`.
#[derive(Args, Debug)]
pub(crate) struct SetupScriptArgs {
    #[command(flatten)]
    pub(crate) lease: LeaseOptions,
    /// Do the part that outlives the script.
    #[arg(long = script::DETACHED, hide = true)]
    pub(crate) detached: bool,
}

/// `status`.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print again whenever something changed, until interrupted
    #[arg(long)]
    pub(crate) watch: bool,
    /// Whose claims are shown [default: those of the repository's main checkout]
    #[arg(long, value_name = "ID")]
    pub(crate) scope: Option<String>,
    #[command(flatten)]
    pub(crate) lease: LeaseOptions,
}

/// `gc`.
#[derive(Args, Debug)]
pub(crate) struct GcArgs {
    /// Remove it; without this nothing is changed
    #[arg(long, alias = "yes")]
    pub(crate) apply: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) lease: LeaseOptions,
}

/// The hidden runner.
#[derive(Args, Debug)]
pub(crate) struct RunnerArgs {
    #[command(flatten)]
    pub(crate) lease: LeaseOptions,
    /// Who starts us, which the environment cannot tell: it may be that of a test that runs `cargo lease` itself.
    #[arg(long = "for", value_name = "WHO", require_equals = true)]
    pub(crate) starter: Reader,
    /// Which binaries run in a slot.
    #[arg(long, require_equals = true)]
    pub(crate) wrap: Option<String>,
    /// Where the process is asked that holds the slots of the run's tests.
    #[arg(long, require_equals = true)]
    pub(crate) proxy: Option<PathBuf>,
    /// A socket on which this process has asked there already.
    #[arg(long, require_equals = true)]
    pub(crate) asked: Option<i32>,
    /// A word of the user's own runner, which goes between us and the binary.
    #[arg(long, require_equals = true)]
    pub(crate) via: Vec<OsString>,
    /// What cargo appends: the binary and its arguments.
    #[arg(last = true, required = true)]
    pub(crate) binary: Vec<OsString>,
}

/// Who reads cargo's configuration and starts our runner in front of the test binaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reader {
    /// Of several `--config` words the last wins.
    Cargo,
    /// Of several `--config` words the first wins, and `include` keys are not followed.
    Nextest,
}

impl Reader {
    /// The option that tells our runner.
    pub(crate) fn to_word(self) -> &'static str {
        match self {
            Self::Cargo => "--for=cargo",
            Self::Nextest => "--for=nextest",
        }
    }
}

/// Parses the words of a command line, program name first.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let cli = parse_words(words)?;
    cli.lease.check_conflicts()?;
    Ok(cli)
}

fn parse_words(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    if words.get(1).is_some_and(|word| word == "lease") {
        words.remove(1);
    }
    if let Some(mut args) = words.split_first().and_then(|(_, words)| runner::parse(words)) {
        let lease = std::mem::take(&mut args.lease);
        return Ok(Cli { lease, ..Cli::of_command(Command::Runner(args)) });
    }
    let Some(at) = command_position(&words) else {
        return parse_whole(definition(), words);
    };
    let name = words[at].clone();
    if let Some(family) = script::family(&name) {
        words.remove(at);
        let call = script::parse(family, &words[1..])?;
        return Ok(Cli::of_command(Command::Script(Box::new(call))));
    }
    if WRAPPERS.iter().any(|wrapper| name == *wrapper) {
        let theirs = words.split_off(at + 1);
        let mut cli = parse_whole(Cli::command(), words)?;
        if let Command::Test(wrapped) | Command::Nextest(wrapped) | Command::Bench(wrapped) = &mut cli.command {
            wrapped.words = theirs;
        }
        return Ok(cli);
    }
    let takes_options = TAKE_OPTIONS.iter().any(|command| name == *command);
    if takes_options {
        // One place for all of them, so that a repeated or conflicting option is noticed wherever it stands.
        words[1..=at].rotate_right(1);
    }
    // The families have a large definition, and mean nothing to a command that takes its own options.
    let known = if takes_options { Cli::command() } else { definition() };
    let mut cli = parse_whole(known, words).map_err(|error| if name == "run" { without_dashes(error) } else { error })?;
    match &mut cli.command {
        Command::Run(RunArgs { lease, .. })
        | Command::SetupScript(SetupScriptArgs { lease, .. })
        | Command::Status(StatusArgs { lease, .. })
        | Command::Gc(GcArgs { lease, .. })
        | Command::Runner(RunnerArgs { lease, .. }) => cli.lease = std::mem::take(lease),
        Command::Test(_) | Command::Nextest(_) | Command::Bench(_) | Command::Script(_) | Command::Guard => {}
    }
    Ok(cli)
}

/// All commands, the families for scripts among them.
fn definition() -> clap::Command {
    Cli::command().subcommands(script::definitions())
}

fn parse_whole(known: clap::Command, words: Vec<OsString>) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&known.try_get_matches_from(words)?)
}

/// Says what is missing where a word stands that is no option: clap would only say that it did not expect it.
fn without_dashes(error: clap::Error) -> clap::Error {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) if !word.starts_with('-') => {
            let message = format!("put `--` before the command, as in `cargo lease run -- {word}`");
            let mut cli = Cli::command();
            let run = cli.find_subcommand_mut("run").expect("a command of ours");
            run.error(ErrorKind::UnknownArgument, message)
        }
        _ => error,
    }
}

/// The option of ours that a word is, such as `--wait` for `--wait=10s`.
pub(crate) fn lease_option(word: &OsStr) -> Option<&str> {
    let option = word.to_str()?.split('=').next()?;
    let name = option.strip_prefix("--")?;
    Cli::command().get_arguments().any(|known| known.get_long() == Some(name)).then_some(option)
}

/// Where the command's name stands: the first word that is neither an option of ours nor its value.
fn command_position(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    if words.get(at).is_some_and(|word| !word.as_encoded_bytes().starts_with(b"-")) {
        // Usually nothing has to be known of the options.
        return words[at].to_str().map(|_| at);
    }
    let cli = Cli::command();
    while let Some(word) = words.get(at) {
        let Some(option) = word.to_str()?.strip_prefix("--") else {
            return (!word.to_str()?.starts_with('-')).then_some(at);
        };
        let known = cli.get_arguments().find(|known| known.get_long() == option.split('=').next());
        let takes_next = known?.get_action().takes_values() && !option.contains('=');
        at += if takes_next { 2 } else { 1 };
    }
    None
}

#[cfg(test)]
mod tests;
