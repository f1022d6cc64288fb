//! The caller's environment: the process's own, or a fixed one for tests and embedders.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Where environment variables are read from, and what commands inherit.
#[derive(Clone, Debug, Default)]
pub enum Env {
    /// The process's environment at the time of each look.
    #[default]
    Process,
    /// These variables and no others.
    Fixed(BTreeMap<String, String>),
}

impl Env {
    /// A variable's value; an empty one counts as unset, and so does one that is no UTF-8.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match self {
            Self::Process => std::env::var(name).ok(),
            Self::Fixed(variables) => variables.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// All variables.
    pub(crate) fn all(&self) -> Vec<(OsString, OsString)> {
        match self {
            Self::Process => std::env::vars_os().collect(),
            Self::Fixed(variables) => variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        }
    }
}
