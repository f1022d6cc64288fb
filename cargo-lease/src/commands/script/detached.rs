//! Processes that outlive the operation that starts them: both halves, the starter's and the started one's.
//!
//! The started process is this program with the same words and one more. The two speak by lines over its standard input
//! and output; when all is said, it lets go of them. Until then it shares standard error with its starter, so that what it
//! has to complain about is read.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use lease_harness::harness::detached::{self, Keeper, Keepsake};
use lease_harness::json::{Json, object};
use lease_harness::pool::Pool;
use lease_harness::store::LeaseStore;

use super::super::cargo::own_program;
use crate::cli::script::DETACHED;
use crate::exit::Failure;

/// What a keeper says when it follows its process, and when the lease is in its hands.
const FOLLOWING: &str = "following";
const KEPT: &str = "kept";
/// What a started process is told when whoever asked knows of the lease, or of the request.
const TOLD: &str = "told";
/// What it says last, when it has let go of all that it shares with its starter.
const ALONE: &str = "alone";

/// A started process that still listens.
struct Started {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Started {
    /// Starts this program once more, to do the lasting part of what was typed.
    fn start() -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::internal("cannot start a process that outlives this one", error);
        let words = std::env::args_os().skip(1).chain([OsString::from(format!("--{DETACHED}"))]);
        let mut command = Command::new(own_program()?);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = detached::spawn(&mut command).map_err(failed)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let input = input.expect("its standard input is a pipe");
        let output = BufReader::new(output.expect("its standard output is a pipe"));
        Ok(Self { child, input, output })
    }

    /// The next line it says. If it ends instead, it has told why, and we end as it ended.
    fn hear(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        let heard = self.output.read_line(&mut line);
        if matches!(heard, Ok(0) | Err(_)) {
            let ended = self.child.wait().map_err(|error| Failure::internal("cannot wait for a process of ours", error))?;
            return Err(match ended.code().and_then(|code| u8::try_from(code).ok()) {
                Some(code) if code != 0 => Failure::told(code),
                _ => Failure::internal("a process that was to outlive this one ended at once", ended.to_string()),
            });
        }
        Ok(line.trim_end_matches('\n').to_owned())
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.input, "{line}").and_then(|()| self.input.flush())
    }
}

/// The process that waits for a deferred request. It has a place in the queue.
pub(super) struct StartedWaiter(Started);

impl StartedWaiter {
    /// Starts it; what it says of its request.
    pub(super) fn start() -> Result<(Self, Json), Failure> {
        let mut waiter = Started::start()?;
        let line = waiter.hear()?;
        let requested = Json::parse(&line).map_err(|error| Failure::internal(format!("not understood: {line}"), error))?;
        Ok((Self(waiter), requested))
    }

    /// Its process number.
    pub(super) fn number(&self) -> u32 {
        self.0.child.id()
    }

    /// Lets it wait, and answers `tell`, which tells whoever asked of the request. If that fails, or we are killed meanwhile,
    /// it leaves the queue.
    pub(super) fn let_wait(mut self, tell: impl FnOnce() -> Result<ExitCode, Failure>) -> Result<ExitCode, Failure> {
        let told = tell()?;
        let _ = self.0.say(TOLD);
        Ok(told)
    }
}

/// What a waiter does when it has queued: tells its starter, and lets go of him when whoever asked knows of the request.
///
/// # Errors
///
/// Nobody knows of it.
pub(super) fn announce(requested: &Json) -> io::Result<()> {
    let is_known = say(&requested.to_text()).is_ok() && is_told();
    // Why nobody was told is for the starter to say.
    detached::let_go()?;
    if is_known { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

/// The process that will keep a lease alive as long as another process lives.
pub(super) struct StartedKeeper(Started);

/// What tells a keeper which lease it is about.
pub(super) struct Lease<'a> {
    /// The slot's id, or the lease's kind.
    pub(super) what: Json,
    pub(super) owner: &'a str,
    pub(super) token: &'a str,
}

impl StartedKeeper {
    /// Starts it. It watches the process from now on, whatever time it takes to get the lease.
    pub(super) fn start() -> Result<Self, Failure> {
        let mut keeper = Started::start()?;
        keeper.hear()?;
        Ok(Self(keeper))
    }

    /// Whether it has ended, and has said why: its process has.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.0.child.try_wait(), Ok(None))
    }

    /// Puts a lease into its hands, and answers `tell`, which tells whoever asked for the lease. If that fails, or we are
    /// killed meanwhile, it gives the lease back.
    pub(super) fn keep(
        mut self,
        lease: &Lease<'_>,
        tell: impl FnOnce() -> Result<ExitCode, Failure>,
    ) -> Result<ExitCode, Failure> {
        let line = object([("what", lease.what.clone()), ("owner", Json::from(lease.owner)), ("token", Json::from(lease.token))]);
        // If it cannot hear any more, it has ended, and says why below.
        let _ = self.0.say(&line.to_text());
        self.0.hear()?;
        let told = tell()?;
        let _ = self.0.say(TOLD);
        // Who looks, when we have ended, whether something of ours still has a stream that it shares with us finds nothing.
        self.0.hear()?;
        Ok(told)
    }
}

/// Where a kept lease lies.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Pool(&'a Pool),
    Store(&'a LeaseStore),
    /// For a whole run of nextest, with the pause between two heartbeats.
    Run(&'a Pool, Option<Duration>),
}

/// What a keeper does: follows a process, hears of a lease, keeps it, and gives it back.
pub(super) fn keep(keeper: Keeper, place: Place<'_>) -> Result<ExitCode, Failure> {
    say(FOLLOWING)?;
    if !keeper.wait_for(io::stdin().as_fd()) {
        return Err(Failure::refused(format!("process {} has ended", keeper.process_id())));
    }
    let Some(line) = hear()? else { return Ok(ExitCode::SUCCESS) };
    let lease = Json::parse(&line).map_err(|error| Failure::internal(format!("not understood: {line}"), error))?;
    let what = lease.get("what").cloned().unwrap_or_default();
    let text = |key| lease.get(key).and_then(Json::as_str).unwrap_or_default();
    let keepsake = match place {
        Place::Pool(pool) => Keepsake::Slot(pool, &what),
        Place::Run(pool, beat_every) => Keepsake::RunSlot(pool, &what, beat_every),
        Place::Store(store) => Keepsake::Lease(store, what.as_str().unwrap_or_default()),
    };
    let mut was_ours = false;
    let is_known = || {
        was_ours = true;
        say(KEPT).is_ok() && is_told() && detached::say_and_let_go(ALONE).is_ok()
    };
    keeper.keep(keepsake, text("owner"), text("token"), is_known)?;
    match was_ours {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Failure::refused("the lease was lost before it could be kept")),
    }
}

fn say(line: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let said = writeln!(out, "{line}").and_then(|()| out.flush());
    said.map_err(|error| Failure::internal("nobody listens any more", error))
}

fn is_told() -> bool {
    matches!(hear(), Ok(Some(line)) if line == TOLD)
}

fn hear() -> Result<Option<String>, Failure> {
    let line = io::stdin().lock().lines().next().transpose();
    line.map_err(|error| Failure::internal("nobody speaks any more", error))
}
