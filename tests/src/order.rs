//! Whether first come was first served.
//!
//! What is promised: whoever stands in the queue before another, and both live until they are granted, is granted first, but for as
//! many as there are further slots. A waiter may take a slot when more slots are free than live waiters ahead have none, so
//! with n slots at most n - 1 of those ahead of it are granted later, and for each of them a slot was free. With one slot the order
//! of grants is the order of the queue.
//!
//! The queue is recorded by reading its file over and over: who stood before whom in one reading is beyond doubt, and no
//! clock is asked. The grants are taken from the pool's journal, where each is one line. Whoever was granted a slot without
//! having stood in the queue had to come before those that stood in it; this is judged by how many such grants there were
//! while somebody waited.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::history::Tail;

const JOURNAL: &str = "pool.log";
/// A waiter's entry is there for some milliseconds at least.
const READ_EVERY: Duration = Duration::from_micros(500);

/// Who asks, as it stands in a queue entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asker {
    /// The request's id.
    pub id: String,
    /// Its owner.
    pub owner: String,
}

/// What was seen of a queue.
#[derive(Debug, Default)]
pub struct Seen {
    /// For each who was seen in the queue, everybody who was seen before it.
    ahead: BTreeMap<Asker, BTreeSet<Asker>>,
    /// For each request, how many grants there had been when it was seen first, at least.
    grants_before: BTreeMap<String, usize>,
}

/// Reads a queue over and over until it is asked what it has seen.
#[derive(Debug)]
pub struct QueueWatcher {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

impl QueueWatcher {
    /// Watches the queue and the journal of the pool in this folder, which need not exist yet.
    pub fn start(folder: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        let (queue, mut journal) = (folder.join("queue.json"), Tail::of(folder.join(JOURNAL)));
        let thread = thread::spawn(move || {
            let (mut seen, mut last, mut n_granted) = (Seen::default(), String::new(), 0);
            while !until.load(Ordering::Relaxed) {
                let text = fs::read_to_string(&queue).unwrap_or_default();
                if text != last {
                    n_granted += granted_in(&journal.more()).len();
                    seen.see(&text, n_granted);
                    last = text;
                }
                thread::sleep(READ_EVERY);
            }
            seen
        });
        Self { stop, thread }
    }

    /// What it has seen.
    ///
    /// # Panics
    ///
    /// If the queue was not one.
    pub fn finish(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the watcher read a queue")
    }
}

impl Seen {
    /// Takes down one reading of the queue. An empty file is no reading: everybody writes a whole one and renames it.
    fn see(&mut self, text: &str, n_granted: usize) {
        if text.is_empty() {
            return;
        }
        let document: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("the queue is no document: {error}: {text}"));
        let entries = document["entries"].as_array().unwrap_or_else(|| panic!("the queue has no entries: {text}"));
        let field = |entry: &Value, key: &str| {
            entry[key].as_str().unwrap_or_else(|| panic!("an entry without {key}: {entry}")).to_owned()
        };
        let askers: Vec<_> = entries.iter().map(|entry| Asker { id: field(entry, "id"), owner: field(entry, "owner") }).collect();
        for (place, asker) in askers.iter().enumerate() {
            self.grants_before.entry(asker.id.clone()).or_insert(n_granted);
            self.ahead.entry(asker.clone()).or_default().extend(askers[..place].iter().cloned());
        }
    }
}

/// The ids of the requests that were granted by the pool in this folder, in their order.
///
/// # Panics
///
/// If its journal cannot be read.
pub fn granted(folder: &Path) -> Vec<String> {
    granted_in(&fs::read_to_string(folder.join(JOURNAL)).expect("there were grants"))
}

fn granted_in(journal: &str) -> Vec<String> {
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("the journal: {error}: {line}"));
    let lines = journal.lines().map(parse).filter(|line| line["event"] == "granted");
    lines.map(|line| line["request_id"].as_str().expect("a grant has a request").to_owned()).collect()
}

