//! `store-scenarios.json`: calls on one lease store.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_harness::json::{Json, object};
use lease_harness::store::{
    AcquireRequest, Clock, Env, LeaseStore, Status, StoreError, StoreErrorKind, StoreOptions, StoreResult,
};

use super::load::{Case, list, load, millis, text};
use super::symbols::Symbols;
use super::{files, report};

#[test]
fn store_scenarios_agree() {
    report::check(&load("store-scenarios"), 206, 164, replay);
}

type Interruption = Box<dyn FnOnce() + Send>;

/// A store under a clock that stands still, and what the recorded ids stand for.
pub(super) struct Bench {
    pub(super) folder: tempfile::TempDir,
    pub(super) symbols: Symbols,
    now: Arc<AtomicI64>,
    /// What is done at the next reading of the clock.
    interruption: Arc<Mutex<Option<Interruption>>>,
}

impl Bench {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let symbols = Symbols::new(folder.path(), &folder.path().join("work"));
        Self { folder, symbols, now: Arc::default(), interruption: Arc::default() }
    }

    fn store(&self) -> &Path {
        self.folder.path()
    }

    fn clock(&self) -> Clock {
        let (now, interruption) = (Arc::clone(&self.now), Arc::clone(&self.interruption));
        Clock::from_fn(move || {
            let interrupt = interruption.lock().expect("nobody panicked").take();
            if let Some(interrupt) = interrupt {
                interrupt();
            }
            now.load(Ordering::SeqCst)
        })
    }

    fn options(&self, given: Option<&Json>) -> StoreOptions {
        let millis_of = |key: &str| given.and_then(|given| millis(given, key)).and_then(|ms| u64::try_from(ms).ok());
        let mut options = StoreOptions { store: Some(self.store().to_owned()), ..StoreOptions::default() };
        options.owner_pattern = given.and_then(|given| given.get("ownerPattern")).and_then(Json::as_str).map(str::to_owned);
        options.guard_wait = millis_of("guardWaitMs").map_or(options.guard_wait, Duration::from_millis);
        options.guard_stale = millis_of("guardStaleMs").map_or(options.guard_stale, Duration::from_millis);
        options.env = Env::Fixed(environment(given));
        options.clock = self.clock();
        options.proof_of_life = false;
        options
    }
}

fn environment(given: Option<&Json>) -> BTreeMap<String, String> {
    let variables = given.and_then(|given| given.get("env")).and_then(Json::as_object);
    let pairs = variables.into_iter().flatten().filter_map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())));
    pairs.collect()
}

fn replay(case: &Case) -> Result<(), String> {
    let mut bench = Bench::new();
    let opened = LeaseStore::open(&bench.options(case.body.get("store")));
    for (n, step) in list(&case.body, "steps").iter().enumerate() {
        if files::do_step(step, bench.store(), &bench.symbols) {
            continue;
        }
        let described = |difference: String| format!("step {n} {}: {difference}", text(step, "op"));
        let outcome = opened.as_ref().map_err(failure).and_then(|store| call(&mut bench, store, step));
        compare_outcome(step, &outcome, &mut bench.symbols).map_err(described)?;
    }
    let folder = bench.folder.path().to_owned();
    files::compare(&case.body, &folder, &mut bench.symbols)
}

