//! What came out of a run, in the words of the table.

use std::collections::BTreeSet;

/// The forms of the package, in the order of the table's columns.
pub(crate) const FORMS: [&str; 6] = ["plain", "slot", "process", "several", "trial", "guard"];

/// What one test saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) form: String,
    pub(crate) test: String,
    pid: u32,
    /// Whether its process was started under a grant.
    pub(crate) is_outer: bool,
    pub(crate) tokens: Vec<String>,
}

impl Seen {
    /// A line of the log.
    pub(crate) fn parse(line: &str) -> Self {
        let [form, test, pid, is_outer, tokens] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("not a line: {line:?}") };
        let tokens = tokens.split(',').filter(|token| *token != "-").map(str::to_owned).collect();
        let (pid, is_outer) = (pid.parse().expect("a process id"), is_outer.parse().expect("true or false"));
        Self { form: form.to_owned(), test: test.to_owned(), pid, is_outer, tokens }
    }
}

/// What the tests of one form did for a slot, among all of a run: the words of a cell.
pub(crate) fn cell(seen: &[&Seen], all: &[Seen]) -> String {
    let Some(one) = seen.first() else { return "did not run".to_owned() };
    let kind = match (one.tokens.is_empty(), one.is_outer, one.tokens.len()) {
        (true, ..) => {
            return if seen.iter().all(|seen| seen.tokens.is_empty()) { "none" } else { "none, and others have" }.to_owned();
        }
        (false, false, _) => "takes",
        (false, true, 1) => "joins",
        (false, true, _) => "joins and takes",
    };
    assert!(seen.iter().all(|other| other.is_outer == one.is_outer), "started in one way: {seen:?}");
    let others: BTreeSet<_> = seen.iter().filter_map(|seen| seen.tokens.get(1)).collect();
    assert!(others.is_empty() || others.len() == seen.len(), "of the other pool each has its own: {seen:?}");
    match scope(seen, all) {
        Some(scope) => format!("{kind}, {scope}"),
        None => kind.to_owned(),
    }
}

/// Whom a slot is for; one test alone does not show it.
fn scope(seen: &[&Seen], all: &[Seen]) -> Option<&'static str> {
    // The first of several is the one that can be joined.
    let tokens: BTreeSet<_> = seen.iter().map(|seen| &seen.tokens[0]).collect();
    let is_one_of_them = |seen: &&Seen| seen.tokens.first().is_some_and(|token| tokens.contains(token));
    let pids: BTreeSet<_> = all.iter().filter(is_one_of_them).map(|seen| seen.pid).collect();
    match (seen.len(), tokens.len(), pids.len()) {
        (1, ..) => None,
        (_, 1, 1) => Some("per process"),
        (_, 1, _) => Some("per run"),
        (tests, tokens, _) if tests == tokens => Some("per test"),
        _ => Some("unlike each other"),
    }
}

/// The tokens that were seen of a pool: its place in the list of a test with several, or the only one.
pub(crate) fn tokens(seen: &[Seen], place: usize) -> BTreeSet<&str> {
    seen.iter().filter_map(|seen| seen.tokens.get(place)).map(String::as_str).collect()
}

/// Only those of a form.
pub(crate) fn of_form<'a>(seen: &'a [Seen], form: &str) -> Vec<&'a Seen> {
    seen.iter().filter(|seen| seen.form == form).collect()
}
