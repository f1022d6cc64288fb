//! What the started programs wrote down.
//!
//! Everybody appends lines to one file that was opened for appending; the kernel puts each line whole behind the one
//! before it. So the order of lines is the order in which things happened, on every process, without any clock: a
//! `start` line is written after a slot was granted and an `end` line before it is given back, and two holders of
//! one slot at the same time are two `start` lines without an `end` between them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::wait;

/// One line: a word, then `name=value` fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub word: String,
    /// With what.
    pub fields: BTreeMap<String, String>,
}

impl Event {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let word = words.next()?.to_owned();
        let fields = words.filter_map(|field| field.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        Some(Self { word, fields })
    }

    /// The value of a field.
    ///
    /// # Panics
    ///
    /// If the line has no such field.
    #[track_caller]
    pub fn get(&self, name: &str) -> &str {
        self.fields.get(name).unwrap_or_else(|| panic!("no field {name:?} in {self:?}"))
    }

    /// The process that wrote the line.
    pub fn pid(&self) -> u32 {
        self.get("pid").parse().expect("a pid is a number")
    }
}

/// The file that everybody appends to.
#[derive(Clone, Debug)]
pub struct History {
    path: PathBuf,
}

impl History {
    /// The history in `path`, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything so far. A line that is just being written is not seen.
    pub fn events(&self) -> Vec<Event> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().filter_map(Event::parse).collect()
    }

    /// All lines with this word.
    pub fn all(&self, word: &str) -> Vec<Event> {
        let mut events = self.events();
        events.retain(|event| event.word == word);
        events
    }

    /// Waits for the first line with this word that `fits`.
    #[track_caller]
    pub fn wait_for(&self, word: &str, fits: impl Fn(&Event) -> bool) -> Event {
        let what = format!("a {word:?} line in {}", self.path.display());
        wait::until(&what, || self.all(word).into_iter().find(|event| fits(event)))
    }

    /// Checks that every slot had one user at a time, and gives the number of uses.
    ///
    /// # Panics
    ///
    /// If two uses of one slot overlap, or a use has no end.
    #[track_caller]
    pub fn check_one_user_a_slot(&self) -> usize {
        let (uses, overlaps, open) = count_uses(&self.events());
        assert!(overlaps.is_empty(), "slots with two users at once: {overlaps:#?}");
        assert!(open.is_empty(), "uses without an end: {open:#?}");
        uses
    }

    /// Checks, for runs that were told apart by their field `run` and each used one slot at most, that every slot had one
    /// user at a time: nobody began to use (or to provision) a slot before its user had ended or was `killed`, and whoever
    /// was killed did nothing more once another had begun.
    ///
    /// # Panics
    ///
    /// If a slot had two users at once, or a use of one who was not killed has no end.
    #[track_caller]
    pub fn check_one_living_user_a_slot(&self, killed: &BTreeSet<String>) {
        let faults = overlaps_of_living(&self.events(), killed);
        assert!(faults.is_empty(), "slots with two users at once: {faults:#?}");
    }

    /// Checks that two groups of uses, told apart by a field, were at work at the same time: each began before the
    /// other had ended.
    ///
    /// # Panics
    ///
    /// If one of them had no use, or all of its uses came before or after all of the other's.
    #[track_caller]
    pub fn check_interleaved(&self, field: &str, left: &str, right: &str) {
        let starts: Vec<_> = self.all("start").iter().map(|event| event.get(field).to_owned()).collect();
        let place = |who: &str, last: bool| {
            let found = if last { starts.iter().rposition(|s| s == who) } else { starts.iter().position(|s| s == who) };
            found.unwrap_or_else(|| panic!("{who} never started"))
        };
        assert!(place(left, false) < place(right, true), "{left} began after {right} had ended: {starts:?}");
        assert!(place(right, false) < place(left, true), "{right} began after {left} had ended: {starts:?}");
    }
}

/// Reads a growing file from where it stopped last time, for who must look often at a long one.
#[derive(Debug)]
pub struct Tail {
    file: Option<fs::File>,
    path: PathBuf,
    /// The beginning of a line whose end is not there yet.
    rest: String,
}

impl Tail {
    /// Begins at the beginning of this file, which need not exist yet.
    pub fn of(path: impl Into<PathBuf>) -> Self {
        Self { file: None, path: path.into(), rest: String::new() }
    }

