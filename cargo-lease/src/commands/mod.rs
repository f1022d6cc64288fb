//! What is done: one command a file.

mod bench;
mod gc;
mod nextest;
mod run;
mod runner;
mod script;
mod status;
mod test;

mod cargo;
mod held;
mod hold;

use std::process::ExitCode;

use cargo::Wrapping;
use lease_harness::harness::BetweenTests;

use crate::cli::{Cli, Command};
use crate::exit::Failure;
use crate::resolve::Surroundings;

/// Does what was typed.
pub(crate) fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let around = Surroundings::of_process()?;
    let (lease, wrap, around) = (&cli.lease, cli.wrap.as_deref(), &around);
    let (hold, between) = (cli.hold.as_deref(), if cli.reset_between { BetweenTests::Reset } else { BetweenTests::Nothing });
    let wrapping = |words| Wrapping { lease, wrap, hold, between, words, around };
    match &cli.command {
        Command::Test(wrapped) => test::run(wrapping(&wrapped.words)),
        Command::Nextest(wrapped) => nextest::run(wrapping(&wrapped.words)),
        Command::Bench(wrapped) => bench::run(wrapping(&wrapped.words)),
        Command::Run(args) => run::run(lease, args, around),
        Command::SetupScript(args) => script::setup(lease, args, around),
        Command::Status(args) => status::run(lease, args, around),
        Command::Gc(args) => gc::run(lease, args, around),
        Command::Script(call) => script::run(call, around),
        Command::Runner(args) => runner::run(lease, args, around),
        Command::Guard => Ok(hold::guard()),
    }
}
