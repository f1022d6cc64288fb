//! Why the store could not answer.

use std::fmt;

use crate::sys::disk::DiskError;

/// What kind of failure a [`StoreError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// An argument is not acceptable: kind, owner, TTL, pattern, location.
    Usage,
    /// Somebody stayed in a critical section for longer than we wait.
    Busy,
    /// The directory could not be read or written; what is held is not known.
    Disk,
}

/// Why the store could not answer. A refusal (held, not owner) is an outcome, not an error.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
    source: Option<DiskError>,
}

impl StoreError {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { kind: StoreErrorKind::Usage, message: message.into(), source: None }
    }

    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self { kind: StoreErrorKind::Busy, message: message.into(), source: None }
    }

    pub(crate) fn damaged(message: impl Into<String>) -> Self {
        Self { kind: StoreErrorKind::Disk, message: message.into(), source: None }
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl From<DiskError> for StoreError {
    fn from(error: DiskError) -> Self {
        Self { kind: StoreErrorKind::Disk, message: "the lease store is not usable".into(), source: Some(error) }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// What the store answers.
pub type StoreResult<T> = Result<T, StoreError>;

/// An error and what caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
