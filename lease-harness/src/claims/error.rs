//! Why an operation on claims failed.

use std::fmt;
use std::path::Path;

use super::refusal::Refusal;
use crate::store::StoreError;

/// Why an operation failed. Nothing was granted, renewed or given back then.
#[derive(Debug)]
pub enum ClaimsError {
    /// The rules refuse it.
    Refused(Refusal),
    /// The store could not be read or written, or a place in it is not as it should be; what is held is not known.
    Store(StoreError),
    /// A file is damaged. What cannot be read counts as held, and a number that cannot be read is not guessed.
    Damaged(Refusal),
}

impl ClaimsError {
    /// For programs, such as `FENCING_TOKEN_STALE`.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Refused(refusal) | Self::Damaged(refusal) => refusal.code(),
            Self::Store(_) => "STORE_UNUSABLE",
        }
    }

    /// Whether the rules refuse what could be asked for, and not how it was asked.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(refusal) if !WRONG_USE.contains(&refusal.code()))
    }

    /// A damaged record, or a damaged counter.
    pub(super) fn damaged(code: &'static str, path: &Path, what: impl fmt::Display) -> Self {
        Self::Damaged(Refusal::new(code, format!("{}: {what}", path.display())))
    }
}

/// Codes of what is wrong whatever others hold.
const WRONG_USE: [&str; 2] = ["ID_INVALID", "LEASE_TTL_INVALID"];
/// A file that holds leases.
pub(super) const RECORD_CORRUPT: &str = "RECORD_CORRUPT";
/// A file that holds fencing tokens.
pub(super) const COUNTER_CORRUPT: &str = "COUNTER_CORRUPT";

impl From<Refusal> for ClaimsError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl<E: Into<StoreError>> From<E> for ClaimsError {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

impl fmt::Display for ClaimsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) | Self::Damaged(refusal) => refusal.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ClaimsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(_) | Self::Damaged(_) => None,
            Self::Store(error) => error.source(),
        }
    }
}

/// What an operation on claims answers.
pub type ClaimsResult<T> = Result<T, ClaimsError>;
