//! Fencing tokens: numbers that grow with every grant of a resource and never go back.
//!
//! A number counts only when it is on the disk. So that a set costs one flush and not one for each claim, the numbers of a
//! set are one line of a log, which is flushed; when the log has grown, its numbers go into the files that it stands for,
//! those are flushed, and it begins anew. What a power cut can take away is then always a line that nobody was granted by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::{COUNTER_CORRUPT, ClaimsError, ClaimsResult};
use super::key::ResourceKey;
use super::ledger::Ledger;
use super::names::digest;
use super::record::{number, whole};
use crate::json::{Json, Object};
use crate::sys::disk;

/// From this size on, in bytes, the log begins anew.
const LONGEST_LOG: u64 = 16 * 1024;

/// The numbers of a scope. To be used inside its lock.
pub(super) struct Tokens {
    dir: PathBuf,
    log: Log,
    drawn: BTreeMap<String, u64>,
}

/// What the log says.
#[derive(Default)]
struct Log {
    /// How many of its bytes are whole lines.
    length: u64,
    /// The number of the last set.
    sequence: u64,
    tokens: BTreeMap<String, u64>,
}

impl Tokens {
    pub(super) fn open(dir: PathBuf) -> ClaimsResult<Self> {
        let log = Log::read(&log_path(&dir))?;
        Ok(Self { dir, log, drawn: BTreeMap::new() })
    }

    /// The number of the set that these tokens are for, one more than that of the last set of the scope.
    pub(super) fn sequence(&self) -> u64 {
        self.log.sequence + 1
    }

    /// The next token of a resource, larger than one that was `seen` in a record.
    pub(super) fn next(&mut self, key: &ResourceKey, seen: u64, ledger: &Ledger) -> ClaimsResult<u64> {
        let name = key.as_str();
        let last = match self.drawn.get(name).or_else(|| self.log.tokens.get(name)) {
            Some(last) => *last,
            None => match read_file(&self.file(name))?.get(name) {
                Some(last) => *last,
                // A resource nobody has had, or a file that is gone: an event may know better.
                None => ledger.largest_token(key)?,
            },
        };
        let token = last.max(seen) + 1;
        self.drawn.insert(name.to_owned(), token);
        Ok(token)
    }

    /// Makes what was drawn count. If this fails, or the process dies in it, the numbers may be left out, never used twice.
    pub(super) fn keep(mut self) -> ClaimsResult<()> {
        if self.drawn.is_empty() {
            return Ok(());
        }
        let line = line(self.sequence(), &self.drawn);
        disk::create_dirs(&self.dir)?;
        if LONGEST_LOG < self.log.length {
            self.merge()?;
        }
        disk::append_at(&log_path(&self.dir), self.log.length, line.as_bytes(), true)?;
        Ok(())
    }

    /// Puts the log's numbers into their files, and begins a new log.
    fn merge(&mut self) -> ClaimsResult<()> {
        let mut files: BTreeMap<PathBuf, BTreeMap<String, u64>> = BTreeMap::new();
        for (key, token) in std::mem::take(&mut self.log.tokens) {
            files.entry(self.file(&key)).or_default().insert(key, token);
        }
        for (path, newer) in files {
            let mut tokens = read_file(&path)?;
            for (key, token) in newer {
                let known = tokens.entry(key).or_default();
                *known = token.max(*known);
            }
            let members = tokens.into_iter().map(|(key, token)| (key, number(token)));
            disk::replace_flushed(&path, Json::Object(members.collect()).to_text().as_bytes())?;
        }
        let first = line(self.log.sequence, &BTreeMap::new());
        disk::replace_flushed(&log_path(&self.dir), first.as_bytes())?;
        self.log.length = first.len() as u64;
        Ok(())
    }

    /// The file of a resource, one of 256.
    fn file(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{}.json", &digest(key)[..2]))
    }
}

fn log_path(dir: &Path) -> PathBuf {
    dir.join("log.jsonl")
}

fn line(sequence: u64, tokens: &BTreeMap<String, u64>) -> String {
    let tokens: Object = tokens.iter().map(|(key, token)| (key.clone(), number(*token))).collect();
    let mut line = crate::json::object([("sequence", number(sequence)), ("tokens", Json::Object(tokens))]).to_text();
    line.push('\n');
    line
}

impl Log {
    /// A last line without an end was never flushed as a whole, so nobody was granted anything by it.
    fn read(path: &Path) -> ClaimsResult<Self> {
        let bytes = disk::read(path)?.unwrap_or_default();
        let whole_lines = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut log = Self { length: whole_lines as u64, ..Self::default() };
        for line in bytes[..whole_lines].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let damaged = || ClaimsError::damaged(COUNTER_CORRUPT, path, "a line is none of ours");
            let line = Json::parse_bytes(line).map_err(|_| damaged())?;
            log.sequence = line.get("sequence").and_then(whole).ok_or_else(damaged)?.max(log.sequence);
            let tokens = line.get("tokens").and_then(Json::as_object).ok_or_else(damaged)?;
            for (key, token) in tokens.iter() {
                let known = log.tokens.entry(key.to_owned()).or_default();
                *known = whole(token).ok_or_else(damaged)?.max(*known);
            }
        }
        Ok(log)
    }
}

fn read_file(path: &Path) -> ClaimsResult<BTreeMap<String, u64>> {
    let Some(bytes) = disk::read(path)? else { return Ok(BTreeMap::new()) };
    let damaged = |what: &str| ClaimsError::damaged(COUNTER_CORRUPT, path, what);
    let document = Json::parse_bytes(&bytes).map_err(|error| damaged(&error.to_string()))?;
    let members = document.as_object().ok_or_else(|| damaged("it is no object"))?;
    let token = |(key, value): (&str, &Json)| {
        whole(value)
            .map(|token| (key.to_owned(), token))
            .ok_or_else(|| damaged(&format!("the token of {key:?} is no whole number")))
    };
    members.iter().map(token).collect()
}
