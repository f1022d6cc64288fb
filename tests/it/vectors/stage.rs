//! Where a scenario is played: a store, perhaps a pool, a clock that stands still, and what the recorded ids stand for.
//!
//! Calls can be made from inside others (a hook that takes the lease away, a listener that gives a slot back), so all of
//! it is shared and nothing is locked while our packages are at work.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use lease_harness::json::{Json, object};
use lease_harness::store::{AcquireRequest, Clock, Env, LeaseStore, Status, StoreOptions};

use super::failure::Answer;
use super::files;
use super::load::{list, millis, text};
use super::symbols::Symbols;

type Interruption = Box<dyn FnOnce() + Send>;

/// The stage of one case.
#[derive(Clone)]
pub(super) struct Stage {
    inner: Arc<Inner>,
}

struct Inner {
    folder: tempfile::TempDir,
    symbols: Mutex<Symbols>,
    now: AtomicI64,
    /// What is done at the next reading of the clock.
    interruption: Mutex<Option<Interruption>>,
}

impl Stage {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        for name in ["store", "work"] {
            std::fs::create_dir(folder.path().join(name)).expect("the folder is writable");
        }
        let symbols = Symbols::new(&folder.path().join("store"), &folder.path().join("work"));
        let inner = Inner { folder, symbols: Mutex::new(symbols), now: AtomicI64::new(0), interruption: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn store_dir(&self) -> PathBuf {
        self.inner.folder.path().join("store")
    }

    pub(super) fn work_dir(&self) -> PathBuf {
        self.inner.folder.path().join("work")
    }

    pub(super) fn symbols(&self) -> MutexGuard<'_, Symbols> {
        self.inner.symbols.lock().expect("no comparison panics")
    }

    /// The text of an argument, with its symbols replaced.
    pub(super) fn filled(&self, args: &Json, key: &str) -> String {
        self.given(args, key).unwrap_or_default()
    }

    /// The same; `None` if the argument is not given.
    pub(super) fn given(&self, args: &Json, key: &str) -> Option<String> {
        args.get(key).and_then(Json::as_str).map(|text| self.symbols().fill(text))
    }

    pub(super) fn set_time(&self, at_ms: i64) {
        self.inner.now.store(at_ms, Ordering::SeqCst);
    }

