//! Which of nextest's commands a command line has.

use super::super::cargo::Wrapping;
use crate::inject::takes_value;

/// A command of nextest's that runs tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TestCommand {
    /// Where it stands among the words.
    pub(super) at: usize,
    pub(super) verb: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Run,
    /// Benchmarks run one after another.
    Bench,
}

impl TestCommand {
    const WORDS: [(&str, Verb); 4] = [("run", Verb::Run), ("r", Verb::Run), ("bench", Verb::Bench), ("b", Verb::Bench)];

    /// The one in this command line, if it has one and does not only ask about it.
    pub(super) fn find(wrapping: &Wrapping<'_>) -> Option<Self> {
        let at = wrapping.own_words().first_free(takes_value)?;
        let (_, verb) = Self::WORDS.into_iter().find(|(known, _)| wrapping.words[at] == *known)?;
        (!wrapping.only_asks()).then_some(Self { at, verb })
    }
}
