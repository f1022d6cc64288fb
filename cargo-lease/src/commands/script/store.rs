//! `store`: one lease per kind.

use std::process::ExitCode;

use lease_harness::harness::detached::Keeper;
use lease_harness::json::{Json, object};
use lease_harness::store::{AcquireRequest, Acquired, LeaseStore, Status, StoreOptions, Waited};

use super::answer::{check_output, or_cancelled, print};
use super::detached::{self, Lease, Place, StartedKeeper};
use crate::cli::script::{Options, StoreOp};
use crate::exit::{Failure, warn};
use crate::resolve::{Settings, Surroundings};

/// Does one operation.
pub(super) fn run(op: StoreOp, options: &Options, around: &Surroundings) -> Result<ExitCode, Failure> {
    let store = open(options, &Settings::read_shared(&options.lease, around)?)?;
    if let (StoreOp::Acquire, true, Some(process)) = (op, options.detached, options.keep) {
        return detached::keep(Keeper::follow(process)?, Place::Store(&store));
    }
    let Options { kind, owner, token, .. } = options;
    let document = match op {
        StoreOp::Acquire => return acquire(&store, options),
        StoreOp::Heartbeat => store.heartbeat(kind, owner, token)?.to_json(),
        StoreOp::Release if options.force => store.force_release(kind)?.to_json(),
        StoreOp::Release => store.release(kind, owner, token)?.to_json(),
        StoreOp::Status => store.status(kind)?.to_json(),
        StoreOp::Reap => store.reap(kind)?.to_json(),
        StoreOp::List => listed(&store.list()?),
        StoreOp::Reconcile => store.reconcile()?.to_json(),
    };
    print(&document, options.shape)
}

/// Opens the store where every program of the format looks for it.
pub(super) fn open(options: &Options, settings: &Settings) -> Result<LeaseStore, Failure> {
    let owner_pattern = settings.owner_pattern.clone();
    let store = LeaseStore::open(&StoreOptions { store: settings.store.clone(), owner_pattern, ..StoreOptions::default() })?;
    if let Some(warning) = store.fence().warning().filter(|_| !options.is_keeper()) {
        warn(&warning);
    }
    Ok(store)
}

fn acquire(store: &LeaseStore, options: &Options) -> Result<ExitCode, Failure> {
    check_output()?;
    let ttl_minutes =
        options.ttl_minutes.ok_or_else(|| Failure::usage("invalid ttlMinutes \"\" — acquire needs --ttl MINUTES"))?;
    let Options { kind, owner, payload, .. } = options;
    let request = AcquireRequest { kind, owner, ttl_minutes, payload: payload.clone() };
    let keeper = options.keep.map(|_| StartedKeeper::start()).transpose()?;
    let answer = match options.wait {
        None => Waited::Acquired(store.acquire(&request)?),
        Some(limit) => store.acquire_within(&request, limit)?,
    };
    let say = || print(&answer.to_json(), options.shape);
    let Waited::Acquired(Acquired::Acquired { record, .. }) = &answer else { return say() };
    let token = record.token().unwrap_or_default();
    let told = match keeper {
        Some(keeper) => keeper.keep(&Lease { what: Json::from(kind), owner, token }, say),
        None => say(),
    };
    if told.is_err() {
        // Nobody was told of the lease. Should this fail too, it ends by its TTL.
        let _ = store.release(kind, owner, token);
    }
    or_cancelled(told, ("kind", kind), |refusal| print(refusal, options.shape))
}

fn listed(leases: &[Status]) -> Json {
    object([("ok", Json::from(true)), ("leases", Json::Array(leases.iter().map(Status::to_json).collect()))])
}
