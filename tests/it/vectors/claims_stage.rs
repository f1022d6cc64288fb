//! What the scenarios of claims are played on: the rules alone, or a store with its files.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use lease_harness::claims::{Claim, ClaimLease, ClaimStore, Reference, Refusal, Scope, SetOutcome, SetWanted, Source, Traces};
use lease_harness::json::Json;
use lease_harness::store::{Clock, LeaseStore, StoreOptions, parse_time};

use super::claims_files;

/// What the scenarios are played on.
pub(super) trait Claims {
    fn set_time(&mut self, now_ms: i64);
    fn acquire(&mut self, repo: &str, wanted: &SetWanted<'_>, traces: Traces) -> Result<SetOutcome, String>;
    fn renew(&mut self, repo: &str, owner: &str, ttl_ms: i64, references: Option<&[Reference]>) -> Answer;
    fn release(&mut self, repo: &str, owner: &str, references: Option<&[Reference]>, traces: Option<Traces>) -> Answer;
    fn release_exact(&mut self, repo: &str, owner: &str, references: &[Reference]) -> Answer;
    fn release_process(&mut self, repo: &str, process: &str, references: &[Reference]) -> Answer;
    fn assert(&mut self, repo: &str, lease: &str, token: u64) -> Answer;
    fn list(&mut self, repo: &str) -> Answer;
    /// The ledger's lines, the mark and the signal; none if there are no files.
    fn told(&self, repo: &str) -> Option<Told>;
    fn has_files(&self) -> bool {
        false
    }
    /// Does a step on that system's files to ours. `bound` puts ids in the place of symbols.
    fn touch(&mut self, _repo: &str, op: &str, _step: &Json, _bound: &dyn Fn(&str) -> String) -> Result<(), String> {
        Err(format!("the rules alone have no files for {op}"))
    }
    /// Whether that file is there, if it has a counterpart.
    fn exists(&self, _repo: &str, _path: &str) -> Option<Json> {
        None
    }
}

/// What others were told.
pub(super) struct Told {
    pub(super) events: Vec<Json>,
    pub(super) mark: Json,
    pub(super) wake: Json,
}

/// Leases, or an error's message.
pub(super) type Answer = Result<Vec<ClaimLease>, String>;

/// The rules alone.
#[derive(Default)]
pub(super) struct Rules {
    scopes: HashMap<String, Scope>,
    counters: Counters,
    now_ms: i64,
}

impl Rules {
    fn scope(&mut self, repo: &str) -> &mut Scope {
        self.scopes.entry(repo.to_owned()).or_insert_with(|| Scope::new(repo, Vec::new()))
    }
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Claims for Rules {
    fn set_time(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    fn acquire(&mut self, repo: &str, wanted: &SetWanted<'_>, _: Traces) -> Result<SetOutcome, String> {
        self.counters.scope = repo.to_owned();
        let scope = self.scopes.entry(repo.to_owned()).or_insert_with(|| Scope::new(repo, Vec::new()));
        scope.acquire(wanted, &[], self.now_ms, &mut self.counters).map_err(message)
    }

    fn renew(&mut self, repo: &str, owner: &str, ttl_ms: i64, references: Option<&[Reference]>) -> Answer {
        let now_ms = self.now_ms;
        self.scope(repo).renew(owner, ttl_ms, references, now_ms).map_err(message)
    }

    fn release(&mut self, repo: &str, owner: &str, references: Option<&[Reference]>, _: Option<Traces>) -> Answer {
        let now_ms = self.now_ms;
        Ok(self.scope(repo).release(owner, references, now_ms))
    }

    fn release_exact(&mut self, repo: &str, owner: &str, references: &[Reference]) -> Answer {
        let now_ms = self.now_ms;
        self.scope(repo).release_exact(owner, references, now_ms).map_err(message)
    }

    fn release_process(&mut self, repo: &str, process: &str, references: &[Reference]) -> Answer {
        let now_ms = self.now_ms;
        self.scope(repo).release_process(process, references, now_ms).map_err(message)
    }

    fn assert(&mut self, repo: &str, lease: &str, token: u64) -> Answer {
        let now_ms = self.now_ms;
        self.scope(repo).assert(lease, token, now_ms).map(|lease| vec![lease.clone()]).map_err(message)
    }

    fn list(&mut self, repo: &str) -> Answer {
        let now_ms = self.now_ms;
        Ok(self.scope(repo).live(now_ms).cloned().collect())
    }

    fn told(&self, _: &str) -> Option<Told> {
        None
    }
}

/// The same with its files.
pub(super) struct Files {
    _dir: tempfile::TempDir,
    store: LeaseStore,
    now_ms: Arc<AtomicI64>,
    /// Whether who holds the lock stays when his time is over.
    overstays: bool,
    lock: Option<HeldLock>,
}

/// Somebody else is inside a scope.
pub(super) struct HeldLock {
    pub(super) _folder: std::fs::File,
    pub(super) until_ms: i64,
}

impl Files {
    pub(super) fn new(overstays: bool) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let now_ms = Arc::new(AtomicI64::new(T0_MS));
        let clock = Arc::clone(&now_ms);
        let options = StoreOptions {
            store: Some(dir.path().join("store")),
            clock: Clock::from_fn(move || clock.load(Ordering::SeqCst)),
            ..StoreOptions::default()
        };
        Self { store: LeaseStore::open(&options).expect("a store opens"), _dir: dir, now_ms, overstays, lock: None }
    }

    pub(super) fn claims(&self, repo: &str) -> ClaimStore {
        ClaimStore::new(self.store.clone(), repo).expect("a scope").lock_wait(Duration::from_millis(5))
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst) - T0_MS
    }