/// What a judgement came to.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Pairs of an earlier and a later one of which both were granted.
    pub pairs: Vec<(Asker, Asker)>,
    /// How many of them were granted in the other order.
    pub n_overtaken: usize,
    /// Who was granted before more of those ahead than there are further slots, and these.
    pub faults: Vec<String>,
    /// The most grants to some that never stood in the queue while one of those that did waited.
    pub n_passed_by: usize,
}

/// Judges what was seen of the queue by the order of grants.
pub fn judge(seen: &Seen, granted: &[String], n_slots: usize) -> Verdict {
    let turns: BTreeMap<_, _> = granted.iter().enumerate().map(|(turn, id)| (id.as_str(), turn)).collect();
    let mut verdict = Verdict::default();
    for (later, ahead) in &seen.ahead {
        let Some(turn) = turns.get(later.id.as_str()) else { continue };
        let served: Vec<_> = ahead.iter().filter(|earlier| turns.contains_key(earlier.id.as_str())).collect();
        let overtaken: Vec<_> = served.iter().filter(|earlier| turns[earlier.id.as_str()] > *turn).collect();
        if n_slots <= overtaken.len() {
            verdict.faults.push(format!("{later:?} was granted before {overtaken:?}, who stood before it"));
        }
        verdict.n_overtaken += overtaken.len();
        verdict.pairs.extend(served.iter().map(|earlier| ((*earlier).clone(), later.clone())));
        let meanwhile = granted[..*turn].iter().skip(seen.grants_before[&later.id]);
        let n_passed_by = meanwhile.filter(|id| !seen.grants_before.contains_key(*id)).count();
        verdict.n_passed_by = verdict.n_passed_by.max(n_passed_by);
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(queues: &[&[&str]]) -> Seen {
        let mut seen = Seen::default();
        for queue in queues {
            let entries: Vec<_> = queue.iter().map(|id| serde_json::json!({"id": id, "owner": "x"})).collect();
            seen.see(&serde_json::json!({"entries": entries}).to_string(), 0);
        }
        seen
    }

    fn ids(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(queues: &[&[&str]], order: &str, n_slots: usize, n_faults: usize) {
        assert_eq!(judge(&seen(queues), &ids(order), n_slots).faults.len(), n_faults, "{queues:?} {order}");
    }

    #[test]
    fn with_one_slot_the_order_is_that_of_the_queue() {
        check(&[&["a", "b"], &["b", "c"]], "a b c", 1, 0);
        check(&[&["a", "b"], &["b", "c"]], "a c b", 1, 1);
        check(&[&["a"], &["b"]], "b a", 1, 0);
    }

    #[test]
    fn with_two_slots_one_ahead_may_be_later() {
        check(&[&["a", "b", "c"]], "b a c", 2, 0);
        check(&[&["a", "b", "c"]], "b c a", 2, 0);
        check(&[&["a", "b", "c"]], "c a b", 2, 1);
    }

    #[test]
    fn who_was_never_granted_was_not_overtaken() {
        check(&[&["a", "b"]], "b", 1, 0);
    }

    #[test]
    fn pairs_and_grants_are_counted() {
        let verdict = judge(&seen(&[&["a", "b", "c"]]), &ids("a c"), 1);
        assert_eq!((verdict.pairs.len(), verdict.n_overtaken), (1, 0));
        let journal = "{\"event\":\"request_queued\",\"request_id\":\"x\"}\n{\"event\":\"granted\",\"request_id\":\"y\"}\n";
        assert_eq!(granted_in(journal), ["y"]);
    }

    #[test]
    fn who_never_stood_in_the_queue_passes_by_those_that_do() {
        assert_eq!(judge(&seen(&[&["a", "b"]]), &ids("x a y z b"), 1).n_passed_by, 3);
        assert_eq!(judge(&seen(&[&["a", "b"]]), &ids("a b x y"), 1).n_passed_by, 0);
    }
}
