//! The pool file: what the slots are, and what is done with them.

mod check;
mod error;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use error::{PoolFileError, PoolFileErrorKind};

use super::slot::SlotDef;
use crate::json::{Json, Object, push_quoted};
use crate::sys::disk;

const TTL_MINUTES: f64 = 30.0;
const WAITER_STALE_MS: f64 = 90_000.0;
const MOVING_AVG_SEED_MS: f64 = 480_000.0;

/// A pool file that was found to be whole: every name and number in it can be used, and every template resolves for
/// every slot.
#[derive(Clone, Debug)]
pub struct PoolFile {
    path: PathBuf,
    raw: Json,
    /// Worked out when somebody asks.
    warnings: OnceLock<Vec<String>>,
    name: String,
    kind_prefix: String,
    queue_lock_kind: String,
    cwd: PathBuf,
    texts: Texts,
    numbers: Numbers,
    grant_env: Option<Object>,
    grant_fields: Object,
    slots: Vec<SlotDef>,
}

/// The texts that may be left out.
#[derive(Clone, Debug, Default)]
struct Texts {
    provision: Option<String>,
    reset: Option<String>,
    health: Option<String>,
    nudge_command: Option<String>,
    nudge_event: Option<String>,
    shell_prefix: Option<String>,
    bookkeeper: Option<String>,
}

/// The numbers that may be left out.
#[derive(Clone, Debug, Default)]
struct Numbers {
    ttl_minutes: Option<f64>,
    waiter_stale_ms: Option<f64>,
    moving_avg_seed_ms: Option<f64>,
}

impl PoolFile {
    /// Reads a pool file and checks all of it.
    ///
    /// # Errors
    /// The file cannot be read, is no JSON, or something in it cannot be used; the message names field and value.
    pub fn load(path: &Path) -> Result<Self, PoolFileError> {
        let bytes = disk::read_file(path).map_err(|error| PoolFileError::read(path, error))?;
        let raw = Json::parse_bytes(&bytes).map_err(|error| PoolFileError::syntax(path, &error))?;
        check::check(raw, path)
    }

    /// Checks the text of a pool file that lies at `path`, or would.
    ///
    /// # Errors
    /// As [`load`](Self::load), except for reading.
    pub fn parse(text: &str, path: &Path) -> Result<Self, PoolFileError> {
        let raw = Json::parse(text).map_err(|error| PoolFileError::syntax(path, &error))?;
        check::check(raw, path)
    }

    /// The path the file was loaded from, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole document, with the keys that nobody knows.
    pub fn raw(&self) -> &Json {
        &self.raw
    }

    /// What works but is doubtful, a sentence each, for people.
    pub fn warnings(&self) -> &[String] {
        self.warnings.get_or_init(|| check::warnings(self))
    }

    /// The pool's name, and the name of its folder in the store (default `pool`).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What makes a slot's id its lease kind (default `slot-`).
    pub fn kind_prefix(&self) -> &str {
        &self.kind_prefix
    }

    /// The kind of the lease that locks the queue (default `<name>-queue`).
    pub fn queue_lock_kind(&self) -> &str {
        &self.queue_lock_kind
    }

    /// The `event` of a nudge (default `lease-granted`).
    pub fn nudge_event(&self) -> &str {
        self.texts.nudge_event.as_deref().unwrap_or("lease-granted")
    }

    /// What the names of the variables printed for a shell begin with (default `POOL_LEASE`). `<prefix>_SLOT` is an
    /// environment name.
    pub fn shell_prefix(&self) -> &str {
        self.texts.shell_prefix.as_deref().unwrap_or("POOL_LEASE")
    }

    /// The owner that books a forced release.
    pub fn bookkeeper(&self) -> Option<&str> {
        self.texts.bookkeeper.as_deref()
    }

    /// TTL of a slot's lease in minutes (default 30). May be more than a store accepts.
    pub fn ttl_minutes(&self) -> f64 {
        self.numbers.ttl_minutes.unwrap_or(TTL_MINUTES)
    }

    /// After how many milliseconds of silence a waiter counts as gone (default 90000).
    pub fn waiter_stale_ms(&self) -> f64 {
        self.numbers.waiter_stale_ms.unwrap_or(WAITER_STALE_MS)
    }

    /// How many milliseconds a lease is assumed to take before one was seen (default 480000).
    pub fn moving_avg_seed_ms(&self) -> f64 {
        self.numbers.moving_avg_seed_ms.unwrap_or(MOVING_AVG_SEED_MS)
    }

    /// The directory that commands run in: absolute, resolved against the pool file's folder (default that folder).
    pub fn cwd_dir(&self) -> &Path {
        &self.cwd
    }

    /// The command that makes a slot clean before a grant. May be empty.
    pub fn provision(&self) -> Option<&str> {
        self.texts.provision.as_deref()
    }

