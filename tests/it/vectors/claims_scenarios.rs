//! `claims-scenarios.json`: what happens to the leases of a scope.
//!
//! What binds is replayed on the rules alone. Steps that touch that system's own files have no counterpart there, so a case
//! with such a step that changes something is not replayed here.

use lease_harness::claims::{
    Blocker, Claim, ClaimLease, DEFAULT_TTL_MS, OwnerProcess, Reference, SetOutcome, SetWanted, Traces, Visibility,
};
use lease_harness::json::{Json, object};

use super::claims_stage::{Claims, Files, Rules, from_t0_ms};
use super::load::{Case, list, load, millis, text};

/// Steps that only look at that system's files.
const LOOKS: [&str; 5] = ["readJson", "state", "exists", "count", "list"];

#[test]
fn scenarios_of_claims_agree() {
    replay_all(107, |case| Replay::new(Box::<Rules>::default()).run(case));
}

#[test]
fn scenarios_of_claims_agree_in_files() {
    // Two spellings of a workspace have one counter here (3. of what is better), so tokens differ from what was recorded.
    let has_old_spelling = |case: &Case| case.body.to_text().contains("workspace-read:");
    replay_all(101, |case| match has_old_spelling(case) {
        true => Ok(false),
        false => Replay::new(Box::new(Files::new())).run(case),
    });
}

fn replay_all(n_cases: usize, replay: impl Fn(&Case) -> Result<bool, String>) {
    let file = load("claims-scenarios");
    let binds = |case: &&Case| case.tags.iter().any(|tag| matches!(tag.as_str(), "normal" | "generated"));
    let (mut n_replayed, mut faults) = (0, Vec::new());
    for case in file.cases.iter().filter(binds) {
        match replay(case) {
            Ok(true) => n_replayed += 1,
            Ok(false) => {}
            Err(fault) => faults.push(format!("{}: {fault}", case.name)),
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(!file.is_ours || n_replayed == n_cases, "{n_replayed} cases were replayed");
}

/// One scenario, and the names of the leases that were granted in it.
struct Replay {
    claims: Box<dyn Claims>,
    now_ms: i64,
    /// The scope of the first set.
    repo: Option<String>,
    symbols: Vec<(String, String)>,
}

/// A number that is no token matches none.
fn token_of(value: &Json) -> u64 {
    value.as_f64().and_then(|token| format!("{token}").parse().ok()).unwrap_or(u64::MAX)
}

impl Replay {
    fn new(claims: Box<dyn Claims>) -> Self {
        Self { claims, now_ms: 0, repo: None, symbols: Vec::new() }
    }

    /// Whether the case could be replayed.
    fn run(mut self, case: &Case) -> Result<bool, String> {
        for (step_idx, step) in list(&case.body, "steps").iter().enumerate() {
            let op = text(step, "op");
            let known = ["acquire", "renew", "release", "releaseExact", "releaseTerminal", "assert", "clock"];
            if !known.contains(&op) && !LOOKS.contains(&op) {
                return Ok(false);
            }
            let Some(ours) = self.step(op, step)? else {
                if op == "state" {
                    self.compare_told(step.get("result").expect("a result"))?;
                }
                continue;
            };
            let recorded = step.get("result").expect("a result");
            if !alike(recorded, &ours) {
                return Err(format!("step {step_idx} {op}: recorded {}\n    but is {}", recorded.to_text(), ours.to_text()));
            }
        }
        self.compare_told(case.body.get("final").unwrap_or(&Json::Null))?;
        Ok(true)
    }

    /// What the scope and the store tell.
    fn compare_told(&self, recorded: &Json) -> Result<(), String> {
        let (Some(told), true) = (self.claims.told(self.repo.as_deref().unwrap_or("r1")), recorded.get("events").is_some())
        else {
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
        let lease = self.symbolic(members.remove("entityId").as_ref().and_then(Json::as_str).expect("an id"));
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
        let token = || token_of(step.get("fencingToken").expect("a token"));
        let answer = match op {
            "clock" => {
                self.now_ms += millis(step, "advanceMs").expect("a time");
                self.claims.set_time(self.now_ms);
                return Ok(Some(object([("at", number(self.now_ms))])));
            }
            "acquire" => return self.acquire(repo, step).map(Some),
            "renew" => {
                let ttl = millis(step, "ttlMs").unwrap_or(DEFAULT_TTL_MS);
                self.claims.renew(repo, owner(), ttl, references.as_deref())
            }
            "release" => self.claims.release(repo, owner(), references.as_deref(), step.get("options").map(traces_of)),
            "releaseExact" => self.claims.release_exact(repo, owner(), &exactly()),
            "releaseTerminal" => self.claims.release_process(repo, text(step, "processId"), &exactly()),
            "assert" => self.claims.assert(repo, &self.bound(text(step, "lease")), token()),
            "list" => self.claims.list(repo),
            _ => return Ok(None),
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
            ttl_ms: millis(options, "ttlMs").or_else(|| millis(step, "ttlMs")).unwrap_or(DEFAULT_TTL_MS),
            names: &names,
            process: &OwnerProcess { env: &env, number: 1 },
            alive: None,
            visibility: if is_ephemeral { Visibility::Ephemeral } else { Visibility::Durable },
        };
        Ok(match self.claims.acquire(repo, &wanted, traces_of(options)) {
            Ok(SetOutcome::Granted(leases)) => {
                for (lease_idx, lease) in leases.iter().enumerate() {
                    self.symbols.push((format!("${}.{lease_idx}", text(step, "as")), lease.id.clone()));
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
        object([("error", Json::from(self.symbolic(message)))])
    }

    fn references(&self, all: &[Json]) -> Vec<Reference> {
        let text = |of: &Json, name: &str| of.get(name).and_then(Json::as_str).map(str::to_owned);
        let reference = |of: &Json| Reference {
            lease_id: self.bound(&text(of, "leaseId").expect("an id")),
            token: token_of(of.get("fencingToken").expect("a token")),
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
            ("fencingToken", Json::Number(u32::try_from(lease.token).expect("a small number").into())),
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