    /// The whole lines that have come since the last call.
    ///
    /// # Panics
    ///
    /// If the file cannot be read.
    pub fn more(&mut self) -> String {
        self.file = self.file.take().or_else(|| fs::File::open(&self.path).ok());
        let Some(file) = &mut self.file else { return String::new() };
        file.read_to_string(&mut self.rest).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        let end = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let rest = self.rest.split_off(end);
        std::mem::replace(&mut self.rest, rest)
    }

    /// The lines of a history that have come since the last call.
    pub fn events(&mut self) -> Vec<Event> {
        self.more().lines().filter_map(Event::parse).collect()
    }
}

fn count_uses(events: &[Event]) -> (usize, Vec<String>, BTreeMap<String, Event>) {
    let (mut uses, mut overlaps, mut users) = (0, Vec::new(), BTreeMap::<String, Event>::new());
    for event in events {
        if event.word == "start" {
            uses += 1;
            if let Some(other) = users.insert(event.get("slot").to_owned(), event.clone()) {
                overlaps.push(format!("{other:?} and {event:?}"));
            }
        } else if event.word == "end" && users.get(event.get("slot")).is_some_and(|user| user.pid() == event.pid()) {
            users.remove(event.get("slot"));
        }
    }
    (uses, overlaps, users)
}

/// A slot's users in the order in which they began.
#[derive(Default)]
struct Users {
    past: BTreeSet<String>,
    /// The last one, and whether it has ended.
    last: Option<(String, bool)>,
}

fn overlaps_of_living(events: &[Event], killed: &BTreeSet<String>) -> Vec<String> {
    let (mut faults, mut slots) = (Vec::new(), BTreeMap::<String, Users>::new());
    // A line about no slot is about no use of one.
    for event in events.iter().filter(|event| event.get("slot") != "-") {
        let (run, users) = (event.get("run"), slots.entry(event.get("slot").to_owned()).or_default());
        if users.past.contains(run) {
            faults.push(format!("{run} goes on after another has begun: {event:?}"));
        } else if let Some((_, has_ended)) = users.last.as_mut().filter(|(last, _)| last == run) {
            *has_ended = event.word == "end";
        } else if let Some((last, has_ended)) = users.last.replace((run.to_owned(), event.word == "end")) {
            if !has_ended && !killed.contains(&last) {
                faults.push(format!("{last} was at work when another began: {event:?}"));
            }
            users.past.insert(last);
        }
    }
    let open = slots.into_values().filter_map(|users| users.last).filter(|(run, has_ended)| !has_ended && !killed.contains(run));
    faults.extend(open.map(|(run, _)| format!("the use of {run} has no end")));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<Event> {
        text.lines().filter_map(Event::parse).collect()
    }

    #[test]
    fn uses_one_after_the_other_do_not_overlap() {
        let text =
            "start slot=a pid=1\nstart slot=b pid=2\nend slot=a pid=1\nstart slot=a pid=3\nend slot=a pid=3\nend slot=b pid=2";
        let (uses, overlaps, open) = count_uses(&events(text));
        assert_eq!((uses, overlaps.len(), open.len()), (3, 0, 0));
    }

    #[test]
    fn a_second_user_of_a_slot_is_found() {
        let (_, overlaps, _) = count_uses(&events("start slot=a pid=1\nstart slot=a pid=2\nend slot=a pid=1\nend slot=a pid=2"));
        assert_eq!(overlaps.len(), 1);
    }

    #[test]
    fn a_use_without_an_end_is_found() {
        let (_, _, open) = count_uses(&events("start slot=a pid=1\nend slot=a pid=2"));
        assert_eq!(open.len(), 1);
    }

    #[track_caller]
    fn check_living(text: &str, killed: &[&str], n_faults: usize) {
        let killed = killed.iter().map(|run| (*run).to_owned()).collect();
        assert_eq!(overlaps_of_living(&events(text), &killed).len(), n_faults, "{text}");
    }

    #[test]
    fn a_killed_user_may_leave_its_use_open_but_does_nothing_more() {
        let change = "start slot=a run=1\nprovision slot=a run=2\nstart slot=a run=2\n";
        check_living(&format!("{change}end slot=a run=2"), &["1"], 0);
        check_living(&format!("{change}end slot=a run=2"), &[], 1);
        check_living(&format!("{change}tick slot=a run=1\nend slot=a run=2"), &["1"], 1);
        check_living(change, &["1"], 1);
        check_living("start slot=a run=1\nstart slot=b run=2\nend slot=a run=1\nend slot=b run=2", &[], 0);
    }
}
