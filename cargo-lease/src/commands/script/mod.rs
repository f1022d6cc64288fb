//! The families for scripts: each operation does one thing and prints one document of the format.

mod acquire;
mod answer;
mod deferred;
mod detached;
mod pool;
mod shell;
mod store;

use std::process::ExitCode;

use crate::cli::script::{Call, Op};
use crate::exit::Failure;
use crate::resolve::Surroundings;

/// Does what was typed.
pub(super) fn run(call: &Call, around: &Surroundings) -> Result<ExitCode, Failure> {
    match call.op {
        Op::Store(op) => store::run(op, &call.options, around),
        Op::Pool(op) => pool::run(op, &call.options, around),
    }
}
