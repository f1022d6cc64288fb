//! `claims-scenarios.json`: what happens to the leases of a scope.
//!
//! All cases are replayed on a store with its files; those without files of that system also on the rules alone. Steps that
//! touch that system's own files are translated by [`super::claims_files`].

use lease_harness::claims::{
    Blocker, Claim, ClaimLease, DEFAULT_TTL_MS, OwnerProcess, Reference, SetOutcome, SetWanted, Traces, Visibility,
};
use lease_harness::json::{Json, object};

use super::claims_stage::{Claims, Files, Rules, from_t0_ms};
use super::decisions::DECISIONS;
use super::kept::KEPT;
use super::load::{Case, list, load, millis, text};
use super::report;

/// Steps that only look at that system's files; what they show is in the answers of others.
const LOOKS: [&str; 4] = ["readJson", "state", "count", "list"];
/// Steps that change them.
const TOUCHES: [&str; 4] = ["writeFile", "rm", "mkdir", "fill"];

#[test]
fn scenarios_of_claims_agree() {
    let file = load("claims-scenarios");
    let touches = |case: &&Case| list(&case.body, "steps").iter().any(|step| TOUCHES.contains(&text(step, "op")));
    let cases = file.cases.iter().filter(|case| case.binds() && !touches(case));
    let outcomes: Vec<_> = cases.map(|case| (&case.name, Replay::new(Box::<Rules>::default()).run(case))).collect();
    let faults: Vec<_> =
        outcomes.iter().filter_map(|(name, outcome)| Some(format!("{name}: {}", outcome.as_ref().err()?))).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(!file.is_ours || outcomes.len() == 107, "{} cases were replayed", outcomes.len());
}

#[test]
fn scenarios_of_claims_agree_in_files() {
    report::check(&load("claims-scenarios"), 148, 110, |case| {
        let overstays = case.tags.iter().any(|tag| tag == "fault");
        Replay::new(Box::new(Files::new(overstays))).run(case)
    });
}

/// What does not bind has a line in one of two lists: that of what we do otherwise, or that of what we keep.
#[test]
fn every_choice_has_a_line() {
    let file = load("claims-scenarios");
    let of_file = || DECISIONS.iter().filter(|decision| decision.file == file.name);
    for case in file.cases.iter().filter(|case| file.is_ours && !case.binds()) {
        let is_decided = of_file().filter(|decision| decision.cases.contains(&&*case.name)).count();
        let is_kept = KEPT.iter().filter(|kept| kept.cases.contains(&&*case.name)).count();
        assert_eq!(is_decided + is_kept, 1, "{}", case.name);
    }
    for (name, kept) in KEPT.iter().flat_map(|kept| kept.cases.iter().map(move |name| (name, kept))) {
        let has_it = |case: &Case| case.name == *name && case.tags.iter().any(|tag| tag == kept.tag);
        assert!(!file.is_ours || file.cases.iter().any(has_it), "no such case: {name} {}", kept.tag);
    }
}

/// One scenario, and the names of the leases that were granted in it.
struct Replay {
    claims: Box<dyn Claims>,
    now_ms: i64,
    /// The scope of the first set.
    repo: Option<String>,
    symbols: Vec<(String, String)>,
    /// Whether spellings of one resource may have each a counter in the recording.
    has_spellings: bool,
    /// A lease's symbol, its recorded token, and ours.
    tokens: Vec<(String, u64, u64)>,
}

/// A number that is no token matches none.
fn token_of(value: &Json) -> u64 {
    value.as_f64().and_then(|token| format!("{token}").parse().ok()).unwrap_or(u64::MAX)
}

impl Replay {
    fn new(claims: Box<dyn Claims>) -> Self {
        Self { claims, now_ms: 0, repo: None, symbols: Vec::new(), has_spellings: false, tokens: Vec::new() }
    }

    fn run(mut self, case: &Case) -> Result<(), String> {
        // Spellings of one resource have one counter here (3. of what is better), so that tokens are larger than recorded.
        self.has_spellings = case.binds() && case.body.to_text().contains("workspace-read:") && self.claims.has_files();
        for (step_idx, step) in list(&case.body, "steps").iter().enumerate() {
            let op = text(step, "op");
            let Some(ours) = self.step(op, step)? else {
                if op == "state" {
                    self.compare_told(step.get("result").expect("a result"))?;
                }
                continue;
            };
            let recorded = in_our_words(step.get("result").expect("a result"));
            let both_fail =
                step.get("result").and_then(|result| result.get("errorName")).is_some() && ours.get("error").is_some();
            if !both_fail && !alike(&recorded, &ours) {
                return Err(format!("step {step_idx} {op}: recorded {}\n    but is {}", recorded.to_text(), ours.to_text()));
            }
        }
        self.compare_told(case.body.get("final").unwrap_or(&Json::Null))
    }

