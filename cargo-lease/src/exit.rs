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

use lease_harness::harness::{Ended, exit_like};
use lease_harness::{SlotError, SlotErrorKind};

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
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, signal: None, message: message.into(), source: None }
    }

    /// Bad input; the message names where it stands and its value.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// The lease was lost while the command ran; the sentence says which and why.
    pub(crate) fn lost(sentence: &str) -> Self {
        Self::new(LOST, sentence)
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

    /// Says it on standard error and ends as it asks for.
    pub(crate) fn end(&self) -> ExitCode {
        if let Some(signal) = self.signal {
            return exit_like(&Ended::Killed(signal));
        }
        report(self);
        ExitCode::from(self.code)
    }
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

fn slot_error_code(kind: SlotErrorKind) -> u8 {
    match kind {
        SlotErrorKind::Refused => 1,
        SlotErrorKind::Usage => USAGE,
        SlotErrorKind::Lost => LOST,
        // A wait that a signal ended ends us by that signal. A kind that is newer than this table should not happen.
        SlotErrorKind::Internal | _ => INTERNAL,
    }
}

/// Prints `error: …` with its causes on one line.
pub(crate) fn report(failure: &dyn Error) {
    say("error", &chain(failure));
}

/// Prints a warning.
pub(crate) fn warn(message: &str) {
    say("warning", message);
}

/// Where standard error is gone there is nobody to tell, so that a failure to write is no failure of ours.
fn say(label: &str, message: &str) {
    let _ = writeln!(io::stderr().lock(), "{label}: {message}");
}

/// An error and its causes, each that says something new.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if said.starts_with(&text) {
            text = said;
        } else if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
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
