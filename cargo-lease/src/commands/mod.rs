//! What is done: one command a file.

mod bench;
mod nextest;
mod run;
mod runner;
mod status;
mod test;

mod cargo;
mod held;

use std::process::ExitCode;

use crate::cli::{Cli, Command};
use crate::exit::Failure;
use crate::resolve::Surroundings;

/// Does what was typed.
pub(crate) fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let around = Surroundings::of_process()?;
    match cli.command {
        Command::Test(wrapped) => Err(test::exec(&cli.lease, &wrapped.words, &around)),
        Command::Nextest(wrapped) => Err(nextest::exec(&cli.lease, &wrapped.words, &around)),
        Command::Bench(wrapped) => Err(bench::exec(&cli.lease, &wrapped.words, &around)),
        Command::Run(args) => run::run(&cli.lease, &args.command, &around),
        Command::Status(args) => status::run(&cli.lease, &args, &around),
        Command::Runner(args) => runner::run(&cli.lease, &args, &around),
    }
}
