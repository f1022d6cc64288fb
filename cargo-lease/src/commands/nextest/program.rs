//! Which nextest runs, and who starts it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use crate::exit::Failure;
use crate::inject::{Asked, may_be_alias};
use crate::resolve::{Surroundings, programs};

/// Cargo's word for it.
const NEXTEST: &str = "nextest";
/// The option that leaves out what cargo says, and given twice also what the compiler does.
pub(super) const SILENCES: &str = "--cargo-quiet";

/// The nextest that cargo would start.
pub(super) struct Nextest {
    program: PathBuf,
    /// Cargo, if it has more to say than which program that is.
    cargo: Option<OsString>,
}

impl Nextest {
    /// Looks for it where cargo does.
    ///
    /// # Errors
    ///
    /// It is not installed.
    pub(super) fn find(cargo: &OsStr, around: &Surroundings) -> Result<Self, Failure> {
        let program = programs::subcommand(NEXTEST, around).ok_or_else(|| {
            Failure::usage(
                "cargo-nextest is not installed; install it with `cargo install --locked cargo-nextest` \
                 (or see https://nexte.st/docs/installation), or use `cargo lease test`",
            )
        })?;
        let cargo = (!only_starts_it(cargo, around)).then(|| cargo.to_owned());
        Ok(Self { program, cargo })
    }

    /// What `cargo nextest` starts, with the same words and the same environment. Cargo itself becomes nextest, so that this is
    /// nextest's parent in either case.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(self.cargo.as_deref().unwrap_or(self.program.as_os_str()));
        command.arg(NEXTEST);
        command
    }

    /// Asks it what options it has.
    pub(super) fn ask_for_help(&self) -> Help {
        Help(Asked::ask(Command::new(&self.program).args([NEXTEST, "run", "-h"])))
    }
}

/// What options nextest has, as soon as it has said so.
pub(super) struct Help(Asked);

impl Help {
    /// Whether it knows twice the option that silences cargo; older ones refuse it. Then the end of the build is said twice.
    pub(super) fn names_silence(self) -> bool {
        self.0.told().is_some_and(|told| says_twice(&String::from_utf8_lossy(&told.stdout)))
    }
}

/// Whether all that this cargo does for `cargo nextest` is to find nextest and to become it, which takes it longer than nextest
/// needs to start. It has set `CARGO` for us as it does for every subcommand, and has found nothing wrong with the configuration.
///
/// Cargo is needed where it is not known to be one toolchain's own: then it first chooses that, or does something that is its
/// author's affair. It also obeys aliases, and hands a jobserver on, whose files it alone knows. Where its home is not in the
/// environment, it asks the system.
fn only_starts_it(cargo: &OsStr, around: &Surroundings) -> bool {
    const OF_JOBSERVER: [&str; 3] = ["CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS"];
    let has_started_us = around.var_os("CARGO").is_some_and(|started_us| started_us == cargo);
    has_started_us
        && programs::is_of_one_toolchain(cargo)
        && around.cargo_home().is_some()
        && OF_JOBSERVER.iter().all(|name| around.var_os(name).is_none())
        && !may_be_alias(NEXTEST, around)
}

fn says_twice(help: &str) -> bool {
    help.contains(&format!("{SILENCES}..."))
}

#[cfg(test)]
mod tests {
    use super::says_twice;

    #[test]
    fn cargo_is_silenced_where_nextest_can() {
        assert!(says_twice("      --cargo-quiet...              Do not print cargo log messages (specify twice"));
        assert!(!says_twice("      --cargo-quiet                 Do not print cargo log messages"));
        assert!(!says_twice(""));
    }
}
