//! The record of one lease, and when it has expired. Pure: the time comes as an argument.

use super::date;
use crate::json::{Json, Object};

/// Format version of the records we write.
const VERSION: i64 = 1;

/// A lease as its file tells it. Keys that we do not know are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    members: Object,
}

/// When a lease ends; `None` where the record's own values reach beyond every date.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expiry {
    /// Milliseconds since 1970.
    pub at_ms: Option<f64>,
    /// Milliseconds from the time of asking; negative when past.
    pub in_ms: Option<f64>,
}

impl Record {
    /// Keys of ours in a payload, which other programs keep: the holder's proof of life,
    pub(super) const ALIVE: &str = "alive";
    /// when its owner took over a lease that was granted to somebody who was not there,
    pub(super) const CLAIMED_AT: &str = "claimedAt";
    /// and when its owner gave it up before it was granted.
    pub(super) const CANCELLED_AT: &str = "cancelledAt";

    pub(super) fn new(kind: &str, owner: &str, token: &str, ttl_minutes: f64, payload: Json, now: &str) -> Self {
        let mut members = Object::new();
        members.insert("v", Json::from(VERSION));
        members.insert("kind", Json::from(kind));
        members.insert("owner", Json::from(owner));
        members.insert("token", Json::from(token));
        members.insert("heartbeat", Json::from(now));
        members.insert("ttlMinutes", Json::from(ttl_minutes));
        members.insert("payload", payload);
        members.insert("acquiredAt", Json::from(now));
        Self { members }
    }

    /// The owner, if the record names one as text.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.text("owner")
    }

    /// The token, if the record has one as text.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.text("token")
    }

    /// When it was acquired, in milliseconds since 1970, if that is a date.
    #[must_use]
    pub fn acquired_at_ms(&self) -> Option<f64> {
        self.text("acquiredAt").and_then(date::parse)
    }

    /// Its lifetime in minutes, if that is a positive number.
    #[must_use]
    pub fn ttl_minutes(&self) -> Option<f64> {
        self.members.get("ttlMinutes").and_then(Json::as_f64).filter(|minutes| *minutes > 0.0)
    }

    /// What its holder attached to it.
    #[must_use]
    pub fn payload(&self) -> &Json {
        const NONE: &Json = &Json::Null;
        self.members.get("payload").unwrap_or(NONE)
    }

    /// The id of its holder's proof of life, if it names one.
    #[must_use]
    pub fn alive(&self) -> Option<&str> {
        self.payload().get(Self::ALIVE).and_then(Json::as_str)
    }

    /// Whether its owner knows of it, if it was granted to somebody who was not there.
    pub(crate) fn is_claimed(&self) -> bool {
        self.payload().get(Self::CLAIMED_AT).is_some()
    }

    /// Whether its owner gave it up before it was granted.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.payload().get(Self::CANCELLED_AT).is_some()
    }

    /// The fence number of the grant, if it names one.
    #[must_use]
    pub fn fence(&self) -> Option<u64> {
        let number = self.payload().get("fence").and_then(Json::as_f64)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a whole number in range")]
        (number >= 0.0 && number.fract() == 0.0 && number <= 9_007_199_254_740_991.0).then_some(number as u64)
    }

    /// The document.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::Object(self.members.clone())
    }

    pub(super) fn to_file_text(&self) -> String {
        let mut text = self.members.to_pretty();
        text.push('\n');
        text
    }

    pub(super) fn refresh(&mut self, now: &str) {
        self.members.insert("heartbeat", Json::from(now));
    }

    /// The heartbeat as it stands.
    pub(crate) fn heartbeat(&self) -> Option<&str> {
        self.text("heartbeat")
    }

    /// Changes one key of a payload that is an object; any other payload has no place for it.
    pub(super) fn set_in_payload(&mut self, key: &str, value: Option<Json>) {
        let Some(Json::Object(payload)) = self.members.get_mut("payload") else { return };
        match value {
            Some(value) => drop(payload.insert(key, value)),
            None => drop(payload.remove(key)),
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.members.get(key).and_then(Json::as_str)
    }

    fn heartbeat_ms(&self) -> Option<f64> {
        self.text("heartbeat").and_then(date::parse)
    }

    /// Whether its time has run out by what it says itself.
    #[must_use]
    pub fn is_expired(&self, now_ms: i64) -> bool {
        match (self.heartbeat_ms(), self.ttl_minutes()) {
            (Some(heartbeat), Some(minutes)) => to_f64(now_ms) - heartbeat > minutes * 60_000.0,
            _ => true,
        }
    }

    /// For how long it has been expired by what it says itself; a lifetime that is no number counts as JavaScript counts it.
    pub(super) fn expired_for_ms(&self, now_ms: i64) -> Option<f64> {
        let minutes = match self.members.get("ttlMinutes")? {
            Json::Number(minutes) => *minutes,
            Json::Bool(value) => f64::from(u8::from(*value)),
            Json::Null => 0.0,
            _ => return None,
        };
        let expired_for = to_f64(now_ms) - self.heartbeat_ms()? - minutes * 60_000.0;
        expired_for.is_finite().then_some(expired_for)
    }

    /// When its time runs out by what it says itself.
    #[must_use]
    pub fn expiry(&self, now_ms: i64) -> Expiry {
        let end = self.heartbeat_ms().zip(self.ttl_minutes()).map(|(heartbeat, minutes)| heartbeat + minutes * 60_000.0);
        let at_ms = end.filter(|end| date::iso(*end).is_some());
        Expiry { at_ms, in_ms: at_ms.map(|at| at - to_f64(now_ms)) }
    }
}

impl Expiry {
    /// The end as text, or `null`.
    #[must_use]
    pub fn at_json(&self) -> Json {
        Json::from(self.at_ms.and_then(date::iso))
    }

    pub(super) fn in_json(&self) -> Json {
        Json::from(self.in_ms)
    }
}

#[expect(clippy::cast_precision_loss, reason = "JavaScript counts in doubles, and dates end before 2^53")]
pub(crate) fn to_f64(ms: i64) -> f64 {
    ms as f64
}

/// What lies in the place of a lease.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Nothing.
    Free,
    /// A file that is no JSON object; its text.
    Corrupt(String),
    /// A lease, alive or not.
    Lease(Record),
}

impl Found {
    pub(super) fn from_bytes(bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else { return Self::Free };
        match Json::parse_bytes(bytes).ok().and_then(Json::into_object) {
            Some(members) => Self::Lease(Record { members }),
            None => Self::Corrupt(String::from_utf8_lossy(bytes).into_owned()),
        }
    }

    /// The lease's document, or what is shown for a corrupt one.
    pub(crate) fn to_json(&self, kind: &str) -> Json {
        match self {
            Self::Free => Json::Null,
            Self::Lease(record) => record.to_json(),
            Self::Corrupt(raw) => {
                let mut shown = Object::new();
                shown.insert("corrupt", Json::from(true));
                shown.insert("kind", Json::from(kind));
                shown.insert("raw", Json::from(raw.as_str()));
                Json::Object(shown)
            }
        }
    }
}