    /// What the scope and the store tell.
    fn compare_told(&self, recorded: &Json) -> Result<(), String> {
        let has_events = recorded.get("events").and_then(Json::as_array).is_some();
        let (Some(told), true) = (self.claims.told(self.repo.as_deref().unwrap_or("r1")), has_events) else {
            return Ok(());
        };
        let mut mark = told.mark;
        if let Some(members) = mark.as_object_mut() {
            let at = from_t0_ms(members.get("markedAt"));
            members.insert("markedAt", at);
        }
        let events = Json::Array(told.events.iter().map(|event| self.event(event)).collect());
        for (name, ours) in [("events", events), ("dirty", mark), ("wake", told.wake)] {
            let recorded = recorded.get(name).cloned().unwrap_or_default();
            if !alike(&recorded, &ours) {
                return Err(format!("{name}: recorded {}\n    but is {}", recorded.to_text(), ours.to_text()));
            }
        }
        Ok(())
    }

    /// As the recording shows an event.
    fn event(&self, event: &Json) -> Json {
        let mut event = event.clone();
        let members = event.as_object_mut().expect("an event is an object");
        let lease = Json::from(self.symbolic(members.remove("entityId").as_ref().and_then(Json::as_str).expect("an id")));
        let token = token_of(members.get("revision").expect("a token"));
        members.insert("revision", self.recorded_token(lease.as_str(), token));
        members.insert("lease", lease);
        let at = from_t0_ms(members.get("at"));
        members.insert("at", at);
        let data = members.get_mut("data").and_then(Json::as_object_mut).expect("data");
        if data.contains_key("expiresAt") {
            let expires_at = from_t0_ms(data.get("expiresAt"));
            data.insert("expiresAt", expires_at);
        }
        event
    }

