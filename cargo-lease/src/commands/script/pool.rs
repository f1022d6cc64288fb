//! `pool`: slots, the queue for them, and what makes them clean.

use std::path::Path;
use std::process::ExitCode;

use lease_harness::harness::detached::Keeper;
use lease_harness::json::{Json, object};
use lease_harness::pool::{Pool, PoolFile, PoolOptions, SlotDef};
use lease_harness::store::{LeaseStore, StoreOptions};

use super::answer::print;
use super::detached::{self, Place};
use super::{acquire, deferred, store};
use crate::cli::script::{Options, PoolOp};
use crate::commands::cargo::cargo_program;
use crate::exit::{Failure, warn};
use crate::resolve::{Manifests, Settings, Surroundings, find_pool_file};

/// Does one operation.
pub(super) fn run(op: PoolOp, options: &Options, around: &Surroundings) -> Result<ExitCode, Failure> {
    let settings = Settings::read_shared(&options.lease, around)?;
    if op == PoolOp::Request && !options.detached {
        return deferred::request(options);
    }
    let pool = open(op, options, &settings, around)?;
    if let (PoolOp::Acquire | PoolOp::Claim, true, Some(process)) = (op, options.detached, options.keep) {
        return detached::keep(Keeper::follow(process)?, Place::Pool(&pool));
    }
    let Options { owner, token, .. } = options;
    let slot = || pool.slot(Some(&Json::from(&options.slot)));
    let document = match op {
        PoolOp::Acquire => return acquire::run(&pool, options, &settings),
        PoolOp::Request => return deferred::wait(&pool, options, &settings, around),
        PoolOp::Claim => return deferred::claim(&pool, options),
        PoolOp::Cancel => return deferred::cancel(&pool, options),
        PoolOp::Heartbeat => slot()?.answer(pool.heartbeat(slot()?, owner, token)?.to_json()),
        PoolOp::Release if options.force => slot()?.answer(pool.force_release(slot()?, Some(owner))?.to_json()),
        PoolOp::Release => slot()?.answer(pool.release(slot()?, owner, token)?.to_json()),
        PoolOp::Reset => pool.reset(slot()?, owner, token)?.to_json(slot()?.id()),
        PoolOp::Reprovision => pool.reprovision(slot()?, owner, options.ttl_minutes)?.to_json(slot()?.id()),
        PoolOp::Health => health(&pool, slot()?),
        PoolOp::Status => pool.status()?.to_json(),
        PoolOp::Pump => pool.pump(owner)?,
    };
    print(&document, options.shape)
}

/// Opens the pool; what is doubtful about it is said.
fn open(op: PoolOp, options: &Options, settings: &Settings, around: &Surroundings) -> Result<Pool, Failure> {
    let cargo = cargo_program(around).ok();
    let manifests = Manifests::new(&[], around, cargo.as_deref());
    let file = PoolFile::load(&find_pool_file(options.lease.pool.as_deref(), around, &manifests)?)?;
    file.warnings().iter().filter(|_| !options.is_keeper()).for_each(|warning| warn(warning));
    let store = store::open(options, settings)?;
    if settings.store.is_none() && !options.is_keeper() {
        warn_of_two_stores(&store, &file);
    }
    // Whoever makes no lease does not care what the environment says of lifetimes; a release must not fail for that.
    let unread = (!makes_lease(op)).then(|| file.ttl_minutes());
    let ttl_minutes = options.ttl_minutes.or(unread);
    Ok(Pool::open(file, store, PoolOptions { ttl_minutes, commands: settings.commands.clone(), ..PoolOptions::default() })?)
}

/// Outside of repositories every program of the format takes the current folder for the place of the store, and commands
/// for people the pool file's. Two stores have two holders for one slot.
fn warn_of_two_stores(store: &LeaseStore, file: &PoolFile) {
    let outside = file.path().parent().map(Path::to_owned);
    let theirs = LeaseStore::open(&StoreOptions { outside, ..StoreOptions::default() });
    if let Ok(theirs) = theirs.as_ref().map(LeaseStore::dir)
        && theirs != store.dir()
    {
        let (ours, theirs) = (store.dir().display(), theirs.display());
        warn(&format!(
            "the store here is {ours}, and {theirs} for `cargo lease run` and `test`: two stores do not know of each other's \
             holders; set LEASE_STORE or --store"
        ));
    }
}

fn makes_lease(op: PoolOp) -> bool {
    matches!(op, PoolOp::Acquire | PoolOp::Request | PoolOp::Reprovision)
}

fn health(pool: &Pool, slot: &SlotDef) -> Json {
    let healthy = pool.health(slot);
    let code = if healthy.is_ok() { "healthy" } else { "unhealthy" };
    let members = [("ok", Json::from(healthy.is_ok())), ("code", Json::from(code)), ("slot_id", slot.id().clone())];
    object(members.into_iter().chain(healthy.err().map(|error| ("error", Json::from(error)))))
}