    pub(super) fn advance(&self, by_ms: i64) {
        self.inner.now.fetch_add(by_ms, Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        // The store holds the clock and the stage does not hold the store, so this is no circle.
        let stage = self.clone();
        Clock::from_fn(move || {
            let interruption = stage.inner.interruption.lock().expect("nobody panicked").take();
            if let Some(interrupt) = interruption {
                interrupt();
            }
            stage.inner.now.load(Ordering::SeqCst)
        })
    }

    /// How the store of a case is opened; `given` are its options.
    pub(super) fn store_options(&self, given: Option<&Json>) -> StoreOptions {
        let millis_of = |key: &str| given.and_then(|given| millis(given, key)).and_then(|ms| u64::try_from(ms).ok());
        let mut options = StoreOptions { store: Some(self.store_dir()), ..StoreOptions::default() };
        options.owner_pattern = given.and_then(|given| given.get("ownerPattern")).and_then(Json::as_str).map(str::to_owned);
        options.guard_wait = millis_of("guardWaitMs").map_or(options.guard_wait, Duration::from_millis);
        options.guard_stale = millis_of("guardStaleMs").map_or(options.guard_stale, Duration::from_millis);
        options.env = Env::Fixed(self.environment(given));
        options.clock = self.clock();
        options.additions = false;
        options
    }

    /// The variables of a case, and nothing else.
    pub(super) fn environment(&self, given: Option<&Json>) -> BTreeMap<String, String> {
        let variables = given.and_then(|given| given.get("env")).and_then(Json::as_object);
        let pair = |(name, value): (&str, &Json)| Some((name.to_owned(), self.symbols().fill(value.as_str()?)));
        variables.into_iter().flatten().filter_map(pair).collect()
    }

    /// Does a file step if `step` is one.
    pub(super) fn do_file_step(&self, step: &Json) -> bool {
        let is_in_work = step.get("base").and_then(Json::as_str) == Some("work");
        let folder = if is_in_work { self.work_dir() } else { self.store_dir() };
        files::do_step(step, &folder, &self.symbols())
    }

    /// The steps are done at the first reading of the clock, when the guard is held.
    pub(super) fn plan_interruption(&self, steps: &[Json]) {
        if steps.is_empty() {
            return;
        }
        let (steps, stage) = (steps.to_vec(), self.clone());
        let interrupt = move || {
            assert!(steps.iter().all(|step| stage.do_file_step(step)), "only file steps can be done inside");
        };
        *self.inner.interruption.lock().expect("nobody panicked") = Some(Box::new(interrupt));
    }

    /// A call of the store; `None` if `op` is none.
    pub(super) fn call_store(&self, store: &LeaseStore, op: &str, args: &Json) -> Option<Answer> {
        let (kind, owner, token) = (self.filled(args, "kind"), self.filled(args, "owner"), self.filled(args, "token"));
        let is_forced = args.get("force").and_then(Json::as_bool) == Some(true);
        let result = match op {
            "acquire" => store.acquire(&self.acquire_request(&kind, &owner, args)).map(|outcome| outcome.to_json()),
            "heartbeat" => store.heartbeat(&kind, &owner, &token).map(|outcome| outcome.to_json()),
            "release" if is_forced => store.force_release(&kind).map(|outcome| outcome.to_json()),
            "release" => store.release(&kind, &owner, &token).map(|outcome| outcome.to_json()),
            "reap" => store.reap(&kind).map(|outcome| outcome.to_json()),
            "status" => store.status(&kind).map(|outcome| outcome.to_json()),
            "list" => store.list().map(|leases| Json::Array(leases.iter().map(Status::to_json).collect())),
            "reconcile" => store.reconcile().map(|outcome| outcome.to_json()),
            _ => return None,
        };
        Some(result.map(|outcome| outcome.to_text()).map_err(Into::into))
    }

    fn acquire_request<'a>(&self, kind: &'a str, owner: &'a str, args: &Json) -> AcquireRequest<'a> {
        let payload = self.given(args, "payloadJson");
        let payload = payload.map_or(Json::Null, |text| Json::parse(&text).expect("a recorded payload is JSON"));
        AcquireRequest { kind, owner, ttl_minutes: args.get("ttlMinutes").map_or(f64::NAN, number), payload }
    }

    /// Compares everything in the store's folder with what a case recorded.
    pub(super) fn compare_store(&self, case: &Json, may_differ: impl Fn(&str, Option<&str>) -> bool) -> Result<(), String> {
        files::compare(case, "files", &self.store_dir(), &mut self.symbols(), may_differ)
    }

    /// Compares the files in the work folder, if the case recorded them.
    pub(super) fn compare_work(&self, case: &Json) -> Result<(), String> {
        if case.get("work_files").is_none() {
            return Ok(());
        }
        let is_input = |name: &str, _: Option<&str>| name == "pool.json";
        files::compare(case, "work_files", &self.work_dir(), &mut self.symbols(), is_input)
    }
}

/// The arguments of a step.
pub(super) fn args_of(step: &Json) -> Json {
    step.get("args").cloned().unwrap_or_else(|| object::<&str>([]))
}

/// Tells which step differs.
pub(super) fn at_step(n: usize, step: &Json) -> impl Fn(String) -> String {
    let op = text(step, "op").to_owned();
    move |difference| format!("step {n} {op}: {difference}")
}

/// The steps of a case.
pub(super) fn steps(case: &Json) -> &[Json] {
    list(case, "steps")
}

/// Numbers that JSON cannot write are texts.
fn number(value: &Json) -> f64 {
    match value.as_str() {
        Some("$Infinity") => f64::INFINITY,
        Some("$-Infinity") => f64::NEG_INFINITY,
        _ => value.as_f64().unwrap_or(f64::NAN),
    }
}
