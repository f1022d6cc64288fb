//! Who may hold what: from resources to the files of their owners.
//!
//! A hint that makes looking for conflicts nearly independent of how many other leases there are: a line for each lease, with
//! its mode, its key and the file of its owner. A line is written before its lease counts, and stays until somebody finds
//! that it leads to nothing; so it may say too much, never too little. What counts is the owner's file.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::conflict::conflicts_of;
use super::error::{ClaimsError, ClaimsResult, RECORD_CORRUPT};
use super::key::{Kind, ResourceKey};
use super::mode::Mode;
use super::names::digest;
use super::spec::Claim;
use super::store::owners_in;
use crate::sys::disk;

/// So many lines that lead to nothing are left alone.
const FEW: usize = 16;
/// Whenever a file has so many lines more, those that lead to nothing are taken out.
const MANY: usize = 256;

/// The file that tells since which start of the machine the index is kept.
const BOOT: &str = "boot";

/// The index of a scope. Inside the scope's lock nobody else writes, so that one of these reads each file once.
pub(super) struct Index {
    dir: PathBuf,
    owners: PathBuf,
    known: RefCell<BTreeMap<Bucket, Rc<Lines>>>,
}

/// A lease, as far as looking for conflicts needs it.
struct Line<'a> {
    owner: &'a str,
    mode: Mode,
    /// In its normal form.
    key: &'a str,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let (owner, mode, key) = (words.next()?, words.next()?, words.next()?);
        Some(Self { owner, mode: mode.parse().ok()?, key })
    }
}

/// A file of the index as it is.
struct Lines {
    path: PathBuf,
    /// Whole lines: one that was cut off by a full disk names nobody.
    text: String,
}

impl Lines {
    fn each(&self) -> impl Iterator<Item = ClaimsResult<Line<'_>>> {
        let damaged = || ClaimsError::damaged(RECORD_CORRUPT, &self.path, "a line is none of ours");
        self.text.lines().map(move |line| Line::read(line).ok_or_else(damaged))
    }
}

/// A file of the index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bucket(String);

impl Bucket {
    /// Where a resource stands. Those that can overlap others stand together; any other only overlaps itself.
    fn of(key: &ResourceKey) -> Self {
        Self(match key.kind() {
            Kind::Release => "release".to_owned(),
            Kind::Other => format!("key-{}", &digest(key.as_str())[..3]),
            _ => "repository".to_owned(),
        })
    }
}

impl Index {
    pub(super) fn new(scope: &Path) -> Self {
        Self { dir: scope.join("index"), owners: scope.join("owners"), known: RefCell::default() }
    }

