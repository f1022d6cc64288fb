//! Why a slot could not be had, kept or given back.

use std::fmt;

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
}

/// Why a slot could not be had, kept or given back.
#[derive(Debug)]
pub struct SlotError {
    kind: SlotErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl SlotError {
    pub(crate) fn new(kind: SlotErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> SlotErrorKind {
        self.kind
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
