//! `pool-scenarios.json`: calls on one pool, with functions or commands that make its slots clean.

use std::collections::VecDeque;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lease_harness::json::{Json, number_text, object};
use lease_harness::pool::{Hook, Hooks, Mode, Outcome, Pool, PoolFile, PoolOptions, SlotDef, SlotWanted, Standing, Wait};
use lease_harness::store::{Env, LeaseStore};

use super::failure::{self, Answer};
use super::load::{Case, list, load, millis, text};
use super::report;
use super::stage::{Stage, args_of, at_step, steps};

#[test]
fn pool_scenarios_agree() {
    report::check(&load("pool-scenarios"), 159, 132, replay);
}

/// A pool on a stage, with the behaviour of its hooks.
struct Scene {
    stage: Stage,
    store: LeaseStore,
    pool: Mutex<Pool>,
    /// What hooks were called since the last look: `provision 1`.
    calls: Mutex<Vec<String>>,
    /// What differed inside a hook or a listener, where nothing can be returned.
    differences: Mutex<Vec<String>>,
}

fn replay(case: &Case) -> Result<(), String> {
    let scene = Scene::open(case).map_err(|failure| format!("the pool cannot be opened: {failure}"))?;
    for (n, step) in steps(&case.body).iter().enumerate() {
        scene.play(case, step).map_err(at_step(n, step))?;
    }
    scene.stage.compare_store(&case.body, |name, recorded| may_differ(&case.body, name, recorded))?;
    scene.stage.compare_work(&case.body)
}

/// A queue file that is absent equals one with no entries, and the grant file of a blocking grant may be gone once its
/// slot was released.
fn may_differ(case: &Json, name: &str, recorded: Option<&str>) -> bool {
    if name.ends_with("/queue.json") {
        return recorded.is_none_or(|text| text == "{\n  \"entries\": []\n}\n");
    }
    let Some(grant) = recorded.filter(|_| name.contains("/grants/")) else { return false };
    let document = Json::parse(grant).ok();
    let token = document.as_ref().and_then(|grant| grant.get("token")).and_then(Json::as_str);
    let is_held = |(_, file): (&str, &Json)| {
        file.as_str().is_some_and(|text| text.contains("\"heartbeat\"") && text.contains(token.unwrap_or("?")))
    };
    let records = case.get("files").and_then(Json::as_object);
    grant.contains("\"mode\": \"blocking\"") && token.is_some() && !records.into_iter().flatten().any(is_held)
}

impl Scene {
    fn open(case: &Case) -> Result<Arc<Self>, String> {
        let stage = Stage::new();
        let options = case.body.get("options");
        let store = LeaseStore::open(&stage.store_options(options)).map_err(|error| error.to_string())?;
        let open = |scene: &std::sync::Weak<Self>| {
            let hooks = hooks(scene, case.body.get("hooks"));
            open_pool(&stage, &store, options, hooks, text(&case.body, "pool_file"))
        };
        let mut failed = None;
        let scene = Arc::new_cyclic(|scene| {
            let pool = open(scene).unwrap_or_else(|error| {
                failed = Some(error);
                let file = PoolFile::parse("{\"slots\":[{\"id\":1}]}", &stage.work_dir()).expect("the smallest pool file");
                Pool::open(file, store.clone(), PoolOptions::default()).expect("the smallest pool")
            });
            Self {
                stage: stage.clone(),
                store: store.clone(),
                pool: Mutex::new(pool),
                calls: Mutex::default(),
                differences: Mutex::default(),
            }
        });
        failed.map_or(Ok(scene), Err)
    }

    fn pool(&self) -> Pool {
        self.pool.lock().expect("nobody panicked").clone()
    }

    fn play(self: &Arc<Self>, case: &Case, step: &Json) -> Result<(), String> {
        if self.stage.do_file_step(step) {
            return Ok(());
        }
        if text(step, "op") == "reopen" {
            let file = step.get("pool_file").and_then(Json::as_str).unwrap_or_else(|| text(&case.body, "pool_file"));
            let hooks = hooks(&Arc::downgrade(self), case.body.get("hooks"));
            let pool = open_pool(&self.stage, &self.store, case.body.get("options"), hooks, file)?;
            *self.pool.lock().expect("nobody panicked") = pool;
            return Ok(());
        }
        self.stage.set_time(millis(step, "at_ms").expect("a call has a time"));
        let answer = self.call(step);
        let mut differences = std::mem::take(&mut *self.differences.lock().expect("nobody panicked"));
        failure::compare(step, &answer, &mut self.stage.symbols())?;
        self.compare_calls(list(step, "calls"))?;
        differences.pop().map_or(Ok(()), Err)
    }

