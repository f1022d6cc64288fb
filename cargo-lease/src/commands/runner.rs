//! The hidden runner: what cargo and nextest start in front of each test binary.
//!
//! It behaves as if it were not there: listing tests takes no slot and prints nothing, and running them gives the
//! binary the same input, output, folder and arguments, and its exit status back.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};

use lease_harness::harness::{Asked, Asker, session_text};

use super::cargo::become_command;
use super::held::{StartedBy, acquire, ask, run_in};
use super::nextest::proxy::is_under_grants;
use crate::cli::{LeaseOptions, Reader, RunnerArgs};
use crate::exit::Failure;
use crate::resolve::{Settings, Surroundings, Wrap, binary_ids};

/// The name of every binary that rustdoc makes of documentation tests.
const DOCTEST_BINARY: &str = "rust_out";

/// Options of libtest that take the next word as their value.
const WITH_VALUE: [&str; 7] = ["--test-threads", "--skip", "--color", "--format", "--logfile", "--shuffle-seed", "-Z"];

/// Runs a test binary in a slot, or becomes it when it runs no test; returns only when that fails.
pub(super) fn run(lease: &LeaseOptions, args: &RunnerArgs, around: &Surroundings) -> Result<ExitCode, Failure> {
    let (binary, arguments) = args.binary.split_first().expect("clap asks for a binary");
    let name = file_stem(binary);
    let around = &around_of(args.starter, around);
    let phase = around.var_os("NEXTEST_TEST_PHASE").map(OsString::as_os_str);
    if runs_no_test(phase, arguments) || !is_wrapped(args, &name, around)? {
        return Err(become_command(command(args, |program| Command::new(program))));
    }
    let pool_file = lease.pool.as_deref().ok_or_else(|| Failure::usage("the runner needs --pool"))?;
    let (package, what) = (around.var("CARGO_PKG_NAME")?, test_name(&name, around)?);
    if let Some(socket) = args.proxy.as_deref().filter(|_| !is_under_grants(around)) {
        let asked = ask(|told| match args.asked {
            Some(stream) => Asker::go_on(stream, told),
            None => Asker::this(around.cwd.clone(), package.map(str::to_owned), what.clone()).ask(socket, told),
        });
        match asked {
            Asked::Granted(envs) => {
                let mut command = command(args, |program| Command::new(program));
                command.envs(envs);
                return Err(become_command(command));
            }
            Asked::Refused(error) => return Err(error.into()),
            // Then the slot is held from here.
            Asked::NobodyThere => {}
        }
    }
    let mut settings = Settings::read(lease, around)?;
    if settings.session.is_none() {
        settings.session = Some(session_text(Some(&around.cwd), package, Some(&what)));
    }
    let slot = acquire(settings.request(pool_file))?;
    let command = command(args, |program| slot.command(program));
    run_in(slot, command, StartedBy::TestRunner)
}

/// What is true of the binary in our environment: cargo sets none of nextest's variables, so that what there is of them
/// is about an outer test, which runs us.
fn around_of(starter: Reader, around: &Surroundings) -> Surroundings {
    match starter {
        Reader::Cargo => around.without("NEXTEST_"),
        Reader::Nextest => around.clone(),
    }
}

/// Whether the binary is among those that run in a slot.
fn is_wrapped(args: &RunnerArgs, stem: &str, around: &Surroundings) -> Result<bool, Failure> {
    let Some(text) = args.wrap.as_deref() else { return Ok(true) };
    Ok(Wrap::parse("--wrap", text)?.covers(&binary_ids(stem, around)?))
}

/// The user's runner, if there is one, and the binary with its arguments.
fn command(args: &RunnerArgs, start: impl FnOnce(&OsStr) -> Command) -> Command {
    let mut line = args.via.iter().chain(&args.binary);
    let mut command = start(line.next().expect("clap asks for a binary"));
    command.args(line);
    let binary = Path::new(&args.binary[0]);
    if args.via.is_empty() && binary.file_name() == Some(DOCTEST_BINARY.as_ref()) {
        // Without a runner rustdoc itself sets this; with one it leaves it out, and all tests of a merged binary would
        // run inside one process. Where the user has a runner, so it would be without us.
        command.env("RUSTDOC_DOCTEST_BIN_PATH", binary);
    }
    command
}

