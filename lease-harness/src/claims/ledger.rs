//! What others are told: an event for each lease, a mark that something changed, a signal that wakes.
//!
//! All of it is told after it has happened. A full disk may cost an event, never a lease.

use std::path::{Path, PathBuf};

use super::error::ClaimsResult;
use super::key::ResourceKey;
use super::lease::{ClaimLease, Visibility};
use super::record::{number, whole};
use crate::json::{Json, Object, object};
use crate::store::iso;
use crate::sys::disk;

/// From this size on, in bytes, the ledger begins anew; the one before is kept.
const LONGEST: u64 = 1024 * 1024;

/// What an operation leaves for others to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traces {
    /// A line in the ledger for each lease.
    pub events: bool,
    /// A mark for whoever shows the state.
    pub mark: bool,
    /// A signal for whoever schedules.
    pub wake: bool,
}

impl From<Visibility> for Traces {
    fn from(visibility: Visibility) -> Self {
        let all = visibility == Visibility::Durable;
        Self { events: all, mark: all, wake: all }
    }
}

/// The ledger of a scope, and the signal of its store.
pub(super) struct Ledger {
    events: PathBuf,
    before: PathBuf,
    mark: PathBuf,
    wake: PathBuf,
}

impl Ledger {
    pub(super) fn new(claims: &Path, scope: &Path) -> Self {
        Self {
            events: scope.join("events.jsonl"),
            before: scope.join("events.1.jsonl"),
            mark: scope.join("dirty.json"),
            wake: claims.join("wake.json"),
        }
    }

    /// Notes what happened to leases, each with what else there is to say of it; whether it could be.
    pub(super) fn note(&self, event: &str, leases: Vec<(&ClaimLease, Object)>, now_ms: i64) -> bool {
        let lines: Vec<_> = leases.into_iter().map(|(lease, more)| line(event, lease, more, now_ms)).collect();
        let is_told = disk::append_line(&self.events, &lines.join("\n")).is_ok();
        if is_told && disk::size_of(&self.events).is_some_and(|size| LONGEST < size) {
            let _ = disk::rename(&self.events, &self.before);
        }
        is_told
    }

    /// Marks the scope, if it is not marked already; whether it is marked now.
    pub(super) fn mark(&self, reason: &str, now_ms: i64) -> bool {
        if matches!(disk::read(&self.mark), Ok(Some(_))) {
            return true;
        }
        let mark = object([
            ("reason", Json::from(reason)),
            ("refreshStatus", Json::from("pending")),
            ("refreshAttempt", Json::Number(0.0)),
            ("markedAt", Json::from(iso(now_ms))),
        ]);
        disk::replace_beside(&self.mark, mark.to_text().as_bytes()).is_ok()
    }

    /// Wakes whoever looks at the signal. One that cannot be read goes on from the time, which is larger than every number
    /// that was told. Whether it could be written.
    pub(super) fn wake(&self, reason: &str, now_ms: i64) -> bool {
        let revision = match disk::read(&self.wake) {
            Ok(None) => Some(0),
            Ok(Some(bytes)) => Json::parse_bytes(&bytes).ok().and_then(|signal| signal.get("revision").and_then(whole)),
            Err(_) => None,
        };
        let revision = revision.unwrap_or_else(|| u64::try_from(now_ms).unwrap_or_default()) + 1;
        let signal = object([("revision", number(revision)), ("reason", Json::from(reason))]);
        disk::replace_beside(&self.wake, signal.to_text().as_bytes()).is_ok()
    }

    /// The largest token of a resource that an event shows, however it was spelled there.
    pub(super) fn largest_token(&self, key: &ResourceKey) -> ClaimsResult<u64> {
        let mut largest = 0;
        for path in [&self.before, &self.events] {
            let bytes = disk::read(path)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            // Reading all of it as JSON would take long; what follows the kind of resource is in every spelling.
            let rest = key.as_str().split_once(':').map_or(key.as_str(), |(_, rest)| rest);
            let needle = Json::from(rest).to_text();
            for event in
                text.lines().filter(|line| line.contains(needle.trim_matches('"'))).filter_map(|line| Json::parse(line).ok())
            {
                let shown = event.get("data").and_then(|data| data.get("resourceKey")).and_then(Json::as_str);
                let token = event.get("revision").and_then(whole);
                if shown.and_then(ResourceKey::new).as_ref() == Some(key) {
                    largest = largest.max(token.unwrap_or_default());
                }
            }
        }
        Ok(largest)
    }
}

fn line(event: &str, lease: &ClaimLease, more: Object, now_ms: i64) -> String {
    let mut data = Object::new();
    data.insert("resourceKey", lease.resource_key.as_str());
    data.insert("mode", lease.mode.as_str());
    for (name, value) in more {
        data.insert(name, value);
    }
    data.insert("visibility", lease.visibility.as_str());
    let event = object([
        ("at", Json::from(iso(now_ms))),
        ("eventType", Json::from(event)),
        ("entityType", Json::from("lease")),
        ("entityId", Json::from(lease.id.as_str())),
        ("requestId", Json::from(lease.owner.as_str())),
        ("correlationId", Json::from(lease.owner.as_str())),
        ("revision", number(lease.token)),
        ("data", Json::Object(data)),
    ]);
    event.to_text()
}