    fn compare_calls(&self, recorded: &[Json]) -> Result<(), String> {
        let calls = std::mem::take(&mut *self.calls.lock().expect("nobody panicked"));
        let recorded: Vec<_> = recorded.iter().filter_map(Json::as_str).collect();
        if calls == recorded { Ok(()) } else { Err(format!("recorded calls {recorded:?}, but were {calls:?}")) }
    }

    fn call(self: &Arc<Self>, step: &Json) -> Answer {
        let (op, args) = (text(step, "op"), args_of(step));
        if let Some(op) = op.strip_prefix("store.") {
            return self.stage.call_store(&self.store, op, &args).expect("a call of the store");
        }
        match op {
            "acquireNoWait" => self.acquire(Wait::No, step, &args),
            "acquireBlocking" => {
                let limit = millis(&args, "waitMs").map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or_default()));
                self.acquire(limit.map_or(Wait::Forever, Wait::For), step, &args)
            }
            "enqueue" | "dequeue" | "heartbeatEntry" | "tryGrant" => self.call_queue(op, &args),
            "request" | "claim" => self.call_deferred(op, &args),
            "heartbeat" | "release" | "resetSlot" | "reprovisionSlot" | "healthCheck" => self.call_slot(op, &args),
            _ => self.call_pool(op, &args),
        }
    }

    fn call_pool(&self, op: &str, args: &Json) -> Answer {
        let (pool, owner) = (self.pool(), self.stage.filled(args, "owner"));
        Ok(match op {
            "poolStatus" => pool.status()?.to_json().to_text(),
            "movingAvgMs" => number_text(pool.moving_avg_ms()?),
            "sweep" => pool.sweep(&owner)?.to_json().to_text(),
            "pump" => pool.pump(&owner)?.to_text(),
            other => panic!("an unknown operation: {other}"),
        })
    }

    fn call_queue(&self, op: &str, args: &Json) -> Answer {
        let (pool, owner, entry) = (self.pool(), self.stage.filled(args, "owner"), self.stage.filled(args, "entryId"));
        Ok(match op {
            "enqueue" => {
                let session = self.stage.given(args, "session");
                pool.enqueue(&owner, session.as_deref(), Mode::from_word(text(args, "mode"))?)?.to_json().to_text()
            }
            "dequeue" => {
                pool.dequeue(&entry, &owner)?;
                "undefined".to_owned()
            }
            "heartbeatEntry" => pool.heartbeat_entry(&entry, &owner)?.map_or_else(
                || "null".to_owned(),
                |(position, eta_ms)| object([("position", Json::from(position)), ("etaMs", Json::from(eta_ms))]).to_text(),
            ),
            _ => {
                let ttl_minutes = args.get("ttlMinutes").and_then(Json::as_f64);
                let held = pool.try_grant(&entry, &owner, ttl_minutes)?;
                held.map_or_else(|| "null".to_owned(), |held| held.grant().to_json().to_text())
            }
        })
    }

    fn call_deferred(&self, op: &str, args: &Json) -> Answer {
        let (pool, owner) = (self.pool(), self.stage.filled(args, "owner"));
        if op == "claim" {
            return Ok(pool.claim(&self.stage.filled(args, "requestId"), &owner)?.to_json().to_text());
        }
        let session = self.stage.given(args, "session");
        let wanted = SlotWanted { session: session.as_deref(), ..SlotWanted::by(&owner) };
        Ok(pool.request(&wanted)?.to_json().to_text())
    }

    fn call_slot(&self, op: &str, args: &Json) -> Answer {
        let (pool, owner, token) = (self.pool(), self.stage.given(args, "owner"), self.stage.filled(args, "token"));
        let slot = pool.slot(args.get("slotId"))?;
        let by = owner.clone().unwrap_or_default();
        let is_forced = args.get("force").and_then(Json::as_bool) == Some(true);
        let answer = match op {
            "heartbeat" => with_slot(pool.heartbeat(slot, &by, &token)?.to_json(), slot),
            "release" if is_forced => with_slot(pool.force_release(slot, owner.as_deref())?.to_json(), slot),
            "release" => with_slot(pool.release(slot, &by, &token)?.to_json(), slot),
            "resetSlot" => pool.reset(slot, &by, &token)?.to_json(slot.id()),
            "reprovisionSlot" => pool.reprovision(slot, &by, args.get("ttlMinutes").and_then(Json::as_f64))?.to_json(slot.id()),
            _ => health(&pool, slot),
        };
        Ok(answer.to_text())
    }

    fn acquire(self: &Arc<Self>, wait: Wait, step: &Json, args: &Json) -> Answer {
        let (owner, session) = (self.stage.filled(args, "owner"), self.stage.given(args, "session"));
        let wanted = SlotWanted {
            session: session.as_deref(),
            ttl_minutes: args.get("ttlMinutes").and_then(Json::as_f64),
            wait,
            poll: millis(args, "pollMs").and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis),
            ..SlotWanted::by(&owner)
        };
        let mut waits = Vec::new();
        let outcome = self.pool().acquire(&wanted, &mut |standing| {
            self.act(list(step, "on_wait").get(waits.len()), &[]);
            waits.push(standing_text(standing));
            true
        })?;
        self.compare_waits(list(step, "waits"), &waits);
        Ok(answer_of(&outcome))
    }

    fn compare_waits(&self, recorded: &[Json], waits: &[String]) {
        let recorded: Vec<_> = recorded.iter().filter_map(Json::as_str).collect();
        if recorded != waits {
            self.differs(format!("recorded waits {recorded:?}, but were {waits:?}"));
        }
    }

    fn differs(&self, difference: String) {
        self.differences.lock().expect("nobody panicked").push(difference);
    }

    /// Does what is recorded to happen inside a call; `results` are what its calls came to.
    fn act(self: &Arc<Self>, actions: Option<&Json>, results: &[Json]) {
        let mut results = results.iter();
        for action in actions.and_then(Json::as_array).unwrap_or_default() {
            if let Some(by_ms) = millis(action, "advance_ms") {
                self.stage.advance(by_ms);
            } else if !self.stage.do_file_step(action) {
                let answer = self.call(action);
                let Some(recorded) = results.next() else { continue };
                let recorded = object([("result", recorded.clone())]);
                let compared = failure::compare(&recorded, &answer, &mut self.stage.symbols());
                compared.unwrap_or_else(|difference| self.differs(difference));
            }
        }
    }
}

