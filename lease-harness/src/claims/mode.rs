//! How a resource is wanted.

use std::fmt;
use std::str::FromStr;

/// How a resource is wanted; a later mode is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Shared: together with every other reader.
    Read,
    /// Alone.
    Write,
    /// Alone. It excludes what [`Mode::Write`] excludes; the word says that nothing need be written.
    Exclusive,
}

/// A word that is no mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMode(String);

impl Mode {
    /// The word in records and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Exclusive => "exclusive",
        }
    }

    pub(super) fn is_shared(self) -> bool {
        self == Self::Read
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [Self::Read, Self::Write, Self::Exclusive];
        all.into_iter().find(|mode| mode.as_str() == text).ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no mode of a claim: it is read, write or exclusive", self.0)
    }
}

impl std::error::Error for UnknownMode {}
