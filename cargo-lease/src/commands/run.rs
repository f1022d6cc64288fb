//! `cargo lease run`: any command in a slot.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use lease_harness::harness::session_text;

use super::cargo::{cargo_program, checked, without_own_variables};
use super::held::{StartedBy, acquire, run_in};
use crate::cli::LeaseOptions;
use crate::exit::Failure;
use crate::resolve::{Manifests, Settings, Surroundings, find_pool_file};

/// Runs a command in a slot; returns only when that fails.
pub(super) fn run(lease: &LeaseOptions, words: &[OsString], around: &Surroundings) -> Result<ExitCode, Failure> {
    let (program, arguments) = words.split_first().expect("clap asks for a command");
    let mut settings = Settings::read(lease, around)?;
    let cargo = cargo_program(around).ok();
    let pool_file = find_pool_file(lease.pool.as_deref(), around, &Manifests::new(&[], around, cargo.as_deref()))?;
    checked(&settings, &pool_file)?;
    if settings.session.is_none() {
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        settings.session = Some(session_text(Some(&around.cwd), None, Some(&name)));
    }
    let slot = acquire(settings.request(&pool_file))?;
    let mut command = slot.command(program);
    command.args(arguments);
    run_in(slot, without_own_variables(command, around), StartedBy::Hand)
}
