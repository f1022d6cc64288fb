//! `pool-files.json`: which pool files are good, and what they say.

use std::fs;
use std::path::PathBuf;

use lease_harness::json::{Json, object};
use lease_harness::pool::{Hook, Hooks, Outcome, Pool, PoolFile, PoolOptions, SlotWanted, Wait};
use lease_harness::store::LeaseStore;

use super::failure::{self, Failure};
use super::load::{Case, list, load, text};
use super::report;
use super::stage::Stage;

/// The time of the recorded grants.
const AT_MS: i64 = 1_760_000_000_000;

#[test]
fn pool_files_agree() {
    report::check(&load("pool-files"), 162, 151, replay);
}

fn replay(case: &Case) -> Result<(), String> {
    let stage = Stage::new();
    let path = match case.body.get("path").and_then(Json::as_str) {
        Some(path) => PathBuf::from(stage.symbols().fill(path)),
        None => stage.work_dir().join("pool.json"),
    };
    if let Some(file) = case.body.get("file").and_then(Json::as_str) {
        fs::write(&path, stage.symbols().fill(file)).expect("the folder is writable");
    }
    let is_good = case.body.get("ok").and_then(Json::as_bool).expect("a case says whether the file is good");
    match (PoolFile::load(&path), is_good) {
        (Ok(file), true) => compare(&stage, file, &case.body),
        (Ok(_), false) => {
            Err(format!("accepted, but recorded {}", case.body.get("error").map(Json::to_text).unwrap_or_default()))
        }
        (Err(error), true) => Err(format!("refused: {error}")),
        (Err(error), false) => {
            let recorded = case.body.get("error").expect("a refused file has an error");
            failure::compare_error(recorded, &Failure::usage(error), &mut stage.symbols())
        }
    }
}

fn compare(stage: &Stage, file: PoolFile, body: &Json) -> Result<(), String> {
    stage.symbols().compare(text(body, "pool"), &file.to_json().to_text())?;
    stage.set_time(AT_MS);
    let store = LeaseStore::open(&stage.store_options(None)).map_err(|error| error.to_string())?;
    let nothing: Hook = std::sync::Arc::new(|_| Ok(()));
    let hooks = Hooks { provision: Some(nothing.clone()), reset: Some(nothing.clone()), health: Some(nothing) };
    let options = PoolOptions { hooks, env: lease_harness::store::Env::Fixed(stage.environment(None)), ..PoolOptions::default() };
    let pool = Pool::open(file, store, options).map_err(|error| error.to_string())?;
    compare_effective(&pool, body.get("effective").expect("a good file has effective values"))?;
    compare_grants(stage, &pool, body)
}

fn compare_effective(pool: &Pool, recorded: &Json) -> Result<(), String> {
    let average = pool.moving_avg_ms().map_err(|error| error.to_string())?;
    let actual = object([("ttlMinutes", Json::from(pool.ttl_minutes())), ("movingAvgMs", Json::from(average))]);
    if &actual == recorded { Ok(()) } else { Err(format!("recorded {}, but is {}", recorded.to_text(), actual.to_text())) }
}

/// One grant for every slot; where granting fails, that is recorded instead.
fn compare_grants(stage: &Stage, pool: &Pool, body: &Json) -> Result<(), String> {
    let wanted = SlotWanted { session: Some("s1"), wait: Wait::No, ..SlotWanted::by("acme-1") };
    let mut grants = list(body, "grants").iter();
    let n_wanted = grants.len().max(usize::from(body.get("grant_error").is_some()));
    for _ in 0..n_wanted {
        match (pool.acquire(&wanted, &mut |_| true), body.get("grant_error")) {
            (Ok(Outcome::Granted(held)), None) => {
                let recorded = grants.next().and_then(Json::as_str).expect("a grant for every slot");
                stage.symbols().compare(recorded, &held.grant().to_json().to_text())?;
            }
            (Err(error), Some(recorded)) => failure::compare_error(recorded, &error.into(), &mut stage.symbols())?,
            (other, recorded) => return Err(format!("recorded {recorded:?}, but is {other:?}")),
        }
    }
    Ok(())
}
