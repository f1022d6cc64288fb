//! Slots for who is not there: requests that are claimed later, and leases that follow a process.

use std::process::ExitCode;

use lease_harness::pool::{Grant, HeldSlot, Pool};

use super::acquire::give_back;
use crate::cli::script::Options;
use crate::exit::Failure;
use crate::resolve::Settings;

/// `pool request`.
pub(super) fn request(_pool: &Pool, _options: &Options, _settings: &Settings) -> Result<ExitCode, Failure> {
    Err(not_built())
}

/// `pool claim`.
pub(super) fn claim(_pool: &Pool, _options: &Options) -> Result<ExitCode, Failure> {
    Err(not_built())
}

/// `pool cancel`.
pub(super) fn cancel(_pool: &Pool, _options: &Options) -> Result<ExitCode, Failure> {
    Err(not_built())
}

/// Hands a lease over to one that follows `process`. If that fails, the slot is given back.
pub(super) fn keep(pool: &Pool, held: HeldSlot, _process: u32) -> Result<Grant, Failure> {
    give_back(pool, held)?;
    Err(not_built())
}

fn not_built() -> Failure {
    Failure::internal("not built yet", "")
}
