//! `cargo lease run`: any command in a slot, or holding claims, or both.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use lease_harness::harness::session_text;
use lease_harness::{Slot, Wait};

use super::cargo::{cargo_program, checked, without_own_variables};
use super::held::{Held, StartedBy, acquire, acquire_claims, run_in};
use crate::cli::{LeaseOptions, RunArgs};
use crate::exit::Failure;
use crate::resolve::{Manifests, Settings, Surroundings, find_pool_file};

/// Runs a command; returns only when that fails.
pub(super) fn run(lease: &LeaseOptions, args: &RunArgs, around: &Surroundings) -> Result<ExitCode, Failure> {
    let (program, arguments) = args.command.split_first().expect("clap asks for a command");
    let mut settings = Settings::read(lease, around)?;
    let pool_file = pool_file(lease, args, around)?;
    if let Some(pool_file) = &pool_file {
        checked(&settings, pool_file)?;
    }
    if settings.session.is_none() {
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
        settings.session = Some(session_text(Some(&around.cwd), None, Some(&name)));
    }
    let begun = Instant::now();
    let slot = pool_file.map(|pool_file| acquire(settings.request(&pool_file))).transpose()?;
    // Slots first, then claims: everybody takes them in this order, so that nobody waits for somebody who waits for him.
    let claims = if args.claims.is_empty() {
        None
    } else {
        settings.wait = rest_of(settings.wait, begun);
        Some(acquire_claims(settings.claim_request(args.scope.as_deref(), slot.as_ref()).claims(args.claims.iter().cloned()))?)
    };
    let mut command = slot.as_ref().map_or_else(|| Command::new(program), |slot: &Slot| slot.command(program));
    command.envs(claims.iter().flat_map(|claims| claims.envs().iter().map(|(name, value)| (name, value))));
    command.args(arguments);
    run_in(Held { slot, claims }, without_own_variables(command, around), StartedBy::Hand)
}

/// With claims a slot is taken only if one is asked for by name: a project's pool is not what every resource belongs to.
fn pool_file(lease: &LeaseOptions, args: &RunArgs, around: &Surroundings) -> Result<Option<PathBuf>, Failure> {
    let is_named = lease.pool.as_ref().is_some_and(|pool| !pool.as_os_str().is_empty());
    if !args.claims.is_empty() && !is_named {
        return Ok(None);
    }
    let cargo = cargo_program(around).ok();
    find_pool_file(lease.pool.as_deref(), around, &Manifests::new(&[], around, cargo.as_deref())).map(Some)
}

/// One limit is for slot and claims together.
fn rest_of(wait: Wait, begun: Instant) -> Wait {
    match wait {
        Wait::For(limit) => Wait::For(limit.saturating_sub(begun.elapsed())),
        wait => wait,
    }
}
