//! Why a slot could not be had, kept or given back.

use std::fmt;

use super::times::{as_written, minutes};
#[cfg(feature = "claims")]
use crate::claims::ClaimsError;
use crate::json::Json;
use crate::pool::{Outcome, PoolError, PoolErrorKind};
use crate::store::{StoreError, StoreErrorKind};

/// What kind of failure a [`SlotError`] is; the command line maps each to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotErrorKind {
    /// Bad input: pool file, owner, option (exit code 2).
    Usage,
    /// A legitimate no: saturated, timed out, provision or health failed (exit code 1).
    Refused,
    /// Something that should not happen: unreadable store, full disk (exit code 3).
    Internal,
    /// The lease was lost (exit code 75).
    Lost,
    /// A signal ended the wait; [`SlotError::signal`] tells which.
    Interrupted,
}

/// Why a slot could not be had, kept or given back.
#[derive(Debug)]
pub struct SlotError {
    kind: SlotErrorKind,
    message: String,
    answer: Option<Box<Json>>,
    signal: Option<i32>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl SlotError {
    pub(crate) fn new(kind: SlotErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), answer: None, signal: None, source: None }
    }

    pub(super) fn interrupted(signal: i32) -> Self {
        Self { signal: Some(signal), ..Self::new(SlotErrorKind::Interrupted, format!("interrupted by signal {signal}")) }
    }

    /// Puts in front what it means to who asked.
    pub(super) fn about(self, meaning: &str) -> Self {
        Self { message: format!("{meaning}: {}", self.message), ..self }
    }

    /// Adds what made it fail.
    pub(super) fn because(mut self, error: &dyn std::error::Error) -> Self {
        self.source = Some(Behind::of(error).into());
        self
    }

    /// Adds a chain of causes, the nearest first.
    pub(super) fn because_of(mut self, causes: impl DoubleEndedIterator<Item = String>) -> Self {
        let chained = causes.rev().fold(None, |source, message| Some(Box::new(Behind { message, source })));
        self.source = chained.map(Into::into);
        self
    }

    /// The refusal of a pool, as an error for people and as the document of the format.
    pub(super) fn refused(pool: &str, outcome: &Outcome) -> Self {
        let message = match outcome {
            Outcome::Saturated { position, eta_ms } => {
                format!("pool {pool} is saturated: no slot is free, we would wait at place {position}, {}", minutes(*eta_ms))
            }
            Outcome::TimedOut { position, eta_ms, waited_ms, .. } => format!(
                "no slot of pool {pool} within {}: still at place {position}, {} to go",
                as_written(*waited_ms),
                minutes(*eta_ms)
            ),
            Outcome::EntryLost { .. } => {
                format!("our place in the queue of pool {pool} was taken away; was this process suspended? run it again")
            }
            Outcome::Standoff { .. } => format!(
                "whoever holds a slot of pool {pool} waits for a slot that this process is already under (LEASE_GRANTS), so neither \
                 would ever go on: pools are taken in the order of their names, so take an outer lease of pool {pool}, or none"
            ),
            Outcome::Cancelled { .. } | Outcome::Granted(_) => format!("the wait for a slot of pool {pool} was ended"),
        };
        Self { answer: Some(Box::new(outcome.to_json())), ..Self::new(SlotErrorKind::Refused, message) }
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> SlotErrorKind {
        self.kind
    }

    /// The refusal as the format's document, where there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&Json> {
        self.answer.as_deref()
    }

    /// The signal that ended the wait.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        self.signal
    }
}

impl From<PoolError> for SlotError {
    fn from(error: PoolError) -> Self {
        let kind = match error.kind() {
            PoolErrorKind::Usage => SlotErrorKind::Usage,
            PoolErrorKind::NotReady => SlotErrorKind::Refused,
            PoolErrorKind::Internal => SlotErrorKind::Internal,
        };
        let answer = error.failure().cloned().map(Box::new);
        Self { answer, ..Self::wrap(kind, error) }
    }
}

#[cfg(feature = "claims")]
impl From<ClaimsError> for SlotError {
    fn from(error: ClaimsError) -> Self {
        let kind = match &error {
            error if error.is_refusal() => SlotErrorKind::Refused,
            ClaimsError::Refused(_) => SlotErrorKind::Usage,
            ClaimsError::Store(_) | ClaimsError::Damaged(_) => SlotErrorKind::Internal,
        };
        Self::wrap(kind, error)
    }
}

impl From<StoreError> for SlotError {
    fn from(error: StoreError) -> Self {
        let kind = match error.kind() {
            StoreErrorKind::Usage => SlotErrorKind::Usage,
            StoreErrorKind::Busy | StoreErrorKind::Disk => SlotErrorKind::Internal,
        };
        Self::wrap(kind, error)
    }
}

impl SlotError {
    /// Says what the inner error says, and keeps what is behind it as the source.
    fn wrap(kind: SlotErrorKind, error: impl std::error::Error) -> Self {
        let mut wrapped = Self::new(kind, error.to_string());
        wrapped.source = error.source().map(|source| Behind::of(source).into());
        wrapped
    }
}

/// A chain of causes, kept as texts: the layers below do not hand their errors out.
#[derive(Debug)]
struct Behind {
    message: String,
    source: Option<Box<Behind>>,
}

impl Behind {
    fn of(error: &dyn std::error::Error) -> Box<Self> {
        Box::new(Self { message: error.to_string(), source: error.source().map(Self::of) })
    }
}

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Behind {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl fmt::Display for SlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SlotError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
