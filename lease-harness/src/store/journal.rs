//! Journals: one compact object a line, appended.

use std::path::Path;

use super::date;
use crate::json::{Json, Object};
use crate::sys::disk::{self, DiskResult, Log};

/// Appends `{at, event, …rest}` to a journal.
///
/// A journal is a story for people. What it tells has already happened when it is written, so a full disk may cost the
/// line but never the deed. Its folder is made if there is none.
pub(crate) fn note<K: Into<String>>(journal: &Path, at_ms: i64, event: &str, rest: impl IntoIterator<Item = (K, Json)>) {
    append(journal, &line(at_ms, event, rest), disk::append_line);
}

/// The same for who writes it again and again.
pub(crate) fn note_in<K: Into<String>>(
    log: &Log,
    journal: &Path,
    at_ms: i64,
    event: &str,
    rest: impl IntoIterator<Item = (K, Json)>,
) {
    append(journal, &line(at_ms, event, rest), |journal, line| log.append_line(journal, line));
}

fn line<K: Into<String>>(at_ms: i64, event: &str, rest: impl IntoIterator<Item = (K, Json)>) -> String {
    let mut line = Object::new();
    line.insert("at", Json::from(iso(at_ms)));
    line.insert("event", Json::from(event));
    line.extend(rest);
    line.to_text()
}

fn append(journal: &Path, line: &str, write: impl Fn(&Path, &str) -> DiskResult<()>) {
    let folder = journal.parent().unwrap_or(journal);
    let _ = disk::with_folder(folder, || write(journal, line));
}

/// The text of a time of our own clock.
pub(crate) fn iso(at_ms: i64) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "beyond 2^53 ms there is no date either")]
    date::iso(at_ms as f64)
}
