//! What can still be read of a queue file that is not as it should be: hands have edited it, a disk has cut it off.

use super::queue::Entry;
use crate::json::Json;

/// A text that is no queue at all is given up after so many places where an entry could have begun.
const MISSES: usize = 100;

/// Every entry in a document of another shape, in order, wherever it stands. Does not recurse: it may be deeper than a stack.
pub(super) fn entries_in(document: &Json) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut rest = vec![document];
    while let Some(value) = rest.pop() {
        match (Entry::read(value), value) {
            (Some(entry), _) => entries.push(entry),
            (None, Json::Array(items)) => rest.extend(items.iter().rev()),
            (None, Json::Object(members)) => {
                let first = rest.len();
                rest.extend(members.iter().map(|(_, value)| value));
                rest[first..].reverse();
            }
            (None, _) => {}
        }
    }
    entries
}

/// Every entry that still stands whole in a text that is no document.
pub(super) fn entries_in_text(mut text: &str) -> Vec<Entry> {
    let (mut entries, mut n_misses) = (Vec::new(), 0);
    while let Some(start) = text.find('{').filter(|_| n_misses < MISSES) {
        text = &text[start..];
        if let Ok((value, behind)) = Json::parse_first(text) {
            entries.extend(entries_in(&value));
            text = behind;
        } else {
            n_misses += 1;
            text = &text[1..];
        }
    }
    entries
}
