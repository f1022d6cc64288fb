//! What every module of this binary needs.

use std::process::Command;

use lease_tests::{Lab, Running, binary};
use rustix::process::Signal;

/// A laboratory with this package's helper program.
pub(crate) fn lab() -> Lab {
    Lab::new(env!("CARGO_BIN_EXE_actor"))
}

/// What decides which build of the workspace is the same as the one that this test is of.
const BUILD: [&str; 2] = ["CARGO_INCREMENTAL", "CARGO_TARGET_DIR"];

/// Has a command of cargo's build the workspace where the developer builds it, and as he does: these tests were built there before.
/// It may name tests only, of packages without programs: a build of programs with other features or packages than the
/// developer's takes the place of those that other tests are running.
pub(crate) fn in_workspace(command: &mut Command) {
    for name in BUILD {
        match std::env::var_os(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(binary::workspace());
}

/// A command of cargo's for one of the workspace's test binaries, as it is built with the whole workspace. Which features its
/// dependencies have is a matter of all packages that are built together, and of features of this one that ask for more.
pub(crate) fn words_for<'a>(command: &[&'a str], test: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let features: &[&str] = if cfg!(feature = "counts") { &["--features", "lease-tests/counts"] } else { &[] };
    [command, &["--test", test], features, more].concat()
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