    fn step(&mut self, op: &str, step: &Json) -> Result<Option<Json>, String> {
        let repo = step.get("repo").and_then(Json::as_str).unwrap_or("r1");
        self.repo.get_or_insert_with(|| repo.to_owned());
        let owner = || text(step, "owner");
        let references = step.get("expected").and_then(Json::as_array).map(|all| self.references(all));
        let exactly = || references.clone().unwrap_or_default();
        let token = || self.our_token(text(step, "lease"), token_of(step.get("fencingToken").expect("a token")));
        let answer = match op {
            "clock" => {
                self.now_ms += millis(step, "advanceMs").expect("a time");
                self.claims.set_time(self.now_ms);
                return Ok(Some(object([("at", number(self.now_ms))])));
            }
            "acquire" => return self.acquire(repo, step).map(Some),
            "renew" => {
                let Some(ttl) = ttl_of(step) else { return Ok(Some(refused_by_type())) };
                self.claims.renew(repo, owner(), ttl, references.as_deref())
            }
            "release" => self.claims.release(repo, owner(), references.as_deref(), step.get("options").map(traces_of)),
            "releaseExact" => self.claims.release_exact(repo, owner(), &exactly()),
            "releaseTerminal" => self.claims.release_process(repo, text(step, "processId"), &exactly()),
            "assert" => self.claims.assert(repo, &self.bound(text(step, "lease")), token()),
            "list" => self.claims.list(repo),
            "exists" => return Ok(self.claims.exists(repo, text(step, "path"))),
            op if LOOKS.contains(&op) => return Ok(None),
            op => {
                let bound = |text: &str| self.symbols.iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, id));
                self.claims.touch(repo, op, step, &bound)?;
                return Ok(None);
            }
        };
        Ok(Some(match (answer, op) {
            (Err(message), _) => self.error(&message),
            (Ok(leases), "renew") => object([("renewed", self.leases(&leases))]),
            (Ok(leases), "list") => object([("active", self.leases(&leases))]),
            (Ok(leases), "assert") => object([("ok", self.lease(&leases[0]))]),
            (Ok(leases), _) => object([("released", count(&leases))]),
        }))
    }

    fn acquire(&mut self, repo: &str, step: &Json) -> Result<Json, String> {
        let claims: Result<Vec<_>, _> = list(step, "claims").iter().map(Claim::from_json).collect();
        let claims = claims.map_err(|error| error.to_string())?;
        let options = step.get("options").unwrap_or(step);
        let (Some(ttl_ms), Some(_)) = (ttl_of(if options.get("ttlMs").is_some() { options } else { step }), ttl_of(step)) else {
            return Ok(refused_by_type());
        };
        let env = |name: &str| match name {
            "FORGE_WRITER_INSTANCE_ID" => Some("inst-1".to_owned()),
            "FORGE_WRITER_GENERATION" => Some("gen-1".to_owned()),
            _ => None,
        };
        let names = super::claims::names_of(options).expect("texts");
        let is_ephemeral = options.get("visibility").and_then(Json::as_str) == Some("ephemeral");
        let wanted = SetWanted {
            owner: text(step, "owner"),
            claims: &claims,
            ttl_ms,
            names: &names,
            process: &OwnerProcess { env: &env, number: 1 },
            alive: None,
            visibility: if is_ephemeral { Visibility::Ephemeral } else { Visibility::Durable },
        };
        Ok(match self.claims.acquire(repo, &wanted, traces_of(options)) {
            Ok(SetOutcome::Granted(leases)) => {
                for (lease_idx, lease) in leases.iter().enumerate() {
                    let symbol = format!("${}.{lease_idx}", text(step, "as"));
                    let recorded = list(step.get("result").expect("a result"), "leases").get(lease_idx);
                    let token = recorded.and_then(|lease| lease.get("fencingToken")).map(token_of);
                    self.tokens.extend(token.map(|token| (symbol.clone(), token, lease.token)));
                    self.symbols.push((symbol, lease.id.clone()));
                }
                answer(true, self.leases(&leases), Vec::new())
            }
            Ok(SetOutcome::Blocked(blockers)) => {
                answer(false, Json::Array(Vec::new()), blockers.iter().map(|blocker| self.blocker(blocker)).collect())
            }
            Err(message) => self.error(&message),
        })
    }

    fn error(&self, message: &str) -> Json {
        // How long it was waited, and for whom, is told in other words.
        let message = if message.starts_with("LOCK_HELD:") { "LOCK_HELD" } else { message };
        object([("error", Json::from(self.symbolic(message)))])
    }

    /// The token that a reference means: that of the lease, if it is the recorded one.
    fn our_token(&self, symbol: &str, token: u64) -> u64 {
        let known = self.tokens.iter().find(|(name, ..)| self.has_spellings && name == symbol);
        known.map_or(token, |(_, recorded, ours)| if *recorded == token { *ours } else { u64::MAX })
    }

    /// The other way round. A token of ours is never smaller than the recorded one.
    fn recorded_token(&self, symbol: Option<&str>, token: u64) -> Json {
        let known = self.tokens.iter().find(|(name, _, ours)| self.has_spellings && Some(&**name) == symbol && *ours == token);
        number(known.map_or(token, |(_, recorded, ours)| *recorded.min(ours)).try_into().expect("a small number"))
    }

    fn references(&self, all: &[Json]) -> Vec<Reference> {
        let text = |of: &Json, name: &str| of.get(name).and_then(Json::as_str).map(str::to_owned);
        let reference = |of: &Json| Reference {
            lease_id: self.bound(&text(of, "leaseId").expect("an id")),
            token: self.our_token(&text(of, "leaseId").expect("an id"), token_of(of.get("fencingToken").expect("a token"))),
            repo_id: text(of, "repoId"),
            checkout_id: text(of, "checkoutId"),
            work_id: text(of, "workId"),
            resource_key: text(of, "resourceKey"),
            owner_digest: text(of, "ownerIdentityDigest"),
        };
        all.iter().map(reference).collect()
    }

    fn leases(&self, leases: &[ClaimLease]) -> Json {
        Json::Array(leases.iter().map(|lease| self.lease(lease)).collect())
    }

    /// As the recording shows a lease.
    fn lease(&self, lease: &ClaimLease) -> Json {
        let visibility = if lease.visibility == Visibility::Durable { "durable" } else { "ephemeral" };
        let mut members = vec![
            ("lease", Json::from(self.symbolic(&lease.id))),
            ("resourceKey", Json::from(lease.resource_key.as_str())),
            ("mode", Json::from(lease.mode.as_str())),
            ("ownerJobId", Json::from(lease.owner.as_str())),
            ("fencingToken", self.recorded_token(Some(&self.symbolic(&lease.id)), lease.token)),
            ("visibility", Json::from(visibility)),
            ("ownerIdentityDigest", Json::from(lease.identity.digest())),
            ("acquiredAt", number(lease.acquired_at)),
            ("heartbeatAt", number(lease.heartbeat_at)),
            ("expiresAt", number(lease.expires_at)),
        ];
        if lease.repo_id != "r1" {
            members.push(("repoId", Json::from(lease.repo_id.as_str())));
        }
        for (name, value) in [("checkoutId", &lease.checkout_id), ("workId", &lease.work_id)] {
            members.extend(value.as_deref().map(|value| (name, Json::from(value))));
        }
        object(members)
    }

    fn blocker(&self, blocker: &Blocker) -> Json {
        let mut blocker = blocker.to_json();
        let members = blocker.as_object_mut().expect("a blocker is an object");
        let lease = self.symbolic(members.remove("leaseId").as_ref().and_then(Json::as_str).expect("an id"));
        members.insert("lease", lease);
        blocker
    }

    fn bound(&self, symbol: &str) -> String {
        self.symbols.iter().find(|(name, _)| name == symbol).map_or_else(|| symbol.to_owned(), |(_, id)| id.clone())
    }

    fn symbolic(&self, text: &str) -> String {
        self.symbols.iter().fold(text.to_owned(), |text, (name, id)| text.replace(id, name))
    }
}

