//! `claims`: sets of particular resources, shared or alone.

use std::process::ExitCode;
use std::time::Duration;

use lease_harness::claims::{
    Blocker, Claim, ClaimLease, ClaimStore, ClaimsError, DEFAULT_TTL_MS, OwnerNames, OwnerProcess, Reference, SetOutcome,
    SetWanted, Standing, Traces, Visibility, Waiter, Writer,
};
use lease_harness::json::{Json, Object, object};
use lease_harness::store::main_checkout;

use super::answer::{check_output, print};
use super::store;
use crate::cli::script::{ClaimsOp, Options};
use crate::exit::Failure;
use crate::render::tell_claims_place;
use crate::resolve::{Settings, Surroundings};

/// Does one operation.
pub(super) fn run(op: ClaimsOp, options: &Options, around: &Surroundings) -> Result<ExitCode, Failure> {
    let claims = open(options, around)?;
    let answered = match op {
        ClaimsOp::Acquire => {
            check_output()?;
            acquire(&claims, options)?
        }
        ClaimsOp::Renew => {
            let renewed = claims.renew(&options.owner, ttl_ms(options), references(options)?.as_deref());
            renewed.map(|leases| object([("ok", true.into()), ("renewed", documents(&leases))]))
        }
        ClaimsOp::Release => {
            claims.release(&options.owner, references(options)?.as_deref(), None).map(|leases| released(&leases))
        }
        ClaimsOp::ReleaseExact => {
            let references = references(options)?.unwrap_or_default();
            claims.release_exact(&options.owner, &references, None).map(|leases| released(&leases))
        }
        ClaimsOp::ReleaseProcess => {
            let references = references(options)?.unwrap_or_default();
            claims.release_process(&options.process, &references, None).map(|leases| released(&leases))
        }
        ClaimsOp::Assert => {
            let token = whole_number("--token", &options.token)?;
            claims.assert(&options.lease_id, token).map(|lease| object([("ok", true.into()), ("lease", lease.to_json())]))
        }
        ClaimsOp::List => claims.list().and_then(|leases| Ok(listed(&leases, &claims.waiters()?))),
        ClaimsOp::TakeOver => {
            check_output()?;
            claims.take_over(&options.instance).map(|writer| writer_of(&writer))
        }
        ClaimsOp::StepDown => {
            let generation = whole_number("--generation", &options.generation)?;
            let writer = Writer { instance: options.instance.clone(), generation };
            claims.step_down(&writer).map(|was_it| object([("ok", true.into()), ("steppedDown", was_it.into())]))
        }
    };
    match answered {
        Ok(document) => print(&document, options.shape),
        Err(error) => refused(error, options),
    }
}

fn open(options: &Options, around: &Surroundings) -> Result<ClaimStore, Failure> {
    let store = store::open(options, &Settings::read_shared(&options.lease, around)?)?;
    let scope = match options.scope.as_str() {
        "" => main_checkout(&around.cwd).unwrap_or_else(|| around.cwd.clone()).display().to_string(),
        scope => scope.to_owned(),
    };
    let writer = Writer::from_env(&|name: &str| std::env::var(name).ok());
    Ok(ClaimStore::new(store, &scope)?.as_writer(writer))
}

fn whole_number(option: &str, typed: &str) -> Result<u64, Failure> {
    typed.parse().map_err(|_| Failure::usage(format!("{option} '{typed}': no whole number")))
}

fn writer_of(writer: &Writer) -> Json {
    let generation = writer.generation.to_string().parse::<f64>().unwrap_or(f64::INFINITY);
    object([("ok", true.into()), ("instanceId", writer.instance.as_str().into()), ("generation", generation.into())])
}

