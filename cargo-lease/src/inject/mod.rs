//! How our runner gets in front of each test binary: words added to the wrapped command line.
//!
//! Everything here is a function from what was typed and configured to words; nothing is started but those that are asked
//! what cargo alone, or the compiler, can tell.

mod asked;
mod cargo_config;
mod groups;
mod list_words;
mod nextest_config;
mod runner_config;

use std::ffi::{OsStr, OsString};

pub(crate) use asked::Asked;
pub(crate) use cargo_config::{AskedHost, CargoConfig, may_be_alias};
pub(crate) use groups::{Group, Supply, TestId, groups};
pub(crate) use list_words::{NoList, list_words, takes_value};
pub(crate) use nextest_config::{TestGroup, filter_of, group_name, scripts_without_runner, tool_config};
pub(crate) use runner_config::runner_words;

/// The words of a wrapped command line that belong to cargo or nextest: those before its first `--`.
pub(crate) struct OwnWords<'a> {
    words: &'a [OsString],
}

impl<'a> OwnWords<'a> {
    pub(crate) fn new(words: &'a [OsString]) -> Self {
        Self { words: &words[..dashes(words)] }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a OsString> {
        self.words.iter()
    }

    pub(crate) fn has(&self, flags: &[&str]) -> bool {
        self.words.iter().any(|word| flags.iter().any(|flag| word == flag))
    }

    /// The values of an option, given as `--name V`, `--name=V`, `-n V`, `-n=V` or `-nV`.
    pub(crate) fn values(&self, names: &[&str]) -> Vec<OsString> {
        let mut values = Vec::new();
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            if names.iter().any(|name| word == name) {
                values.extend(words.next().cloned());
            } else if let Some(value) = names.iter().find_map(|name| attached(word, name)) {
                values.push(value.into());
            }
        }
        values
    }

    /// The same, as far as they are UTF-8.
    pub(crate) fn texts(&self, names: &[&str]) -> Vec<String> {
        self.values(names).into_iter().filter_map(|value| value.into_string().ok()).collect()
    }

    /// The place of the first word that is neither an option nor the value of one.
    pub(crate) fn first_free(&self, takes_value: impl Fn(&OsStr) -> bool) -> Option<usize> {
        let mut at = 0;
        while let Some(word) = self.words.get(at) {
            if !word.as_encoded_bytes().starts_with(b"-") {
                return Some(at);
            }
            at += if takes_value(word) { 2 } else { 1 };
        }
        None
    }
}

fn attached<'a>(word: &'a OsStr, name: &str) -> Option<&'a str> {
    let rest = word.to_str()?.strip_prefix(name)?;
    match rest.strip_prefix('=') {
        Some(value) => Some(value),
        None => (!name.starts_with("--") && !rest.is_empty()).then_some(rest),
    }
}

/// Leaves out options of cargo's or nextest's, some with a value and some without.
pub(crate) fn without(words: &[OsString], with_value: &[&str], flags: &[&str]) -> Vec<OsString> {
    let (own, rest) = words.split_at(dashes(words));
    let mut kept = Vec::new();
    let mut own = own.iter();
    while let Some(word) = own.next() {
        if with_value.iter().any(|name| word == name) {
            own.next();
        } else if !flags.iter().any(|name| word == name) && with_value.iter().all(|name| attached(word, name).is_none()) {
            kept.push(word.clone());
        }
    }
    kept.extend(rest.iter().cloned());
    kept
}

/// Puts words at the end of what belongs to cargo or nextest.
pub(crate) fn append(words: &[OsString], ours: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (own, rest) = words.split_at(dashes(words));
    own.iter().cloned().chain(ours).chain(rest.iter().cloned()).collect()
}

fn dashes(words: &[OsString]) -> usize {
    words.iter().position(|word| word == "--").unwrap_or(words.len())
}

#[cfg(test)]
mod tests;
