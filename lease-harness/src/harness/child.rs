//! Running a command under a grant so that nobody notices the wrapper.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Tells of the loss of a lease: readable when it happened, with the sentence for people.
#[derive(Clone, Debug)]
pub struct LossWatch {
    inner: Arc<LossInner>,
}

#[derive(Debug)]
struct LossInner {
    /// An eventfd; readable for ever once the lease is lost.
    event: OwnedFd,
    reason: OnceLock<String>,
}

impl LossWatch {
    /// A watch of a lease that is not lost.
    pub(crate) fn new() -> io::Result<Self> {
        todo!()
    }
    /// Says that the lease is lost and why. The first reason stays.
    pub(crate) fn declare(&self, _reason: String) {
        todo!()
    }
    /// Why the lease was lost, if it was.
    pub fn reason(&self) -> Option<&str> {
        self.inner.reason.get().map(String::as_str)
    }
}

/// How a command under a grant ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// We ended it because the lease was lost; the sentence for people.
    Lost(String),
    /// We ended it because the process that started us is gone.
    Orphaned,
}

/// A command to be run under a grant.
pub struct Child {
    _command: Command,
    _grace: Duration,
}

impl Child {
    /// Prepares `command`.
    pub fn new(command: Command) -> Self {
        Self { _command: command, _grace: Duration::from_secs(10) }
    }

    /// Runs the command to its end.
    pub fn run(self, _watches: &[LossWatch]) -> io::Result<Ended> {
        todo!()
    }
}