/// Why a call failed: the recorded class, and the message.
type Failure = (&'static str, String);

fn failure(error: &StoreError) -> Failure {
    let class = if error.kind() == StoreErrorKind::Usage { "LeaseUsageError" } else { "Error" };
    (class, error.to_string())
}

/// One call. An argument that only an untyped caller can pass is no call of ours.
fn call(bench: &mut Bench, store: &LeaseStore, step: &Json) -> Result<String, Failure> {
    bench.now.store(millis(step, "at_ms").expect("a call has a time"), Ordering::SeqCst);
    plan_interruption(bench, list(step, "inside_guard"));
    let empty = object::<&str>([]);
    let args = step.get("args").unwrap_or(&empty);
    let given = |key: &str| args.get(key).and_then(Json::as_str).map(|text| bench.symbols.fill(text)).unwrap_or_default();
    let (kind, owner, token) = (given("kind"), given("owner"), given("token"));
    let is_forced = args.get("force").and_then(Json::as_bool) == Some(true);
    let result = match text(step, "op") {
        "acquire" => acquire(store, &kind, &owner, args),
        "heartbeat" => store.heartbeat(&kind, &owner, &token).map(|outcome| outcome.to_json()),
        "release" if is_forced => store.force_release(&kind).map(|outcome| outcome.to_json()),
        "release" => store.release(&kind, &owner, &token).map(|outcome| outcome.to_json()),
        "reap" => store.reap(&kind).map(|outcome| outcome.to_json()),
        "status" => store.status(&kind).map(|outcome| outcome.to_json()),
        "list" => store.list().map(|leases| Json::Array(leases.iter().map(Status::to_json).collect())),
        "reconcile" => store.reconcile().map(|outcome| outcome.to_json()),
        other => panic!("an unknown operation: {other}"),
    };
    result.map(|outcome| outcome.to_text()).map_err(|error| failure(&error))
}

fn acquire(store: &LeaseStore, kind: &str, owner: &str, args: &Json) -> StoreResult<Json> {
    let payload = args.get("payloadJson").and_then(Json::as_str);
    let payload = payload.map_or(Json::Null, |text| Json::parse(text).expect("a recorded payload is JSON"));
    let ttl_minutes = args.get("ttlMinutes").map_or(f64::NAN, number);
    store.acquire(&AcquireRequest { kind, owner, ttl_minutes, payload }).map(|outcome| outcome.to_json())
}

/// Numbers that JSON cannot write are texts.
fn number(value: &Json) -> f64 {
    match value.as_str() {
        Some("$Infinity") => f64::INFINITY,
        Some("$-Infinity") => f64::NEG_INFINITY,
        _ => value.as_f64().unwrap_or(f64::NAN),
    }
}

/// The steps are done at the first reading of the clock, when the guard is held.
fn plan_interruption(bench: &Bench, steps: &[Json]) {
    if steps.is_empty() {
        return;
    }
    let (steps, folder) = (steps.to_vec(), bench.store().to_owned());
    let interrupt = move || {
        let symbols = Symbols::new(&folder, &folder);
        assert!(steps.iter().all(|step| files::do_step(step, &folder, &symbols)), "only file steps can be done inside");
    };
    *bench.interruption.lock().expect("nobody panicked") = Some(Box::new(interrupt));
}

fn compare_outcome(step: &Json, outcome: &Result<String, Failure>, symbols: &mut Symbols) -> Result<(), String> {
    match (step.get("result").and_then(Json::as_str), outcome) {
        (Some(recorded), Ok(actual)) => symbols.compare(recorded, actual),
        (Some(recorded), Err((class, message))) => Err(format!("recorded {recorded}\n    but fails: {class} {message}")),
        (None, Ok(actual)) => {
            Err(format!("recorded {}\n    but is {actual}", step.get("error").map(Json::to_text).unwrap_or_default()))
        }
        (None, Err((class, message))) => {
            compare_failure(step.get("error").expect("a step has a result or an error"), class, message, symbols)
        }
    }
}

fn compare_failure(recorded: &Json, class: &str, message: &str, symbols: &mut Symbols) -> Result<(), String> {
    let (recorded_class, recorded_message) = (text(recorded, "class"), text(recorded, "message"));
    if recorded_class != class {
        return Err(format!("recorded {recorded_class} {recorded_message}\n    but fails: {class} {message}"));
    }
    // What the system or an engine says is its own business.
    if recorded_message.starts_with("EISDIR") {
        return Ok(());
    }
    symbols.compare(recorded_message, message)
}
