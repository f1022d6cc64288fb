//! Journals: one compact object a line, appended.

use std::path::Path;

use super::date;
use crate::json::{Json, Object};
use crate::sys::disk;

/// Appends `{at, event, …rest}` to a journal.
///
/// A journal is a story for people. What it tells has already happened when it is written, so a full disk may cost the
/// line but never the deed.
pub(crate) fn note(journal: &Path, at_ms: i64, event: &str, rest: Object) {
    let mut line = Object::new();
    line.insert("at", Json::from(iso(at_ms)));
    line.insert("event", Json::from(event));
    for (key, value) in rest {
        line.insert(key, value);
    }
    let _ = disk::append_line(journal, &Json::Object(line).to_text());
}

/// The text of a time of our own clock.
pub(crate) fn iso(at_ms: i64) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "beyond 2^53 ms there is no date either")]
    date::iso(at_ms as f64)
}
