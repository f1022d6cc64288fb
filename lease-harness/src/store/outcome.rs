//! What the operations answer, and the documents they print as.

use super::record::{Expiry, Found, Record};
use crate::json::{Json, Object};

/// What `acquire` answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Acquired {
    /// The lease is ours.
    Acquired {
        /// The lease's kind.
        kind: String,
        /// The lease as it was written.
        record: Record,
        /// What was taken over, if the place was not free: the dead lease, or a corrupt file.
        previous: Option<Found>,
    },
    /// Somebody holds it.
    Held {
        /// The lease's kind.
        kind: String,
        /// The lease that is in the way.
        record: Record,
        /// Whether its owner is the one who asked.
        held_by_self: bool,
        /// When it ends unless it is renewed.
        expiry: Expiry,
    },
}

/// What `heartbeat` answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Refreshed {
    /// The lease lives on.
    Refreshed {
        /// The lease's kind.
        kind: String,
        /// The lease as it was written.
        record: Record,
        /// When it ends unless it is renewed.
        expiry: Expiry,
    },
    /// There is no such lease.
    NotHeld {
        /// The lease's kind.
        kind: String,
    },
    /// It had expired, or is corrupt; it is not revived.
    Expired {
        /// The lease's kind.
        kind: String,
        /// What lies there.
        found: Found,
    },
    /// It belongs to another owner or carries another token.
    NotOwner {
        /// The lease's kind.
        kind: String,
        /// Who holds it.
        holder: Option<String>,
    },
}

/// What `release` answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Released {
    /// It is free now.
    Released {
        /// The lease's kind.
        kind: String,
        /// Whether it had expired before.
        was_expired: bool,
        /// What was removed.
        previous: Found,
    },
    /// There was none.
    NotHeld {
        /// The lease's kind.
        kind: String,
    },
    /// It belongs to another owner, or is corrupt.
    NotOwner {
        /// The lease's kind.
        kind: String,
        /// Who holds it.
        holder: Option<String>,
    },
    /// The owner is right and the token is not: it was taken over in between.
    TokenMismatch {
        /// The lease's kind.
        kind: String,
        /// Who holds it.
        holder: Option<String>,
    },
}

/// What `reap` answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Reaped {
    /// The dead lease is gone.
    Reaped {
        /// The lease's kind.
        kind: String,
        /// What was removed.
        previous: Found,
    },
    /// There was none.
    NotHeld {
        /// The lease's kind.
        kind: String,
    },
    /// It lives.
    Held {
        /// The lease's kind.
        kind: String,
        /// The lease.
        record: Record,
        /// When it ends unless it is renewed.
        expiry: Expiry,
    },
}

/// How a kind stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// Nobody holds it.
    Free {
        /// The lease's kind.
        kind: String,
    },
    /// Somebody holds it.
    Held {
        /// The lease's kind.
        kind: String,
        /// The lease.
        record: Record,
        /// When it ends unless it is renewed.
        expiry: Expiry,
    },
    /// Something lies there that holds nothing: expired, dead or corrupt.
    Unknown {
        /// The lease's kind.
        kind: String,
        /// What lies there.
        found: Found,
        /// For how many milliseconds it has been expired, where that can be told.
        expired_for_ms: Option<f64>,
    },
    /// A file whose name is no kind; never touched.
    Invalid {
        /// The file's stem.
        stem: String,
    },
}

/// What `reconcile` answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconciled {
    /// Live leases inside the fence.
    pub held: Vec<Status>,
    /// Dead leases that were removed.
    pub reaped: Vec<Reaped>,
    /// What is outside the fence or no lease; reported, never touched.
    pub foreign: Vec<Status>,
}

