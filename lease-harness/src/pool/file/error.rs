//! Why a pool file cannot be used.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::json::{ParseError, plain_text};
use crate::sys::disk::errno_name;

/// What kind of failure a [`PoolFileError`] is. All of them are usage errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolFileErrorKind {
    /// The file cannot be read.
    Read,
    /// The file is no JSON.
    Syntax,
    /// Something in the file cannot be used.
    Invalid,
}

/// Why a pool file cannot be used. The message of [`PoolFileErrorKind::Invalid`] names the field and the value; the
/// file is told by [`path`](Self::path).
#[derive(Debug)]
pub struct PoolFileError {
    kind: PoolFileErrorKind,
    path: PathBuf,
    message: String,
    value: Option<String>,
    source: Option<io::Error>,
}

impl PoolFileError {
    pub(super) fn read(path: &Path, error: io::Error) -> Self {
        let code = errno_name(&error).map_or_else(|| error.to_string(), str::to_owned);
        let message = format!("cannot read pool file {}: {code}", path.display());
        Self { kind: PoolFileErrorKind::Read, path: path.to_owned(), message, value: None, source: Some(error) }
    }

    pub(super) fn syntax(path: &Path, error: &ParseError) -> Self {
        let message = format!("pool file {} is not valid JSON: {error}", path.display());
        Self { kind: PoolFileErrorKind::Syntax, path: path.to_owned(), message, value: None, source: None }
    }

    pub(super) fn invalid(path: &Path, message: &str, value: Option<String>) -> Self {
        let message = plain_text(message).into_owned();
        Self { kind: PoolFileErrorKind::Invalid, path: path.to_owned(), message, value, source: None }
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> PoolFileErrorKind {
        self.kind
    }

    /// The value that cannot be used, as JSON, where the message does not name it.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// The message with the file, and the value that cannot be used.
    #[must_use]
    pub fn full_message(&self) -> String {
        match (self.kind, &self.value) {
            (PoolFileErrorKind::Invalid, Some(value)) => format!("{}: {self} and is {value}", self.path.display()),
            (PoolFileErrorKind::Invalid, None) => format!("{}: {self}", self.path.display()),
            _ => self.to_string(),
        }
    }

    /// The pool file, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for PoolFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PoolFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}