    /// The command that makes a slot clean between two uses. May be empty.
    pub fn reset(&self) -> Option<&str> {
        self.texts.reset.as_deref()
    }

    /// The command that finds out whether a slot is usable. May be empty.
    pub fn health(&self) -> Option<&str> {
        self.texts.health.as_deref()
    }

    /// The command that is given a nudge on its standard input. May be empty.
    pub fn nudge_command(&self) -> Option<&str> {
        self.texts.nudge_command.as_deref()
    }

    /// The templates of a grant's environment, if the file has its own.
    pub fn grant_env_templates(&self) -> Option<&Object> {
        self.grant_env.as_ref()
    }

    /// The templates of a grant's extra fields.
    pub fn grant_fields_templates(&self) -> &Object {
        &self.grant_fields
    }

    /// The slots in the file's order; at least one.
    pub fn slots(&self) -> &[SlotDef] {
        &self.slots
    }

    /// The slot with this id, given as text.
    pub fn slot(&self, id_text: &str) -> Option<&SlotDef> {
        self.slots.iter().find(|slot| slot.id_text() == id_text)
    }

    /// The definition with its defaults filled in, except for what other layers have defaults for.
    pub fn to_json(&self) -> Json {
        let mut json = Object::new();
        json.insert("name", &self.name);
        json.insert("kindPrefix", &self.kind_prefix);
        json.insert("queueLockKind", &self.queue_lock_kind);
        json.insert("nudgeEvent", self.nudge_event());
        json.insert("shellPrefix", self.shell_prefix());
        insert_given(&mut json, "bookkeeper", self.bookkeeper());
        insert_given(&mut json, "ttlMinutes", self.numbers.ttl_minutes);
        insert_given(&mut json, "waiterStaleMs", self.numbers.waiter_stale_ms);
        insert_given(&mut json, "movingAvgSeedMs", self.numbers.moving_avg_seed_ms);
        json.insert("cwd", self.cwd.to_string_lossy().as_ref());
        let mut commands = Object::new();
        insert_given(&mut commands, "provision", self.provision());
        insert_given(&mut commands, "reset", self.reset());
        insert_given(&mut commands, "health", self.health());
        json.insert("commands", commands);
        insert_given(&mut json, "nudgeCommand", self.nudge_command());
        json.insert("grantEnv", self.grant_env.clone());
        json.insert("grantFields", self.grant_fields.clone());
        json.insert("slots", self.slots.iter().map(SlotDef::to_json).collect::<Vec<_>>());
        Json::Object(json)
    }

    /// What all users of the pool must agree on: name, queue lock, the slots with their attributes, and what a grant
    /// carries. Two files describe one pool alike if these are equal; commands, times and the order of slots or
    /// attributes may differ, for example between two branches. Written and read back it is still equal; an
    /// infinite number in it is `null`, as in every written document.
    pub fn describe(&self) -> Json {
        Json::parse(&self.description()).unwrap_or_default()
    }

    /// The text of that: keys in their order, and no document made for it, because every first grant of a process needs it.
    pub(super) fn description(&self) -> String {
        let mut slots: Vec<&SlotDef> = self.slots.iter().collect();
        slots.sort_by_key(|slot| slot.kind());
        let mut text = "{\"grantEnv\":".to_owned();
        match &self.grant_env {
            Some(templates) => push_sorted(&mut text, templates),
            None => text.push_str("null"),
        }
        text.push_str(",\"grantFields\":");
        push_sorted(&mut text, &self.grant_fields);
        text.push_str(",\"name\":");
        push_quoted(&mut text, &self.name);
        text.push_str(",\"queueLockKind\":");
        push_quoted(&mut text, &self.queue_lock_kind);
        text.push_str(",\"slots\":[");
        for (place, slot) in slots.into_iter().enumerate() {
            text.push_str(if place == 0 { "{\"attrs\":" } else { ",{\"attrs\":" });
            push_sorted(&mut text, slot.attrs());
            text.push_str(",\"id\":");
            match slot.id() {
                Json::String(id) => push_quoted(&mut text, id),
                _ => text.push_str(slot.id_text()),
            }
            text.push_str(",\"kind\":");
            push_quoted(&mut text, slot.kind());
            text.push('}');
        }
        text.push_str("]}");
        text
    }
}

fn push_sorted(text: &mut String, members: &Object) {
    if members.is_empty() {
        return text.push_str("{}");
    }
    text.push_str(&Json::Object(members.clone()).sorted().to_text());
}

fn insert_given(json: &mut Object, key: &str, value: Option<impl Into<Json>>) {
    if let Some(value) = value {
        json.insert(key, value);
    }
}

#[cfg(test)]
mod tests;