impl Status {
    /// The kind, or the stem of a file that is none.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Free { kind } | Self::Held { kind, .. } | Self::Unknown { kind, .. } => kind,
            Self::Invalid { stem } => stem,
        }
    }

    /// The word for the state: `free`, `held`, `unknown` or `invalid`.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self {
            Self::Free { .. } => "free",
            Self::Held { .. } => "held",
            Self::Unknown { .. } => "unknown",
            Self::Invalid { .. } => "invalid",
        }
    }

    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let answer = Answer::plain([("kind", Json::from(self.kind())), ("state", Json::from(self.state()))]);
        match self {
            Self::Free { .. } => answer.done(),
            Self::Held { record, expiry, .. } => {
                answer.with("holder", holder(record.owner())).with("record", record.to_json()).expiry(expiry).done()
            }
            Self::Unknown { kind, found, expired_for_ms } => {
                answer.with("record", found.to_json(kind)).with("expiredForMs", Json::from(*expired_for_ms)).done()
            }
            Self::Invalid { .. } => {
                answer.with("note", Json::from("filename is not a valid lease kind — reported, never touched")).done()
            }
        }
    }
}

impl Acquired {
    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Acquired { kind, record, previous } => {
                let answer = Answer::new(true, "acquired", kind).with("record", record.to_json());
                match previous {
                    None => answer.done(),
                    Some(found) => answer.with("tookOverExpired", Json::from(true)).with("previous", found.to_json(kind)).done(),
                }
            }
            Self::Held { kind, record, held_by_self, expiry } => Answer::new(false, "held", kind)
                .with("holder", holder(record.owner()))
                .with("heldBySelf", Json::from(*held_by_self))
                .with("record", record.to_json())
                .expiry(expiry)
                .done(),
        }
    }
}

impl Refreshed {
    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Refreshed { kind, record, expiry } => {
                Answer::new(true, "refreshed", kind).with("record", record.to_json()).expiry(expiry).done()
            }
            Self::NotHeld { kind } => Answer::new(false, "not_held", kind).done(),
            Self::Expired { kind, found } => Answer::new(false, "expired", kind).with("record", found.to_json(kind)).done(),
            Self::NotOwner { kind, holder: who } => {
                Answer::new(false, "not_owner", kind).with("holder", holder(who.as_deref())).done()
            }
        }
    }
}

impl Released {
    /// Whether nothing is held any more: released, or nothing was there.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Released { .. } | Self::NotHeld { .. })
    }

    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Released { kind, was_expired, .. } => Answer::new(true, "released", kind)
                .with("released", Json::from(true))
                .with("wasExpired", Json::from(*was_expired))
                .done(),
            Self::NotHeld { kind } => Answer::new(true, "not_held", kind).with("released", Json::from(false)).done(),
            Self::NotOwner { kind, holder: who } => {
                Answer::new(false, "not_owner", kind).with("holder", holder(who.as_deref())).done()
            }
            Self::TokenMismatch { kind, holder: who } => {
                Answer::new(false, "token_mismatch", kind).with("holder", holder(who.as_deref())).done()
            }
        }
    }
}

impl Reaped {
    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Reaped { kind, previous } => {
                Answer::new(true, "reaped", kind).with("reaped", Json::from(true)).with("previous", previous.to_json(kind)).done()
            }
            Self::NotHeld { kind } => Answer::new(true, "not_held", kind).with("reaped", Json::from(false)).done(),
            Self::Held { kind, record, expiry } => {
                Answer::new(false, "held", kind).with("holder", holder(record.owner())).expiry(expiry).done()
            }
        }
    }
}

impl Reconciled {
    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let statuses = |all: &[Status]| Json::Array(all.iter().map(Status::to_json).collect());
        Answer::plain([("ok", Json::from(true)), ("held", statuses(&self.held))])
            .with("reaped", Json::Array(self.reaped.iter().map(Reaped::to_json).collect()))
            .with("foreign", statuses(&self.foreign))
            .done()
    }
}

fn holder(owner: Option<&str>) -> Json {
    Json::from(owner)
}

/// A document being built.
struct Answer(Object);

impl Answer {
    fn new(ok: bool, code: &str, kind: &str) -> Self {
        Self::plain([("ok", Json::from(ok)), ("code", Json::from(code))]).with("kind", Json::from(kind))
    }

    fn plain(members: [(&str, Json); 2]) -> Self {
        Self(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    fn with(mut self, key: &str, value: Json) -> Self {
        self.0.insert(key, value);
        self
    }

    fn expiry(self, expiry: &Expiry) -> Self {
        self.with("expiresAt", expiry.at_json()).with("expiresInMs", expiry.in_json())
    }

    fn done(self) -> Json {
        Json::Object(self.0)
    }
}
