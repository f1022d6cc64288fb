//! `cargo lease setup-script`: one slot for a whole run of nextest.
//!
//! The script takes the slot and writes its environment; a keeper, which outlives it, keeps the lease until nextest ends.

use std::path::Path;
use std::process::ExitCode;

use lease_harness::Waiting;
use lease_harness::harness::detached::Keeper;
use lease_harness::harness::{NextestRun, session_text};
use lease_harness::json::Json;

use super::detached::{self, Lease, Place, StartedKeeper};
use super::nextest_env::{self, EnvFile};
use crate::cli::{LeaseOptions, SETUP_IN_NEXTEST, SetupScriptArgs};
use crate::commands::cargo::{cargo_program, checked};
use crate::exit::Failure;
use crate::render::tell_place;
use crate::resolve::{Manifests, Settings, Surroundings, find_pool_file};

/// Does the script's part, or the keeper's.
pub(in crate::commands) fn run(lease: &LeaseOptions, args: &SetupScriptArgs, around: &Surroundings) -> Result<ExitCode, Failure> {
    let file = Path::new(around.var_os("NEXTEST_ENV").ok_or_else(|| not_set("NEXTEST_ENV"))?);
    let run_id = around.var("NEXTEST_RUN_ID")?.ok_or_else(|| not_set("NEXTEST_RUN_ID"))?;
    let run = NextestRun::find(run_id)?;
    let mut settings = Settings::read(lease, around)?;
    let cargo = cargo_program(around).ok();
    let pool_file = find_pool_file(lease.pool.as_deref(), around, &Manifests::new(&[], around, cargo.as_deref()))?;
    if args.detached {
        let pool = settings.request(&pool_file).open()?;
        return detached::keep(Keeper::follow_run(&run)?, Place::Run(&pool, settings.heartbeat));
    }
    settings.session = settings.session.or_else(|| Some(session_text(Some(&around.cwd), None, Some("nextest run"))));
    checked(&settings, &pool_file)?;
    let request = settings.request(&pool_file).for_run(&run);
    nextest_env::check(request.open()?.file())?;
    let file = EnvFile::open(file)?;
    // Not a spinner: nextest has one.
    let tell = |waiting: &Waiting| tell_place(waiting.position, waiting.eta.as_secs_f64() * 1e3);
    let slot = request.leave_on_signals().on_wait(tell).acquire()?;
    let lines = nextest_env::lines(slot.id(), slot.envs())?;
    let write = || file.append(&lines).map(|()| ExitCode::SUCCESS);
    if slot.is_joined() {
        return write();
    }
    // If any of this fails, the slot is given back when it is dropped here.
    let lease = Lease { what: Json::from(slot.id()), owner: slot.owner(), token: slot.token() };
    let told = StartedKeeper::start()?.keep(&lease, write)?;
    slot.leave_to_keeper();
    Ok(told)
}

fn not_set(name: &str) -> Failure {
    Failure::usage(format!(
        "this is for a setup script of nextest, which sets {name}, and that is not set; in .config/nextest.toml, say\n{SETUP_IN_NEXTEST}\nand \
         run `cargo nextest run`; or, without a configuration, `cargo lease nextest run` gives each test a slot of its own"
    ))
}
