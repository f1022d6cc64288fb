//! The files of a store, as they are read and written on its file system.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::error::{StoreError, StoreResult};
use super::record::{Found, Record};
use super::{LeaseStore, RECORD, TEMPORARY};
use crate::sys::disk::{self, Anew, DiskResult, FileSystem, KnownMaker, Written};

impl LeaseStore {
    pub(super) fn path(&self, kind: &str) -> PathBuf {
        disk::path_in(self.dir(), &[kind, RECORD])
    }

    pub(crate) fn found(&self, kind: &str) -> StoreResult<Found> {
        Ok(Found::from_bytes(self.read(&self.path(kind))?.as_deref()))
    }

    pub(super) fn write(&self, kind: &str, record: &Record, anew: Option<&Anew>) -> StoreResult<Written> {
        let temporary = || disk::path_in(self.dir(), &[TEMPORARY, kind, "-", &self.inner.ids.fresh()]);
        Ok(Written::write_anew(anew, temporary, record.to_file_text().as_bytes())?)
    }

    /// A file of the store, whole; none if it is not there.
    pub(crate) fn read(&self, path: &Path) -> DiskResult<Option<Vec<u8>>> {
        if self.inner.file_system.reads_whole { disk::read_at_once(path) } else { disk::read(path) }
    }

    /// What is written anew in a folder of this store, if anything is: files that are soon removed need not be made each time. Only for
    /// who has a proof of life, by which it is guessed what files have that this process makes.
    pub(crate) fn anew(&self, known: &KnownMaker, of: impl FnOnce(KnownMaker) -> Anew) -> Option<Anew> {
        let is_worth_it = self.has_additions() && self.inner.file_system.has_dear_files;
        let life = self.inner.life.lock().unwrap_or_else(PoisonError::into_inner);
        let (proof, _) = life.as_ref().filter(|(proof, _)| is_worth_it && proof.is_of_this_process())?;
        proof.maker().map(|maker| of(known.or_guess(maker)))
    }
}

/// Locks and renames do not hold between the machines of a network file system. Tells of others what they are like.
pub(super) fn refuse_network(dir: &Path) -> StoreResult<FileSystem> {
    let Some(existing) = dir.ancestors().find(|dir| dir.exists()) else { return Ok(FileSystem::default()) };
    let file_system = disk::file_system(existing)?;
    match file_system.network {
        None => Ok(file_system),
        Some(name) => {
            let message = format!("invalid store {} — it lies on a {name} file system, where leases do not hold", dir.display());
            Err(StoreError::usage(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::sync::Arc;

    use super::*;
    use crate::json::Json;
    use crate::store::{AcquireRequest, Acquired, Refreshed, StoreOptions};

    /// A store on a file system of which this is said.
    fn store(dir: &Path, has_dear_files: bool) -> LeaseStore {
        let options = StoreOptions { store: Some(dir.to_owned()), owner_pattern: Some(String::new()), ..StoreOptions::default() };
        let mut store = LeaseStore::open(&options).unwrap();
        let inner = Arc::get_mut(&mut store.inner).expect("nobody else has it yet");
        inner.file_system.has_dear_files = has_dear_files;
        store
    }

    fn acquire(store: &LeaseStore, owner: &str) -> Record {
        let request = AcquireRequest { kind: "db", owner, ttl_minutes: 1.0, payload: Json::Null };
        let Acquired::Acquired { record, .. } = store.acquire(&request).unwrap() else { panic!("it is free") };
        record
    }

    fn release(store: &LeaseStore, record: &Record) {
        assert!(store.release("db", record.owner().unwrap(), record.token().unwrap()).unwrap().is_ok());
    }

    /// Which file has the record of the lease.
    fn inode(store: &LeaseStore) -> u64 {
        store.path("db").metadata().unwrap().ino()
    }

    #[test]
    fn where_files_are_dear_the_record_of_a_lease_is_written_anew() {
        let temp = tempfile::tempdir().unwrap();
        let store = store(temp.path(), true);
        let mut inodes = Vec::new();
        for owner in ["first", "the-second-one", "3"] {
            let record = acquire(&store, owner);
            assert_eq!(store.found("db").unwrap(), Found::Lease(record.clone()));
            inodes.push(inode(&store));
            release(&store, &record);
            assert_eq!(store.found("db").unwrap(), Found::Free);
        }
        inodes.dedup();
        // A system that cannot tell whether somebody has a file open makes none there.
        assert!(inodes.len() == 1 || !temp.path().join(".anew").exists(), "{inodes:?}");
    }

    #[test]
    fn a_heartbeat_does_not_write_what_others_may_read() {
        let temp = tempfile::tempdir().unwrap();
        let store = store(temp.path(), true);
        let record = acquire(&store, "holder");
        let before = (inode(&store), std::fs::File::open(store.path("db")).unwrap());
        let refreshed = store.heartbeat("db", "holder", record.token().unwrap()).unwrap();
        assert!(matches!(refreshed, Refreshed::Refreshed { .. }), "{refreshed:?}");
        assert_ne!(inode(&store), before.0);
        assert_eq!(std::io::read_to_string(before.1).unwrap(), record.to_file_text());
        release(&store, &record);
        release(&store, &acquire(&store, "next"));
    }

    #[test]
    fn elsewhere_nothing_is_kept() {
        let temp = tempfile::tempdir().unwrap();
        let store = store(temp.path(), false);
        release(&store, &acquire(&store, "holder"));
        assert!(!temp.path().join(".anew").exists());
    }
}
