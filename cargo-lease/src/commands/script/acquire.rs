//! `pool acquire`: a slot, as soon as there is one.

use std::process::ExitCode;

use lease_harness::harness::Ending;
use lease_harness::json::Json;
use lease_harness::pool::{Grant, HeldSlot, Keeping, Outcome, Pool, PoolError, SlotWanted, Standing, Wait};

use super::answer::{check_output, or_cancelled, print};
use super::detached::{Lease, StartedKeeper};
use super::shell;
use crate::cli::script::{Options, Shape};
use crate::exit::Failure;
use crate::render::tell_place;
use crate::resolve::Settings;

/// Takes a slot and prints its grant. The lease is nobody's process: it lives by its TTL, or follows the one that was named.
pub(super) fn run(pool: &Pool, options: &Options, settings: &Settings) -> Result<ExitCode, Failure> {
    check_output()?;
    if options.shape == Shape::Shell {
        shell::check(pool.file())?;
    }
    let mut keeper = options.keep.map(|_| StartedKeeper::start()).transpose()?;
    let ending = Ending::on_signals()?;
    let mut is_over = || ending.is_asked() || keeper.as_mut().is_some_and(StartedKeeper::has_ended);
    let outcome = wait(&pool.stopped_by(ending.stop()), options, settings, &mut is_over);
    let (held, signal) = match (outcome, ending.signal()) {
        (Ok(Outcome::Granted(held)), signal) => (held, signal),
        (_, Some(signal)) => return Err(Failure::ended_by(signal)),
        (Ok(refusal), None) => return print(&refusal.to_json(), options.shape),
        (Err(error), None) => return Err(refused(error, options.shape)?),
    };
    if let Some(signal) = signal {
        give_back(pool, *held)?;
        return Err(Failure::ended_by(signal));
    }
    tell(pool, *held, keeper, |document| {
        // Who asked is gone, or going.
        if let Some(signal) = ending.signal() {
            return Err(Failure::ended_by(signal));
        }
        shell::tell(pool.file(), document, options.shape)
    })
}

fn wait(pool: &Pool, options: &Options, settings: &Settings, is_over: &mut dyn FnMut() -> bool) -> Result<Outcome, PoolError> {
    let wanted = SlotWanted {
        session: settings.session.as_deref(),
        wait: match options.wait {
            _ if options.no_wait => Wait::No,
            Some(limit) => Wait::For(limit),
            None => Wait::Forever,
        },
        poll: options.poll,
        // A keeper takes the lease out of our hands, so until then it has to be there.
        keeping: if options.keep.is_some() { Keeping::Here } else { Keeping::Nobody },
        ..SlotWanted::by(&options.owner)
    };
    let mut told = None;
    pool.acquire(&wanted, &mut |standing: &Standing| {
        if told.replace(standing.position) != Some(standing.position) {
            tell_place(standing.position, standing.eta_ms);
        }
        !is_over()
    })
}

/// Hands the lease over and tells of the grant with `say`. A grant that nobody was told of is given back.
fn tell(
    pool: &Pool,
    held: HeldSlot,
    keeper: Option<StartedKeeper>,
    say: impl Fn(&Json) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    let grant = held.grant().clone();
    let document = grant.to_json();
    let told = match keeper {
        // Our own heartbeat goes on until it is in the keeper's hands.
        Some(keeper) => {
            let lease = Lease { what: grant.slot().id().clone(), owner: grant.owner(), token: grant.token() };
            let told = keeper.keep(&lease, || say(&document));
            drop(held);
            told
        }
        None => match pool.leave(held) {
            Ok(_) => say(&document),
            Err(error) => {
                error.failure().map_or(Ok(ExitCode::SUCCESS), &say)?;
                return Err(error.into());
            }
        },
    };
    if told.is_err() {
        // Should this fail too, the lease ends by its TTL.
        let _ = release(pool, &grant);
    }
    or_cancelled(told, ("request_id", grant.request_id()), say)
}

/// The failure of a slot that was had and could not be made ready is an answer; the error says it to people. That a command
/// could not even be run is no answer about the slot.
fn refused(error: PoolError, shape: Shape) -> Result<Failure, Failure> {
    let is_answer = std::error::Error::source(&error).is_none();
    if let Some(failure) = error.failure().filter(|_| is_answer) {
        print(failure, shape)?;
    }
    Ok(error.into())
}

/// Gives back a slot that nobody was told of.
fn give_back(pool: &Pool, held: HeldSlot) -> Result<(), Failure> {
    let grant = held.grant().clone();
    // No beat may come behind the release.
    drop(held);
    release(pool, &grant)
}

fn release(pool: &Pool, grant: &Grant) -> Result<(), Failure> {
    pool.release(grant.slot(), grant.owner(), grant.token())?;
    Ok(())
}
