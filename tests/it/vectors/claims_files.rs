//! Steps on the files of the system that was recorded, done to ours.
//!
//! | there | here |
//! | --- | --- |
//! | a record in `leases/active` | the file of its owner in `owners`; one that is written by hand is a file of its own |
//! | `leases/active` | `owners` |
//! | a counter | its file in `tokens`, and no log before it |
//! | the wake signal | `wake.json` |
//! | the lock of a living process | the kernel's lock of the scope |
//! | the lock of a dead one, or one that cannot be read | nothing: the kernel's lock ends with its process and has no text |
//! | the record of the program that writes | `writer.json` |
//! | 5000 records of one owner | as many leases of one owner, who has one file |

use std::fs;
use std::path::{Path, PathBuf};

use lease_harness::claims::{Claim, Mode, OwnerNames, OwnerProcess, SetWanted, Visibility};
use lease_harness::json::{Json, Object, object};

use super::claims_stage::{Files, HeldLock, T0_MS};
use super::load::{millis, text};

const ACTIVE: &str = "leases/active";

pub(super) fn touch(files: &mut Files, repo: &str, op: &str, step: &Json, bound: &dyn Fn(&str) -> String) -> Result<(), String> {
    let dir = files.claims(repo).dir().to_owned();
    fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    let path = step.get("path").and_then(Json::as_str).map(bound);
    match (op, path.as_deref(), step.get("counterFor").and_then(Json::as_str)) {
        ("fill", ..) => fill(files, repo, step),
        ("writeFile", None, Some(key)) => write_counter(&dir, key, text(step, "content")),
        ("rm", None, Some(_)) => drop(fs::remove_dir_all(dir.join("tokens"))),
        ("writeFile", Some("locks/repository.lock.json"), _) => lock(files, &dir, step),
        ("writeFile", Some("~home/runtime/active-runtime-owner.json"), _) => match step.get("json") {
            Some(owner) => drop(files.claims(repo).take_over(text(owner, "runtimeInstanceId")).expect("nobody is inside")),
            None => write(&dir.join("../writer.json"), text(step, "content")),
        },
        ("writeFile", Some("~home/scheduler/wake-signal.json"), _) => write(&dir.join("../wake.json"), text(step, "content")),
        ("writeFile", Some(path), _) => write(&place_of(&dir, path), &content_of(step, path)),
        ("rm", Some(ACTIVE), _) => fs::remove_dir_all(dir.join("owners")).expect("it is there"),
        ("mkdir", Some(path), _) => fs::create_dir_all(place_of(&dir, path)).expect("the store is writable"),
        _ => return Err(format!("a step with no counterpart: {}", step.to_text())),
    }
    Ok(())
}

pub(super) fn exists(files: &Files, repo: &str, path: &str) -> Option<Json> {
    // What an owner has is one file, so that a single record is none.
    if path.starts_with(ACTIVE) {
        return None;
    }
    let found = files.claims(repo).dir().join(path).exists();
    Some(object([("exists", Json::Bool(found))]))
}

/// Where a file of that system is here: a record is the file of its owner.
fn place_of(dir: &Path, path: &str) -> PathBuf {
    let Some(rest) = path.strip_prefix(ACTIVE) else { return dir.join(path) };
    let Some(name) = rest.strip_prefix('/') else { return dir.join("owners") };
    let id = name.strip_suffix(".json").unwrap_or(name);
    let holds_it = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains(id));
    let owners = fs::read_dir(dir.join("owners")).into_iter().flatten();
    let known = owners.map(|entry| entry.expect("an entry").path()).find(holds_it);
    known.unwrap_or_else(|| dir.join("owners").join(name))
}

/// A record stands in a list here.
fn content_of(step: &Json, path: &str) -> String {
    let Some(json) = step.get("json") else { return text(step, "content").to_owned() };
    if !path.starts_with(ACTIVE) {
        return json.to_text();
    }
    let mut record = Object::new();
    for (name, value) in json.as_object().expect("an object").iter() {
        let value = if name == "expiresAt" { iso(millis(json, name).expect("a time")) } else { value.clone() };
        record.insert(name, value);
    }
    let version = json.get("schemaVersion").cloned().unwrap_or_default();
    object([("schemaVersion", version), ("leases", Json::Array(vec![Json::Object(record)]))]).to_text()
}

/// A time of the recording as it stands in a file: by what the ledger would say, whose day is known.
fn iso(ms: i64) -> Json {
    let seconds = (T0_MS + ms) / 1000 - 1_799_971_200;
    assert!((0..86_400).contains(&seconds), "a time on the day of the recording");
    Json::from(format!(
        "2027-01-15T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        ms.rem_euclid(1000)
    ))
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("the store is writable");
    fs::write(path, content).expect("the store is writable");
}

/// The counter of a resource is a member of one of 256 files.
fn write_counter(dir: &Path, key: &str, content: &str) {
    let text = match Json::parse(content) {
        Ok(Json::Object(ref members)) => {
            let value = members.get("value").map(|value| (key.to_owned(), value.clone()));
            Json::Object(value.into_iter().collect()).to_text()
        }
        _ => content.to_owned(),
    };
    let _ = fs::remove_file(dir.join("tokens/log.jsonl"));
    for bucket in 0..256 {
        write(&dir.join(format!("tokens/{bucket:02x}.json")), &text);
    }
}

fn lock(files: &mut Files, dir: &Path, step: &Json) {
    let Some(json) = step.get("json").filter(|json| text(json, "pid") != "DEAD") else { return };
    let folder = fs::File::open(dir).expect("a folder");
    folder.lock().expect("nobody is inside");
    files.hold_lock(HeldLock { _folder: folder, until_ms: millis(json, "expiresAt").expect("a time") });
}

fn fill(files: &Files, repo: &str, step: &Json) {
    let count = millis(step, "count").expect("a number");
    let claim = |n| Claim::new(&format!("{}{n}", text(step, "keyPrefix")), Mode::Write).expect("a key");
    let claims: Vec<_> = (0..count).map(claim).collect();
    let env = |_: &str| None;
    let wanted = SetWanted {
        owner: text(step, "owner"),
        claims: &claims,
        ttl_ms: millis(step, "expiresAt").expect("a time") - files.now_ms(),
        names: &OwnerNames::default(),
        process: &OwnerProcess { env: &env, number: 1 },
        visibility: Visibility::Ephemeral,
        alive: None,
    };
    files.claims(repo).acquire(&wanted, Visibility::Ephemeral.into()).expect("nobody is in the way");
}
