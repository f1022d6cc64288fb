//! Who may hold what: from resources to the files of their owners.
//!
//! A hint that makes looking for conflicts independent of how many other leases there are. A line is written before its
//! lease counts, and stays until somebody finds that it leads to nothing; so it may say too much, never too little. What
//! counts is the owner's file.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use super::error::ClaimsResult;
use super::key::{Kind, ResourceKey};
use super::names::digest;
use crate::sys::disk;

/// So many lines that lead to nothing are left alone.
const FEW: usize = 16;

/// The file that tells since which start of the machine the index is kept.
const BOOT: &str = "boot";

fn boot_id() -> &'static str {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    BOOT_ID.get_or_init(|| disk::boot_id().unwrap_or_default())
}

pub(super) struct Index {
    dir: PathBuf,
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
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
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

    /// The owners' files that these places name.
    pub(super) fn owners(&self, buckets: &BTreeSet<Bucket>) -> ClaimsResult<BTreeSet<String>> {
        let mut owners = BTreeSet::new();
        for bucket in buckets {
            owners.extend(self.lines(bucket)?);
        }
        Ok(owners)
    }

    /// Names an owner's file where these keys stand. Before its leases count.
    pub(super) fn add<'a>(&self, owner: &str, keys: impl Iterator<Item = &'a ResourceKey>) -> ClaimsResult<()> {
        let buckets: BTreeSet<_> = keys.map(Bucket::of).collect();
        for bucket in buckets {
            let (lines, length) = self.read(&bucket)?;
            if !lines.iter().any(|known| known == owner) {
                disk::create_dirs(&self.dir)?;
                disk::append_at(&self.path(&bucket), length, format!("{owner}\n").as_bytes(), false)?;
            }
        }
        Ok(())
    }

    /// Takes out the lines that lead to no file, if they are many.
    pub(super) fn forget(&self, buckets: &BTreeSet<Bucket>, gone: &BTreeSet<String>) -> ClaimsResult<()> {
        if gone.len() <= FEW {
            return Ok(());
        }
        for bucket in buckets {
            let lines = self.lines(bucket)?;
            let kept: Vec<_> = lines.iter().filter(|line| !gone.contains(*line)).map(|line| format!("{line}\n")).collect();
            if kept.len() < lines.len() {
                disk::replace_beside(&self.path(bucket), kept.concat().as_bytes())?;
            }
        }
        Ok(())
    }

    fn lines(&self, bucket: &Bucket) -> ClaimsResult<Vec<String>> {
        Ok(self.read(bucket)?.0)
    }

    /// The lines, and how many bytes they are: one that was cut off by a full disk names nobody.
    fn read(&self, bucket: &Bucket) -> ClaimsResult<(Vec<String>, u64)> {
        let bytes = disk::read(&self.path(bucket))?.unwrap_or_default();
        let length = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = String::from_utf8_lossy(&bytes[..length]).lines().map(str::to_owned).collect();
        Ok((lines, length as u64))
    }

    /// Whether it was written since the machine was started. One that was not may have lost lines in a power cut, and is made
    /// anew.
    pub(super) fn is_of_this_boot(&self) -> ClaimsResult<bool> {
        let written = disk::read(&self.dir.join(BOOT))?;
        Ok(written.is_some_and(|written| written == boot_id().as_bytes()))
    }

    /// Makes it anew, for these owners' files with what they hold.
    pub(super) fn rebuild<'a>(&self, held: impl Iterator<Item = (&'a str, &'a ResourceKey)>) -> ClaimsResult<()> {
        disk::remove_tree(&self.dir)?;
        disk::create_dirs(&self.dir)?;
        for (owner, key) in held {
            self.add(owner, std::iter::once(key))?;
        }
        disk::replace_beside(&self.dir.join(BOOT), boot_id().as_bytes())?;
        Ok(())
    }

    fn path(&self, bucket: &Bucket) -> PathBuf {
        self.dir.join(&bucket.0)
    }
}