fn acquire(claims: &ClaimStore, options: &Options) -> Result<Result<Json, ClaimsError>, Failure> {
    let wanted_claims = wanted_claims(options)?;
    let env = |name: &str| std::env::var(name).ok();
    let visibility = if options.is_ephemeral { Visibility::Ephemeral } else { Visibility::Durable };
    let names = OwnerNames::from_json(&options.identity).map_err(|error| Failure::usage(format!("--identity: {error}")))?;
    let wanted = SetWanted {
        owner: &options.owner,
        claims: &wanted_claims,
        ttl_ms: ttl_ms(options),
        names: &names,
        process: &OwnerProcess { env: &env, number: std::process::id() },
        visibility,
        alive: None,
    };
    let outcome = match options.wait {
        None => claims.acquire(&wanted, Traces::from(visibility)),
        limit => claims.acquire_within(&wanted, Traces::from(visibility), limit, &mut tell),
    };
    Ok(outcome.map(|outcome| match outcome {
        SetOutcome::Granted(leases) => granted(&leases),
        SetOutcome::Blocked(blockers) => blocked(&blockers, options.wait),
    }))
}

fn tell(standing: &Standing<'_>) -> bool {
    tell_claims_place(standing);
    true
}

/// The claims of both options, in this order.
fn wanted_claims(options: &Options) -> Result<Vec<Claim>, Failure> {
    let listed = list_of("--claims", &options.more_claims)?;
    let listed = listed.iter().map(|claim| Claim::from_json(claim).map_err(|error| Failure::usage(format!("--claims: {error}"))));
    let mut claims = options.claims.clone();
    claims.extend(listed.collect::<Result<Vec<_>, _>>()?);
    if claims.is_empty() {
        return Err(Failure::usage("nothing is claimed: give --claim MODE:KEY, or --claims"));
    }
    Ok(claims)
}

fn references(options: &Options) -> Result<Option<Vec<Reference>>, Failure> {
    if options.refs == Json::Null {
        return Ok(None);
    }
    let reference = |of: &Json| Reference::from_json(of).map_err(|error| Failure::usage(format!("--refs: {error}")));
    list_of("--refs", &options.refs)?.iter().map(reference).collect::<Result<_, _>>().map(Some)
}

fn list_of<'a>(option: &str, document: &'a Json) -> Result<&'a [Json], Failure> {
    match document {
        Json::Null => Ok(&[]),
        Json::Array(items) => Ok(items),
        other => Err(Failure::usage(format!("{option} '{}': expected a list", other.to_text()))),
    }
}

fn ttl_ms(options: &Options) -> i64 {
    options.ttl.map_or(DEFAULT_TTL_MS, |ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX))
}

fn granted(leases: &[ClaimLease]) -> Json {
    object([("ok", true.into()), ("acquired", true.into()), ("leases", documents(leases)), ("blockers", Json::Array(Vec::new()))])
}

fn blocked(blockers: &[Blocker], limit: Option<Duration>) -> Json {
    let mut answer = Object::new();
    answer.insert("ok", Json::from(false));
    answer.insert("code", Json::from(if limit.is_some() { "timeout" } else { "held" }));
    answer.insert("acquired", Json::from(false));
    answer.insert("leases", Json::Array(Vec::new()));
    answer.insert("blockers", Json::Array(blockers.iter().map(Blocker::to_json).collect()));
    if let Some(limit) = limit {
        answer.insert("waitedMs", Json::from(limit.as_secs_f64() * 1e3));
    }
    Json::Object(answer)
}

fn released(leases: &[ClaimLease]) -> Json {
    let count = u32::try_from(leases.len()).unwrap_or(u32::MAX);
    object([("ok", true.into()), ("released", Json::from(f64::from(count)))])
}

fn listed(leases: &[ClaimLease], waiters: &[Waiter]) -> Json {
    let waiters = Json::Array(waiters.iter().map(Waiter::to_json).collect());
    object([("ok", true.into()), ("leases", documents(leases)), ("waiters", waiters)])
}

fn documents(leases: &[ClaimLease]) -> Json {
    Json::Array(leases.iter().map(ClaimLease::to_json).collect())
}

/// A refusal is an answer; everything else is an error.
fn refused(error: ClaimsError, options: &Options) -> Result<ExitCode, Failure> {
    if !error.is_refusal() {
        return Err(error.into());
    }
    let (code, message) = (Json::from(error.code()), Json::from(error.to_string()));
    print(&object([("ok", false.into()), ("code", code), ("message", message)]), options.shape)
}
