//! What every module of this binary needs.

use lease_tests::{Lab, Running};
use rustix::process::Signal;

/// A laboratory with this package's helper program.
pub(crate) fn lab() -> Lab {
    Lab::new(env!("CARGO_BIN_EXE_actor"))
}

/// Has a command of cargo's build where the developer builds, and as he does: these tests were built there before.
#[cfg(any(feature = "counts", feature = "nextest"))]
pub(crate) fn build_as_the_developer(command: &mut std::process::Command) {
    for name in ["CARGO_INCREMENTAL", "CARGO_TARGET_DIR"] {
        match std::env::var_os(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// Who is sent the signal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Everybody in the foreground, as a terminal does it.
    Group,
    /// Only the process that was started.
    Leader,
}

impl Target {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Group, Self::Leader];

    /// Sends it.
    pub(crate) fn send(self, run: &Running, signal: Signal) {
        match self {
            Self::Group => run.signal_group(signal),
            Self::Leader => run.signal(signal),
        }
    }
}
