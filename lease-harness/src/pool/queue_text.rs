//! The text of a queue as the programs of the format write it, so that one entry is added or taken without reading the others.
//!
//! In a crowd everybody changes the queue under one lock, and a queue of a thousand is a third of a megabyte. A text of another
//! shape is left to whoever reads it whole.

use std::string::FromUtf8Error;

use super::queue::{Entry, Queue};
use crate::json::Json;

/// What stands before the first entry and behind the last one.
const HEAD: &str = "{\n  \"entries\": [\n";
const TAIL: &str = "\n  ]\n}\n";
/// How an entry begins and ends. In a text of a document there are no other line breaks than those between lines like these, as
/// a text in it has none.
const OPEN: &str = "    {\n";
const CLOSE: &str = "\n    }";
const SEPARATOR: &str = ",\n";

/// The text of a queue that has entries, or none.
#[derive(Debug, Default)]
pub(super) struct QueueText(String);

impl QueueText {
    /// The text of a file; gives it back if its shape is another one.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Result<Self, Vec<u8>> {
        let text = String::from_utf8(bytes).map_err(FromUtf8Error::into_bytes)?;
        let entries = text.strip_prefix(HEAD).and_then(|text| text.strip_suffix(TAIL));
        if entries.is_some_and(|entries| entries.starts_with(OPEN) && entries.ends_with(CLOSE)) {
            return Ok(Self(text));
        }
        Err(text.into_bytes())
    }

    /// The text of a queue.
    pub(super) fn of(queue: &Queue) -> Self {
        if queue.entries.is_empty() { Self::default() } else { Self(queue.to_file_text()) }
    }

    /// All of it, read.
    pub(super) fn to_queue(&self) -> Queue {
        Queue::from_bytes(Some(self.0.as_bytes()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn n_entries(&self) -> usize {
        self.0.lines().filter(|line| *line == OPEN.trim_end()).count()
    }

    /// The first in line.
    pub(super) fn first(&self) -> Option<Entry> {
        self.entry_at(HEAD.len())
    }

    /// Adds an entry at the end.
    pub(super) fn push(&mut self, entry: Entry) {
        let alone = Self::of(&Queue { entries: vec![entry], damaged: false });
        if self.is_empty() {
            *self = alone;
            return;
        }
        self.0.truncate(self.0.len() - TAIL.len());
        self.0.push_str(SEPARATOR);
        self.0.push_str(&alone.0[HEAD.len()..]);
    }

    /// The entry of a request; none if it is not found, which says nothing.
    pub(super) fn find(&self, id: &str) -> Option<Entry> {
        self.entry_at(self.place_of(id)?).filter(|entry| entry.id() == id)
    }

    fn place_of(&self, id: &str) -> Option<usize> {
        let place = self.0.find(&format!("\n{OPEN}      \"id\": {}", Json::from(id).to_text()))?;
        Some(place + 1)
    }

    /// Takes the entry of a request out; none if it is not found.
    pub(super) fn take(&mut self, id: &str) -> Option<Entry> {
        let (entry, place) = (self.find(id)?, self.place_of(id)?);
        let end = place + self.length_at(place)?;
        let is_first = place == HEAD.len();
        match self.0[end..].strip_prefix(SEPARATOR) {
            Some(_) => self.0.replace_range(place..end + SEPARATOR.len(), ""),
            None if self.0[end..] != *TAIL => return None,
            None if is_first => self.0.clear(),
            None => self.0.replace_range(place - SEPARATOR.len()..end, ""),
        }
        Some(entry)
    }

    /// The entry that begins there, if it is a whole document: nothing that belongs to another one.
    fn entry_at(&self, place: usize) -> Option<Entry> {
        let text = self.0.get(place..place + self.length_at(place)?)?;
        Entry::read(&Json::parse(text).ok()?)
    }

    fn length_at(&self, place: usize) -> Option<usize> {
        Some(self.0.get(place..)?.find(CLOSE)? + CLOSE.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::object;

    fn entry(id: &str) -> Entry {
        let holds = Json::Array(vec![Json::from("    {"), object([("deep", Json::Array(vec![Json::from("\n    }")]))])]);
        Entry::read(&object([("id", Json::from(id)), ("owner", Json::from("o")), ("holds", holds)])).unwrap()
    }

    fn text_of(ids: &[&str]) -> String {
        Queue { entries: ids.iter().map(|id| entry(id)).collect(), damaged: false }.to_file_text()
    }

    fn read(text: &str) -> Option<QueueText> {
        QueueText::from_bytes(text.as_bytes().to_vec()).ok()
    }

    #[test]
    fn a_text_is_changed_as_the_queue_that_it_is_of() {
        let mut text = QueueText::default();
        for n in 1..=3 {
            text.push(entry(["a", "b", "c"][n - 1]));
            assert_eq!((text.as_str(), text.n_entries()), (&*text_of(&["a", "b", "c"][..n]), n));
            assert_eq!(text.first().unwrap().id(), "a");
        }
        for (taken, left) in [("a", ["b", "c"]), ("b", ["a", "c"]), ("c", ["a", "b"])] {
            let mut text = read(&text_of(&["a", "b", "c"])).unwrap();
            assert_eq!(text.take(taken), Some(entry(taken)));
            assert_eq!(text.as_str(), text_of(&left));
            assert_eq!(text.take(taken), None);
            assert!(left.iter().all(|id| text.take(id).is_some()));
            assert!(text.is_empty() && text.first().is_none() && text.n_entries() == 0);
        }
    }

    #[test]
    fn what_is_not_written_so_is_not_touched() {
        for text in ["", "{}", "{\n  \"entries\": []\n}\n", "{\"entries\":[{\"id\":\"a\"}]}"] {
            assert!(read(text).is_none(), "{text:?}");
        }
        let good = text_of(&["a", "b"]);
        assert!(read(&good.replace("  ]\n}\n", "  ]\n}")).is_none());
        // Two entries that look like one, and one whose end is another's.
        for bad in [good.replacen("\n    }", "\n   }", 1), good.replacen("\n    },", "\n    }, ", 1)] {
            let mut text = read(&bad).unwrap();
            assert_eq!((text.take("a"), text.as_str()), (None, &*bad));
        }
    }
}
