//! `cargo lease`: every test process in a slot of its own, leased from a pool that all runs of a host share.
//!
//! Modules in reading order: `cli` is what was typed, `resolve` what it means, `commands` what is done (one command a
//! file), `inject` the words that bring our runner in front of each test binary, `render` what people see, and `exit`
//! how a failure is said and which exit code it has.

mod cli;
mod resolve;

mod commands;

mod inject;

mod render;

mod exit;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output, mistakes to standard error; who closed it does not want to read it.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    commands::dispatch(cli).unwrap_or_else(|failure| failure.end())
}
