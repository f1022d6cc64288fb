//! What other programs call. The families for scripts: each operation does one thing and prints one document of the format;
//! and the setup script of nextest, which writes assignments as nextest reads them.

mod acquire;
mod answer;
mod claims;
mod deferred;
mod detached;
mod nextest_env;
mod pool;
mod setup;
mod shell;
mod store;
mod variable;

use std::process::ExitCode;

use crate::cli::script::{Call, Op};
use crate::exit::Failure;
use crate::resolve::Surroundings;

pub(super) use setup::run as setup;

/// Does what was typed.
pub(super) fn run(call: &Call, around: &Surroundings) -> Result<ExitCode, Failure> {
    match call.op {
        Op::Store(op) => store::run(op, &call.options, around),
        Op::Pool(op) => pool::run(op, &call.options, around),
        Op::Claims(op) => claims::run(op, &call.options, around),
    }
}
