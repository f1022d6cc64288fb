//! `claims-scenarios.json`: what happens to the leases of a scope.
//!
//! What binds is replayed on the rules alone. Steps that touch that system's own files have no counterpart there, so a case
//! with such a step that changes something is not replayed here.

use std::collections::HashMap;

use lease_harness::claims::{
    Blocker, Claim, ClaimLease, DEFAULT_TTL_MS, OwnerProcess, Reference, Refusal, Scope, SetOutcome, SetWanted, Source,
    Visibility,
};
use lease_harness::json::{Json, object};

use super::load::{Case, list, load, millis, text};

/// Steps that only look at that system's files.
const LOOKS: [&str; 5] = ["readJson", "state", "exists", "count", "list"];

#[test]
fn scenarios_of_claims_agree() {
    let file = load("claims-scenarios");
    let binds = |case: &&Case| case.tags.iter().any(|tag| matches!(tag.as_str(), "normal" | "generated"));
    let (mut n_replayed, mut faults) = (0, Vec::new());
    for case in file.cases.iter().filter(binds) {
        match Replay::default().run(case) {
            Ok(true) => n_replayed += 1,
            Ok(false) => {}
            Err(fault) => faults.push(format!("{}: {fault}", case.name)),
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(!file.is_ours || n_replayed == 107, "{n_replayed} cases were replayed");
}

/// Scopes, and the names of the leases that were granted.
#[derive(Default)]
struct Replay {
    scopes: HashMap<String, Scope>,
    counters: Counters,
    now_ms: i64,
    symbols: Vec<(String, String)>,
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

    /// As recorded, where two spellings of a resource have each a counter.
    fn token(&mut self, claim: &Claim) -> Result<u64, Refusal> {
        let token = self.tokens.entry((self.scope.clone(), claim.given().to_owned())).or_default();
        *token += 1;
        Ok(*token)
    }
}

impl Replay {
    /// Whether the case could be replayed.
    fn run(mut self, case: &Case) -> Result<bool, String> {
        for (step_idx, step) in list(&case.body, "steps").iter().enumerate() {
            let op = text(step, "op");
            let known = ["acquire", "renew", "release", "releaseExact", "releaseTerminal", "assert", "clock"];
            if !known.contains(&op) && !LOOKS.contains(&op) {
                return Ok(false);
            }
            let Some(ours) = self.step(op, step)? else { continue };
            let recorded = step.get("result").expect("a result");
            if !alike(recorded, &ours) {
                return Err(format!("step {step_idx} {op}: recorded {}\n    but is {}", recorded.to_text(), ours.to_text()));
            }
        }
        Ok(true)
    }

    fn step(&mut self, op: &str, step: &Json) -> Result<Option<Json>, String> {
        let repo = step.get("repo").and_then(Json::as_str).unwrap_or("r1").to_owned();
        let mut scope = self.scopes.remove(&repo).unwrap_or_else(|| Scope::new(&repo, Vec::new()));
        self.counters.scope.clone_from(&repo);
        let outcome = self.on_scope(&mut scope, op, step);
        self.scopes.insert(repo, scope);
        outcome
    }

    fn on_scope(&mut self, scope: &mut Scope, op: &str, step: &Json) -> Result<Option<Json>, String> {
        let now_ms = self.now_ms;
        let owner = || text(step, "owner");
        let references = step.get("expected").and_then(Json::as_array).map(|all| self.references(all));
        Ok(Some(match op {
            "clock" => {
                self.now_ms += millis(step, "advanceMs").expect("a time");
                object([("at", number(self.now_ms))])
            }
            "acquire" => return self.acquire(scope, step).map(Some),
            "renew" => {
                let ttl = millis(step, "ttlMs").unwrap_or(DEFAULT_TTL_MS);
                self.said("renewed", scope.renew(owner(), ttl, references.as_deref(), now_ms).map(|all| self.leases(all.iter())))
            }
            "release" => object([("released", count(&scope.release(owner(), references.as_deref(), now_ms)))]),
            "releaseExact" => {
                let released = scope.release_exact(owner(), &references.unwrap_or_default(), now_ms);
                self.said("released", released.map(|all| count(&all)))
            }
            "releaseTerminal" => {
                let released = scope.release_process(text(step, "processId"), &references.unwrap_or_default(), now_ms);
                self.said("released", released.map(|all| count(&all)))
            }
            "assert" => {
                let token = step.get("fencingToken").and_then(Json::as_f64).expect("a token");
                let token = format!("{token}").parse().unwrap_or(u64::MAX);
                let asserted = scope.assert(&self.bound(text(step, "lease")), token, now_ms);
                self.said("ok", asserted.map(|lease| self.lease(lease)))
            }
            "list" => object([("active", self.leases(scope.live(now_ms)))]),
            _ => return Ok(None),
        }))
    }

    fn acquire(&mut self, scope: &mut Scope, step: &Json) -> Result<Json, String> {
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
            visibility: if is_ephemeral { Visibility::Ephemeral } else { Visibility::Durable },
        };
        let outcome = scope.acquire(&wanted, self.now_ms, &mut self.counters);
        Ok(match outcome {
            Ok(SetOutcome::Granted(leases)) => {
                for (lease_idx, lease) in leases.iter().enumerate() {
                    self.symbols.push((format!("${}.{lease_idx}", text(step, "as")), lease.id.clone()));
                }
                answer(true, self.leases(leases.iter()), Vec::new())
            }
            Ok(SetOutcome::Blocked(blockers)) => {
                answer(false, Json::Array(Vec::new()), blockers.iter().map(|blocker| self.blocker(blocker)).collect())
            }
            Err(refusal) => self.error(&refusal),
        })
    }

    fn said(&self, name: &str, outcome: Result<Json, Refusal>) -> Json {
        match outcome {
            Ok(value) => object([(name, value)]),
            Err(refusal) => self.error(&refusal),
        }
    }

    fn error(&self, refusal: &Refusal) -> Json {
        object([("error", Json::from(self.symbolic(&refusal.to_string())))])
    }

    fn references(&self, all: &[Json]) -> Vec<Reference> {
        let text = |of: &Json, name: &str| of.get(name).and_then(Json::as_str).map(str::to_owned);
        let reference = |of: &Json| Reference {
            lease_id: self.bound(&text(of, "leaseId").expect("an id")),
            token: of
                .get("fencingToken")
                .and_then(Json::as_f64)
                .and_then(|token| format!("{token}").parse().ok())
                .unwrap_or(u64::MAX),
            repo_id: text(of, "repoId"),
            checkout_id: text(of, "checkoutId"),
            work_id: text(of, "workId"),
            resource_key: text(of, "resourceKey"),
            owner_digest: text(of, "ownerIdentityDigest"),
        };
        all.iter().map(reference).collect()
    }

    fn leases<'a>(&self, leases: impl Iterator<Item = &'a ClaimLease>) -> Json {
        Json::Array(leases.map(|lease| self.lease(lease)).collect())
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

    fn blocker(&self, Blocker { lease }: &Blocker) -> Json {
        object([
            ("resourceKey", Json::from(lease.resource_key.as_str())),
            ("ownerJobId", Json::from(lease.owner.as_str())),
            ("lease", Json::from(self.symbolic(&lease.id))),
            ("mode", Json::from(lease.mode.as_str())),
            ("ownerIdentityDigest", Json::from(lease.identity.digest())),
        ])
    }

    fn bound(&self, symbol: &str) -> String {
        self.symbols.iter().find(|(name, _)| name == symbol).map_or_else(|| symbol.to_owned(), |(_, id)| id.clone())
    }

    fn symbolic(&self, text: &str) -> String {
        self.symbols.iter().fold(text.to_owned(), |text, (name, id)| text.replace(id, name))
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
fn alike(recorded: &Json, ours: &Json) -> bool {
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
