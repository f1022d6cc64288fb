//! Why an operation on claims was refused.

use std::fmt;

/// Another writer has taken over. What follows is the action and the reason, without a blank.
pub(super) const WRITER_FENCED: &str = "WRITER_FENCED";

/// Why an operation was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    code: &'static str,
    about: String,
}

impl Refusal {
    pub(super) fn new(code: &'static str, about: impl Into<String>) -> Self {
        Self { code, about: about.into() }
    }

    /// For programs, such as `FENCING_TOKEN_STALE`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.about.as_str() {
            "" => f.write_str(self.code),
            about if self.code == WRITER_FENCED => write!(f, "{}:{about}", self.code),
            about => write!(f, "{}: {about}", self.code),
        }
    }
}

impl std::error::Error for Refusal {}
