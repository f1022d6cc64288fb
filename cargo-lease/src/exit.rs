//! Failures of the command line, how they are printed, and the exit code of each.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | refused: no slot to be had, provision or health failed |
//! | 2 | usage: bad option, pool file, owner |
//! | 3 | internal: something that should not happen |
//! | 75 | the lease was lost while the command ran |
//! | 126, 127 | the command could not be started, was not found (as a shell says it) |
//! | else | the wrapped command's own |

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use lease_harness::claims::ClaimsError;
use lease_harness::harness::{Ended, exit_like};
use lease_harness::pool::{PoolError, PoolErrorKind, PoolFileError};
use lease_harness::store::{StoreError, StoreErrorKind, errno_name};
use lease_harness::{SlotError, SlotErrorKind};

const REFUSED: u8 = 1;
const USAGE: u8 = 2;
const INTERNAL: u8 = 3;
const LOST: u8 = 75;
const CANNOT_START: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Why a command of ours did not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    /// The signal that ended us, in place of the code: we die of it, and it needs no explanation.
    signal: Option<i32>,
    /// Whether it was said already.
    is_told: bool,
    /// Whether it says that no place names a pool file.
    is_without_pool: bool,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, signal: None, is_told: false, is_without_pool: false, message: message.into(), source: None }
    }

    /// What a layer below says, with its causes.
    fn of(code: u8, error: impl Error + Send + Sync + 'static) -> Self {
        Self::new(code, error.to_string()).because(error)
    }

    /// Bad input; the message names where it stands and its value.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// The lease was lost while the command ran; the sentence says which and why.
    pub(crate) fn lost(sentence: &str) -> Self {
        Self::new(LOST, sentence)
    }

    /// A signal asked us to end; we die of it.
    pub(crate) fn ended_by(signal: i32) -> Self {
        Self { signal: Some(signal), ..Self::new(INTERNAL, format!("interrupted by signal {signal}")) }
    }

    /// A refusal that has no document.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(REFUSED, message)
    }

    /// A process of ours has said why it ended with this code, so we only end like it.
    pub(crate) fn told(code: u8) -> Self {
        Self { is_told: true, ..Self::new(code, "a process of ours has failed") }
    }

    /// Bad input: no place names a pool file.
    pub(crate) fn without_pool(message: impl Into<String>) -> Self {
        Self { is_without_pool: true, ..Self::usage(message) }
    }

    /// Whether no place names a pool file, which matters less to who looks for something else besides.
    pub(crate) fn is_without_pool(&self) -> bool {
        self.is_without_pool
    }

    /// Something that should not happen.
    pub(crate) fn internal(message: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(INTERNAL, message).because(source)
    }

    /// A program that could not be started.
    pub(crate) fn start(program: &std::ffi::OsStr, source: io::Error) -> Self {
        let code = if source.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_START };
        Self::new(code, format!("cannot run {}", program.display())).because(source)
    }

    /// Adds what made it fail.
    pub(crate) fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Whether it is a refusal, of which an operation for scripts also prints a document.
    pub(crate) fn is_refusal(&self) -> bool {
        self.code == REFUSED
    }

    /// Says it on standard error and ends as it asks for.
    pub(crate) fn end(&self) -> ExitCode {
        if let Some(signal) = self.signal {
            return exit_like(&Ended::Killed(signal));
        }
        if !self.is_told {
            report(self);
        }
        ExitCode::from(self.code)
    }
}

/// How a command for scripts ends that has printed its answer.
pub(crate) fn answered(ok: bool) -> ExitCode {
    ExitCode::from(if ok { 0 } else { REFUSED })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<SlotError> for Failure {
    fn from(error: SlotError) -> Self {
        let mut failure = Self::new(slot_error_code(error.kind()), error.to_string());
        failure.signal = error.signal();
        // The slot's error speaks for itself; only its causes are handed on.
        failure.source = error.source().map(|cause| chain(cause).into());
        failure
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(if error.kind() == StoreErrorKind::Usage { USAGE } else { INTERNAL }, error)
    }
}

impl From<ClaimsError> for Failure {
    fn from(error: ClaimsError) -> Self {
        let code = match &error {
            error if error.is_refusal() => REFUSED,
            ClaimsError::Refused(_) => USAGE,
            ClaimsError::Store(_) | ClaimsError::Damaged(_) => INTERNAL,
        };
        Self::of(code, error)
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        let code = match error.kind() {
            PoolErrorKind::Usage => USAGE,
            PoolErrorKind::NotReady => REFUSED,
            PoolErrorKind::Internal | _ => INTERNAL,
        };
        Self::of(code, error)
    }
}

impl From<PoolFileError> for Failure {
    fn from(error: PoolFileError) -> Self {
        let message = error.full_message();
        Self { message, ..Self::of(USAGE, error) }
    }
}

fn slot_error_code(kind: SlotErrorKind) -> u8 {
    match kind {
        SlotErrorKind::Refused => REFUSED,
        SlotErrorKind::Usage => USAGE,
        SlotErrorKind::Lost => LOST,
        // A wait that a signal ended ends us by that signal. A kind that is newer than this table should not happen.
        SlotErrorKind::Internal | _ => INTERNAL,
    }
}

/// Prints `error: …` with its causes on one line, and what the system calls its part of it: scripts look for that.
pub(crate) fn report(failure: &(dyn Error + 'static)) {
    let mut text = chain(failure);
    let errno = causes(failure).find_map(|cause| errno_name(cause.downcast_ref::<io::Error>()?));
    if let Some(name) = errno.filter(|name| !text.contains(name)) {
        text.push_str(&format!(" [{name}]"));
    }
    say("error", &text);
}

/// Prints a warning.
pub(crate) fn warn(message: &str) {
    say("warning", message);
}

/// Prints what is no trouble but would make people wonder.
pub(crate) fn note(message: &str) {
    say("note", message);
}

/// Where standard error is gone there is nobody to tell, so that a failure to write is no failure of ours.
fn say(label: &str, message: &str) {
    let _ = writeln!(io::stderr().lock(), "{label}: {message}");
}

/// An error and its causes, each that says something new.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in causes(error).skip(1) {
        let said = cause.to_string();
        if said.starts_with(&text) {
            text = said;
        } else if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
    }
    text
}

/// An error, what caused it, and so on.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_follow_once_each() {
        let inner = Failure::usage("inner");
        let outer = Failure::internal("outer", Failure::internal("middle says inner", inner));
        assert_eq!(chain(&outer), "outer: middle says inner");
        let longer = Failure::usage("cannot run x").because("cannot run x: not found");
        assert_eq!(chain(&longer), "cannot run x: not found");
        let other = Failure::internal("outer", Failure::usage("inner").because(io::Error::other("disk")));
        assert_eq!(chain(&other), "outer: inner: disk");
    }

    #[test]
    fn each_kind_has_its_code() {
        let table =
            [(SlotErrorKind::Refused, 1), (SlotErrorKind::Usage, 2), (SlotErrorKind::Internal, 3), (SlotErrorKind::Lost, 75)];
        for (kind, code) in table {
            assert_eq!(slot_error_code(kind), code, "{kind:?}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_told_from_one_that_cannot_run() {
        let gone = Failure::start("prog".as_ref(), io::ErrorKind::NotFound.into());
        let barred = Failure::start("prog".as_ref(), io::ErrorKind::PermissionDenied.into());
        assert_eq!((gone.code, barred.code), (NOT_FOUND, CANNOT_START));
    }
}
