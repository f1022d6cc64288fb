//! Why a pool could not do what was asked.

use std::fmt;

use super::file::PoolFileError;
use crate::json::Json;
use crate::store::{StoreError, StoreErrorKind};
use crate::sys::disk::DiskError;

/// What kind of failure a [`PoolError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolErrorKind {
    /// Bad input: the pool file, an owner, a slot id, a lifetime.
    Usage,
    /// A slot was had and could not be made ready, or was lost meanwhile; [`PoolError::failure`] tells.
    NotReady,
    /// The store could not be used.
    Internal,
}

/// Why a pool could not do what was asked.
#[derive(Debug)]
pub struct PoolError {
    kind: PoolErrorKind,
    message: String,
    failure: Option<Box<Json>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl PoolError {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::of(PoolErrorKind::Usage, message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::of(PoolErrorKind::Internal, message)
    }

    pub(super) fn not_ready(message: impl Into<String>, failure: Json) -> Self {
        Self { failure: Some(Box::new(failure)), ..Self::of(PoolErrorKind::NotReady, message) }
    }

    fn of(kind: PoolErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), failure: None, source: None }
    }

    /// Adds what made it fail.
    pub(super) fn because(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(source)), ..self }
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> PoolErrorKind {
        self.kind
    }

    /// The recorded failure of the request, `{ok:false, state, request_id, slot_id, error, at}`.
    #[must_use]
    pub fn failure(&self) -> Option<&Json> {
        self.failure.as_deref()
    }
}

impl From<StoreError> for PoolError {
    fn from(error: StoreError) -> Self {
        let kind = match error.kind() {
            StoreErrorKind::Usage => PoolErrorKind::Usage,
            _ => PoolErrorKind::Internal,
        };
        let source = std::error::Error::source(&error).is_some();
        // An error that says all itself is not wrapped in one more sentence.
        if source {
            Self { source: Some(Box::new(error)), ..Self::of(kind, "the pool's store could not be used") }
        } else {
            Self::of(kind, error.to_string())
        }
    }
}

impl From<DiskError> for PoolError {
    fn from(error: DiskError) -> Self {
        StoreError::from(error).into()
    }
}

impl From<PoolFileError> for PoolError {
    fn from(error: PoolFileError) -> Self {
        Self { source: None, ..Self::usage(error.to_string()) }
    }
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PoolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|error| error as _)
    }
}

/// What a pool answers.
pub type PoolResult<T> = Result<T, PoolError>;
