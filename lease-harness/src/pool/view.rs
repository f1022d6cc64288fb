//! How a pool stands, as plain values. Takes no lock and changes nothing.

use std::path::PathBuf;

use super::error::PoolResult;
use super::{Pool, eta};
use crate::json::{Json, object};
use crate::store::{Status, Vital};

/// How a pool stands.
#[derive(Clone, Debug)]
pub struct PoolStatus {
    /// The store's directory.
    pub store: PathBuf,
    /// The pool's directory in it.
    pub pool_dir: PathBuf,
    /// The slots, in the order of the pool file.
    pub slots: Vec<SlotStatus>,
    /// Who waits, first in line first.
    pub queue: Vec<QueuedStatus>,
    /// How long slots were held lately, on average, in milliseconds.
    pub moving_avg_ms: f64,
}

/// How a slot stands.
#[derive(Clone, Debug)]
pub struct SlotStatus {
    /// The slot's id, as text.
    pub slot_id: String,
    /// Its lease's kind.
    pub kind: String,
    /// `free`, `held`, or `unknown` for a lease that binds nobody any more.
    pub state: String,
    /// Who holds it.
    pub holder: Option<String>,
    /// What its holder said it is for.
    pub session: Option<String>,
    /// When it was acquired, as text.
    pub since: Option<String>,
    /// When its lease ends unless it is renewed, as text.
    pub expires_at: Option<String>,
    /// Whether its holder provably lives; `None` if that cannot be told.
    pub alive: Option<bool>,
    id: Json,
    attrs: Json,
}

/// How a waiter stands.
#[derive(Clone, Debug)]
pub struct QueuedStatus {
    /// The request.
    pub request_id: String,
    /// Who waits.
    pub owner: String,
    /// What for.
    pub session: String,
    /// `blocking` or `async`.
    pub mode: String,
    /// Its place, from 1.
    pub position: usize,
    /// About how long it will wait, in milliseconds.
    pub eta_ms: f64,
    /// Since when it waits, as text.
    pub enqueued_at: String,
    members: [Json; 4],
}

impl PoolStatus {
    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        object([
            ("ok", Json::from(true)),
            ("store", Json::from(self.store.display().to_string())),
            ("poolDir", Json::from(self.pool_dir.display().to_string())),
            ("slots", Json::Array(self.slots.iter().map(SlotStatus::to_json).collect())),
            ("queue", Json::Array(self.queue.iter().map(QueuedStatus::to_json).collect())),
            ("movingAvgMs", Json::from(self.moving_avg_ms)),
        ])
    }
}

impl SlotStatus {
    fn to_json(&self) -> Json {
        object([
            ("slot_id", self.id.clone()),
            ("kind", Json::from(&self.kind)),
            ("attrs", self.attrs.clone()),
            ("state", Json::from(&self.state)),
            ("holder", Json::from(self.holder.as_deref())),
            ("expiresAt", Json::from(self.expires_at.as_deref())),
        ])
    }
}

impl QueuedStatus {
    fn to_json(&self) -> Json {
        let [owner, session, mode, enqueued_at] = self.members.clone();
        object([
            ("request_id", Json::from(&self.request_id)),
            ("owner", owner),
            ("session", session),
            ("mode", mode),
            ("position", Json::from(self.position)),
            ("etaMs", Json::from(self.eta_ms)),
            ("enqueuedAt", enqueued_at),
        ])
    }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_text(), str::to_owned)
}

impl Pool {
    /// How the pool stands.
    ///
    /// # Errors
    /// When a record or the queue cannot be read: what is held is then not known.
    pub fn status(&self) -> PoolResult<PoolStatus> {
        let average = self.moving_avg_ms()?;
        let waiting = self.waiting(self.store.now_ms())?;
        let queue = waiting.iter().enumerate().map(|(place, entry)| {
            let members = ["owner", "session", "mode", "enqueuedAt"].map(|key| entry.member(key));
            QueuedStatus {
                request_id: entry.id().to_owned(),
                owner: text_of(&members[0]),
                session: text_of(&members[1]),
                mode: text_of(&members[2]),
                position: place + 1,
                eta_ms: eta::wait_ms(place + 1, average),
                enqueued_at: text_of(&members[3]),
                members,
            }
        });
        Ok(PoolStatus {
            store: self.store.dir().to_owned(),
            pool_dir: self.dir(),
            slots: self.file.slots().iter().map(|slot| self.slot_status(slot)).collect::<PoolResult<_>>()?,
            queue: queue.collect(),
            moving_avg_ms: average,
        })
    }

    fn slot_status(&self, slot: &super::SlotDef) -> PoolResult<SlotStatus> {
        let status = self.store.status(slot.kind())?;
        let mut shown = SlotStatus {
            slot_id: slot.id_text().to_owned(),
            kind: slot.kind().to_owned(),
            state: status.state().to_owned(),
            holder: None,
            session: None,
            since: None,
            expires_at: None,
            alive: None,
            id: slot.id().clone(),
            attrs: Json::from(slot.attrs().clone()),
        };
        if let Status::Held { record, expiry, .. } = &status {
            let document = record.to_json();
            shown.holder = record.owner().map(str::to_owned);
            shown.session = record.payload().get("session").and_then(Json::as_str).map(str::to_owned);
            shown.since = document.get("acquiredAt").and_then(Json::as_str).map(str::to_owned);
            shown.expires_at = expiry.at_json().into_string();
            shown.alive = match self.store.vital(record.alive()) {
                Vital::Alive { .. } => Some(true),
                Vital::Dead(_) => Some(false),
                Vital::Unknown => None,
            };
        }
        Ok(shown)
    }
}