fn answer_of(outcome: &Outcome) -> String {
    outcome.to_json().to_text()
}

fn standing_text(standing: &Standing) -> String {
    let members = [
        ("position", Json::from(standing.position)),
        ("etaMs", Json::from(standing.eta_ms)),
        ("avgMs", Json::from(standing.avg_ms)),
    ];
    object(members).to_text()
}

fn health(pool: &Pool, slot: &SlotDef) -> Json {
    let healthy = pool.health(slot);
    let code = if healthy.is_ok() { "healthy" } else { "unhealthy" };
    let mut members = vec![("ok", Json::from(healthy.is_ok())), ("code", Json::from(code)), ("slot_id", slot.id().clone())];
    members.extend(healthy.err().map(|error| ("error", Json::from(error))));
    object(members)
}

fn with_slot(answer: Json, slot: &SlotDef) -> Json {
    let mut members = answer.into_object().expect("an answer is an object");
    members.insert("slot_id", slot.id().clone());
    Json::Object(members)
}

fn open_pool(stage: &Stage, store: &LeaseStore, options: Option<&Json>, hooks: Hooks, file: &str) -> Result<Pool, String> {
    let path = stage.work_dir().join("pool.json");
    fs::write(&path, stage.symbols().fill(file)).expect("the folder is writable");
    let number = |key: &str| options.and_then(|options| options.get(key)).and_then(Json::as_f64);
    let mut variables = stage.environment(options);
    variables.insert("PATH".to_owned(), std::env::var("PATH").unwrap_or_default());
    let options = PoolOptions {
        env: Env::Fixed(variables),
        ttl_minutes: number("ttlMinutes"),
        waiter_stale_ms: number("waiterStaleMs"),
        moving_avg_seed_ms: number("movingAvgSeedMs"),
        hooks,
        ..PoolOptions::default()
    };
    let file = PoolFile::load(&path).map_err(|error| error.to_string())?;
    Pool::open(file, store.clone(), options).map_err(|error| error.to_string())
}

fn hooks(scene: &std::sync::Weak<Scene>, recorded: Option<&Json>) -> Hooks {
    let hook = |name: &'static str| recorded.and_then(|hooks| hooks.get(name)).map(|list| hook(scene.clone(), name, list));
    Hooks { provision: hook("provision"), reset: hook("reset"), health: hook("health") }
}

/// A function that behaves as recorded, one behaviour a call, then well.
fn hook(scene: std::sync::Weak<Scene>, name: &'static str, behaviours: &Json) -> Hook {
    let behaviours: VecDeque<Json> = behaviours.as_array().unwrap_or_default().iter().cloned().collect();
    let behaviours = Mutex::new(behaviours);
    Arc::new(move |slot: &SlotDef| {
        let scene = scene.upgrade().expect("hooks are called while the scene is played");
        scene.calls.lock().expect("nobody panicked").push(format!("{name} {}", slot.id_text()));
        let Some(behaviour) = behaviours.lock().expect("nobody panicked").pop_front() else { return Ok(()) };
        scene.act(behaviour.get("do"), list(&behaviour, "do_results"));
        behaviour.get("fail").and_then(Json::as_str).map_or(Ok(()), |text| Err(text.to_owned()))
    })
}