/// Whether the binary is started only to list its tests or to explain itself.
///
/// Nextest says its phase; cargo says nothing, so that the binary's arguments tell.
fn runs_no_test(phase: Option<&OsStr>, arguments: &[OsString]) -> bool {
    match phase.and_then(OsStr::to_str) {
        Some("list") => return true,
        Some("run") => return false,
        _ => {}
    }
    let mut arguments = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = arguments.next() {
        if ["--list", "--help", "-h", "--version"].iter().any(|asks| argument == asks) {
            return true;
        }
        if WITH_VALUE.iter().any(|option| argument == option) {
            arguments.next();
        }
    }
    false
}

fn test_name(stem: &str, around: &Surroundings) -> Result<String, Failure> {
    let name = around.var("NEXTEST_TEST_NAME")?.unwrap_or(stem);
    Ok(if name == DOCTEST_BINARY { "doctests".to_owned() } else { name.to_owned() })
}

/// A binary's file name without the hash that cargo appends.
fn file_stem(binary: &OsStr) -> String {
    let name = Path::new(binary).file_name().unwrap_or(binary).to_string_lossy();
    match name.rsplit_once('-') {
        Some((stem, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => stem.to_owned(),
        _ => name.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listing_and_help_run_no_test() {
        let table: [(Option<&str>, &[&str], bool); 13] = [
            (Some("list"), &["--exact", "x"], true),
            (Some("run"), &["--exact", "--list"], false),
            (None, &["--list", "--format", "terse"], true),
            (None, &["--bench", "--list"], true),
            (None, &["-h"], true),
            (None, &["--help"], true),
            (None, &["--version"], true),
            (None, &[], false),
            (None, &["name", "--nocapture"], false),
            (None, &["--skip", "--list"], false),
            (None, &["--", "--list"], false),
            (Some(""), &["--list"], true),
            (Some("run"), &["-h"], false),
        ];
        for (phase, arguments, expected) in table {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            assert_eq!(runs_no_test(phase.map(OsStr::new), &arguments), expected, "{phase:?} {arguments:?}");
        }
    }

    #[test]
    fn tests_are_named_for_people() {
        let nextest = Surroundings::of_test("/", &[("NEXTEST_TEST_NAME", "db::works")]);
        let cargo = around_of(Reader::Cargo, &nextest);
        let nextest = around_of(Reader::Nextest, &nextest);
        let table = [
            (&nextest, "/t/deps/it-0123456789abcdef", "db::works"),
            (&cargo, "/t/deps/it-0123456789abcdef", "it"),
            (&cargo, "target/debug/my-prog", "my-prog"),
            (&cargo, "/tmp/rustdoctestXY/rust_out", "doctests"),
        ];
        for (around, binary, name) in table {
            assert_eq!(test_name(&file_stem(binary.as_ref()), around).expect("text"), name);
        }
    }

    #[test]
    fn documentation_tests_keep_a_process_each_unless_the_user_has_a_runner() {
        let line = |via: &[&str], binary: &[&str]| {
            let words = |words: &[&str]| words.iter().map(OsString::from).collect();
            let (via, binary, lease) = (words(via), words(binary), LeaseOptions::default());
            let args = RunnerArgs { lease, starter: Reader::Cargo, wrap: None, proxy: None, asked: None, via, binary };
            command(&args, |program| Command::new(program))
        };
        let doctest = line(&[], &["/tmp/d/rust_out", "x"]);
        let set: Vec<_> = doctest.get_envs().collect();
        assert_eq!(set, [("RUSTDOC_DOCTEST_BIN_PATH".as_ref(), Some("/tmp/d/rust_out".as_ref()))]);
        assert_eq!(doctest.get_args().collect::<Vec<_>>(), ["x"]);
        let emulated = line(&["qemu", "-L"], &["/tmp/d/rust_out", "x"]);
        assert_eq!(emulated.get_program(), "qemu");
        assert_eq!(emulated.get_args().collect::<Vec<_>>(), ["-L", "/tmp/d/rust_out", "x"]);
        assert_eq!(emulated.get_envs().count(), 0);
        assert_eq!(line(&[], &["/t/it"]).get_envs().count(), 0);
    }
}