    /// Where those stand that may conflict with one of these keys. `None` is everywhere.
    pub(super) fn buckets<'a>(keys: impl Iterator<Item = &'a ResourceKey>) -> Option<BTreeSet<Bucket>> {
        let buckets: BTreeSet<_> = keys.map(Bucket::of).collect();
        let release = Bucket("release".to_owned());
        if buckets.contains(&release) {
            return None;
        }
        Some(buckets.into_iter().chain([release]).collect())
    }

    /// The owners' files that these places name for something that excludes one of these claims.
    pub(super) fn owners(&self, buckets: &BTreeSet<Bucket>, claims: &[Claim]) -> ClaimsResult<BTreeSet<String>> {
        let excludes = |line: &Line<'_>| {
            let mut ours = claims.iter();
            ours.any(|claim| conflicts_of((claim.key().as_str(), claim.mode()), (line.key, line.mode)))
        };
        let mut owners = BTreeSet::new();
        for bucket in buckets {
            for line in self.lines(bucket)?.each() {
                let line = line?;
                if !owners.contains(line.owner) && excludes(&line) {
                    owners.insert(line.owner.to_owned());
                }
            }
        }
        Ok(owners)
    }

    /// Names an owner's file where these keys stand. Before its leases count.
    pub(super) fn add<'a>(&self, owner: &str, held: impl Iterator<Item = (&'a ResourceKey, Mode)>) -> ClaimsResult<()> {
        let mut by_bucket: BTreeMap<Bucket, BTreeSet<String>> = BTreeMap::new();
        for (key, mode) in held {
            by_bucket.entry(Bucket::of(key)).or_default().insert(format!("{owner} {mode} {key}"));
        }
        for (bucket, mut new) in by_bucket {
            let known = self.lines(&bucket)?;
            let n_known = known.text.lines().count();
            known.text.lines().for_each(|line| {
                new.remove(line);
            });
            if new.is_empty() {
                continue;
            }
            disk::create_dirs(&self.dir)?;
            let text: String = new.iter().map(|line| format!("{line}\n")).collect();
            self.known.borrow_mut().remove(&bucket);
            disk::append_at(&known.path, known.text.len() as u64, text.as_bytes(), false)?;
            if n_known / MANY < (n_known + new.len()) / MANY {
                self.forget_gone(&bucket, owner)?;
            }
        }
        Ok(())
    }

    /// Takes out the lines of owners who have no file, but for this one, who is about to have one.
    fn forget_gone(&self, bucket: &Bucket, owner: &str) -> ClaimsResult<()> {
        let living = owners_in(&self.owners)?;
        self.keep(bucket, |line| line.owner == owner || living.contains(line.owner))
    }

    /// Takes out the lines of these owners, who have no file, if they are many.
    pub(super) fn forget(&self, buckets: &BTreeSet<Bucket>, gone: &BTreeSet<String>) -> ClaimsResult<()> {
        if gone.len() <= FEW {
            return Ok(());
        }
        buckets.iter().try_for_each(|bucket| self.keep(bucket, |line| !gone.contains(line.owner)))
    }

    fn keep(&self, bucket: &Bucket, is_kept: impl Fn(&Line<'_>) -> bool) -> ClaimsResult<()> {
        let lines = self.lines(bucket)?;
        let mut kept = String::with_capacity(lines.text.len());
        for Line { owner, mode, key } in lines.each().collect::<ClaimsResult<Vec<_>>>()?.into_iter().filter(is_kept) {
            kept.push_str(&format!("{owner} {mode} {key}\n"));
        }
        if kept.len() < lines.text.len() {
            self.known.borrow_mut().remove(bucket);
            disk::replace_beside(&lines.path, kept.as_bytes())?;
        }
        Ok(())
    }

    fn lines(&self, bucket: &Bucket) -> ClaimsResult<Rc<Lines>> {
        if let Some(known) = self.known.borrow().get(bucket) {
            return Ok(Rc::clone(known));
        }
        let lines = Rc::new(self.read(bucket)?);
        self.known.borrow_mut().insert(bucket.clone(), Rc::clone(&lines));
        Ok(lines)
    }

    fn read(&self, bucket: &Bucket) -> ClaimsResult<Lines> {
        let path = self.path(bucket);
        let mut bytes = disk::read(&path)?.unwrap_or_default();
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
        let no_text = |_| ClaimsError::damaged(RECORD_CORRUPT, &path, "it is no text");
        let text = String::from_utf8(bytes).map_err(no_text)?;
        Ok(Lines { path, text })
    }

    /// Whether it was written since the machine was started. One that was not may have lost lines in a power cut, and is made
    /// anew.
    pub(super) fn is_of_this_boot(&self) -> ClaimsResult<bool> {
        let written = disk::read(&self.dir.join(BOOT))?;
        Ok(written.is_some_and(|written| written == disk::boot_id().as_bytes()))
    }

    /// Makes it anew, for these owners' files with what they hold.
    pub(super) fn rebuild<'a>(&self, held: impl Iterator<Item = (&'a str, &'a ResourceKey, Mode)>) -> ClaimsResult<()> {
        self.known.borrow_mut().clear();
        disk::remove_tree(&self.dir)?;
        disk::create_dirs(&self.dir)?;
        for (owner, key, mode) in held {
            self.add(owner, std::iter::once((key, mode)))?;
        }
        disk::replace_beside(&self.dir.join(BOOT), disk::boot_id().as_bytes())?;
        Ok(())
    }

    fn path(&self, bucket: &Bucket) -> PathBuf {
        self.dir.join(&bucket.0)
    }
}