    pub(super) fn hold_lock(&mut self, lock: HeldLock) {
        self.lock = Some(lock);
    }
}

/// The recordings' time zero.
pub(super) const T0_MS: i64 = 1_800_000_000_000;

fn from_t0(mut leases: Vec<ClaimLease>) -> Vec<ClaimLease> {
    for lease in &mut leases {
        lease.acquired_at -= T0_MS;
        lease.heartbeat_at -= T0_MS;
        lease.expires_at -= T0_MS;
    }
    leases
}

impl Claims for Files {
    fn set_time(&mut self, now_ms: i64) {
        self.now_ms.store(T0_MS + now_ms, Ordering::SeqCst);
        if !self.overstays {
            self.lock.take_if(|lock| lock.until_ms <= now_ms);
        }
    }

    fn acquire(&mut self, repo: &str, wanted: &SetWanted<'_>, traces: Traces) -> Result<SetOutcome, String> {
        Ok(match self.claims(repo).acquire(wanted, traces).map_err(message)? {
            SetOutcome::Granted(leases) => SetOutcome::Granted(from_t0(leases)),
            blocked @ SetOutcome::Blocked(_) => blocked,
        })
    }

    fn renew(&mut self, repo: &str, owner: &str, ttl_ms: i64, references: Option<&[Reference]>) -> Answer {
        self.claims(repo).renew(owner, ttl_ms, references).map(from_t0).map_err(message)
    }

    fn release(&mut self, repo: &str, owner: &str, references: Option<&[Reference]>, traces: Option<Traces>) -> Answer {
        self.claims(repo).release(owner, references, traces).map_err(message)
    }

    fn release_exact(&mut self, repo: &str, owner: &str, references: &[Reference]) -> Answer {
        self.claims(repo).release_exact(owner, references, None).map_err(message)
    }

    fn release_process(&mut self, repo: &str, process: &str, references: &[Reference]) -> Answer {
        self.claims(repo).release_process(process, references, None).map_err(message)
    }

    fn assert(&mut self, repo: &str, lease: &str, token: u64) -> Answer {
        self.claims(repo).assert(lease, token).map(|lease| from_t0(vec![lease])).map_err(message)
    }

    fn list(&mut self, repo: &str) -> Answer {
        self.claims(repo).list().map(from_t0).map_err(message)
    }

    fn has_files(&self) -> bool {
        true
    }

    fn touch(&mut self, repo: &str, op: &str, step: &Json, bound: &dyn Fn(&str) -> String) -> Result<(), String> {
        claims_files::touch(self, repo, op, step, bound)
    }

    fn exists(&self, repo: &str, path: &str) -> Option<Json> {
        claims_files::exists(self, repo, path)
    }

    fn told(&self, repo: &str) -> Option<Told> {
        let claims = self.claims(repo);
        let document =
            |path: &Path| std::fs::read_to_string(path).map_or(Json::Null, |text| Json::parse(&text).unwrap_or_default());
        let text = std::fs::read_to_string(claims.dir().join("events.jsonl")).unwrap_or_default();
        let events = text.lines().map(|line| Json::parse(line).expect("JSON"));
        Some(Told {
            // That a lease ran out is told here only.
            events: events.filter(|event| text_of(event, "eventType") != "lease_expired").collect(),
            mark: document(&claims.dir().join("dirty.json")),
            wake: document(&claims.dir().join("../wake.json")),
        })
    }
}

fn text_of<'a>(of: &'a Json, name: &str) -> &'a str {
    of.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// A time of a document, as the recording shows it.
pub(super) fn from_t0_ms(time: Option<&Json>) -> Json {
    let ms = time.and_then(Json::as_str).and_then(parse_time).expect("a time");
    Json::Number(ms - 1_800_000_000_000.0)
}

#[derive(Default)]
struct Counters {
    tokens: HashMap<(String, String), u64>,
    scope: String,
    n_leases: u64,
}

impl Source for Counters {
    type Error = Refusal;

    fn lease_id(&mut self, now_ms: i64) -> String {
        self.n_leases += 1;
        format!("LEASE-{now_ms}-{:08x}", self.n_leases)
    }

    fn sequence(&mut self) -> u64 {
        0
    }

    /// As recorded, where two spellings of a resource have each a counter.
    fn token(&mut self, claim: &Claim, _seen: u64) -> Result<u64, Refusal> {
        let token = self.tokens.entry((self.scope.clone(), claim.given().to_owned())).or_default();
        *token += 1;
        Ok(*token)
    }
}
