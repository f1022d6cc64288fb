//! Deferred requests: a place in the queue now, a slot later.

use std::process::ExitCode;
use std::time::Duration;

use lease_harness::harness::detached::wait_for_claim;
use lease_harness::json::{Json, number_from_text};
use lease_harness::pool::{Claimed, Pool, SlotWanted, Wait};

use super::answer::{check_output, or_cancelled, print};
use super::detached::{Lease, StartedKeeper, StartedWaiter, announce};
use super::shell;
use crate::cli::script::{Options, Shape};
use crate::exit::Failure;
use crate::render::about_minutes;
use crate::resolve::{Settings, Surroundings};

/// How long a waiter waits for its turn, unless the environment says otherwise.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// `pool request`, for who asks: starts the process that waits, and prints where it stands.
pub(super) fn request(options: &Options) -> Result<ExitCode, Failure> {
    check_output()?;
    let (waiter, requested) = StartedWaiter::start()?;
    let mut document = with_eta(requested).into_object().unwrap_or_default();
    document.insert("waiter_pid", f64::from(waiter.number()));
    waiter.let_wait(|| print(&Json::Object(document), options.shape))
}

/// `pool request`, for the process that waits: to the end of the request.
pub(super) fn wait(pool: &Pool, options: &Options, settings: &Settings, around: &Surroundings) -> Result<ExitCode, Failure> {
    let wanted = SlotWanted {
        session: settings.session.as_deref(),
        wait: Wait::For(longest_wait(around)?),
        poll: options.poll,
        ..SlotWanted::by(&options.owner)
    };
    let claim_within = options.claim_within_minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0));
    wait_for_claim(pool, &wanted, claim_within, |requested| announce(&requested.to_json()))?;
    Ok(ExitCode::SUCCESS)
}

/// As long as the environment says; a value that is no time is refused.
fn longest_wait(around: &Surroundings) -> Result<Duration, Failure> {
    let mut longest = LONGEST_WAIT;
    for name in ["POOL_WAITER_TIMEOUT_MS", "E2E_LEASE_WAITER_TIMEOUT_MS"] {
        if let Some(text) = around.var(name)? {
            let millis = number_from_text(text).filter(|millis| millis.is_finite() && 0.0 < *millis);
            let millis =
                millis.ok_or_else(|| Failure::usage(format!("invalid {name} '{text}' — must be milliseconds, more than 0")))?;
            longest = Duration::try_from_secs_f64(millis / 1e3).unwrap_or(Duration::MAX);
            break;
        }
    }
    Ok(longest)
}

/// `pool claim`: the grant to its owner, or where the request stands.
pub(super) fn claim(pool: &Pool, options: &Options) -> Result<ExitCode, Failure> {
    check_output()?;
    if options.shape == Shape::Shell {
        shell::check(pool.file())?;
    }
    let keeper = options.keep.map(|_| StartedKeeper::start()).transpose()?;
    let claimed = match options.wait {
        None => pool.claim(&options.request, &options.owner)?,
        Some(limit) => pool.claim_within(&options.request, &options.owner, limit)?,
    };
    let Claimed::Ready(grant) = &claimed else { return print(&with_eta(claimed.to_json()), options.shape) };
    let tell = || shell::tell(pool.file(), grant, options.shape);
    match keeper {
        // Whoever could not be told can claim it again.
        None => tell(),
        Some(keeper) => {
            let token = grant.get("token").and_then(Json::as_str).unwrap_or_default();
            let what = grant.get("slot_id").cloned().unwrap_or_default();
            let told = keeper.keep(&Lease { what, owner: &options.owner, token }, tell);
            or_cancelled(told, ("request_id", &options.request), |refusal| print(refusal, options.shape))
        }
    }
}

/// `pool cancel`: the request leaves the queue, or its slot is given back.
pub(super) fn cancel(pool: &Pool, options: &Options) -> Result<ExitCode, Failure> {
    print(&with_eta(pool.cancel(&options.request, &options.owner)?.to_json()), options.shape)
}

/// Adds to a place in the queue how long it will take, for people.
fn with_eta(document: Json) -> Json {
    let mut members = document.into_object().unwrap_or_default();
    let queued = members.get("queued").and_then(Json::as_bool) == Some(true);
    if let Some(eta_ms) = members.get("etaMs").and_then(Json::as_f64).filter(|_| queued) {
        members.insert("eta", about_minutes(eta_ms));
    }
    Json::Object(members)
}