/// The lifetime that a step asks for; none if it is no number of milliseconds.
fn ttl_of(step: &Json) -> Option<i64> {
    if step.get("ttlMs").is_some() { millis(step, "ttlMs") } else { Some(DEFAULT_TTL_MS) }
}

/// What no caller can ask for: a lifetime is a whole number by its type.
fn refused_by_type() -> Json {
    object([("error", Json::from("no lifetime"))])
}

/// Lock and writer are no claims: that they are in the way has an error of its own (4. of what is better), which is recorded
/// as a blocker.
fn in_our_words(recorded: &Json) -> Json {
    let first = list(recorded, "blockers").first();
    let text_of = |name: &str| first.and_then(|first| first.get(name)).and_then(Json::as_str).unwrap_or_default();
    let error = recorded.get("error").and_then(Json::as_str).unwrap_or_default();
    match text_of("resourceKey") {
        "controller-lock" => object([("error", Json::from("LOCK_HELD"))]),
        "runtime-authority" => object([("error", Json::from(format!("WRITER_FENCED:acquire_lease:{}", text_of("lease"))))]),
        _ if error.starts_with("LOCK_HELD:") => object([("error", Json::from("LOCK_HELD"))]),
        _ => recorded.clone(),
    }
}

/// What a visibility and the single switches leave.
fn traces_of(options: &Json) -> Traces {
    let is_ephemeral = options.get("visibility").and_then(Json::as_str) == Some("ephemeral");
    let by_visibility = Traces::from(if is_ephemeral { Visibility::Ephemeral } else { Visibility::Durable });
    let switch = |name: &str, default: bool| match options.get(name) {
        Some(Json::Bool(switched)) => *switched,
        _ => default,
    };
    Traces {
        events: switch("emitRuntimeEvent", by_visibility.events),
        mark: switch("invalidateProjection", by_visibility.mark),
        wake: switch("notifyScheduler", by_visibility.wake),
    }
}

fn answer(acquired: bool, leases: Json, blockers: Vec<Json>) -> Json {
    object([("acquired", Json::Bool(acquired)), ("leases", leases), ("blockers", Json::Array(blockers))])
}

fn count(leases: &[ClaimLease]) -> Json {
    number(i64::try_from(leases.len()).expect("a small number"))
}

#[expect(clippy::cast_precision_loss, reason = "the recorded numbers are below 2^53")]
fn number(value: i64) -> Json {
    Json::Number(value as f64)
}

/// The same, whatever the order of members, and of leases and blockers, whose order is that of random ids where times are equal.
pub(super) fn alike(recorded: &Json, ours: &Json) -> bool {
    match (recorded, ours) {
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len() && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| alike(value, other)))
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().all(|value| right.iter().any(|other| alike(value, other)))
        }
        _ => recorded == ours,
    }
}
