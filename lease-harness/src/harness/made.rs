//! Things that this process makes and that somebody must remove: recorded first, so that a collector finds what is left.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::{SlotError, SlotErrorKind};
use super::gc::{BRANCHES, PROCESS, Repository};
use crate::store::{
    Ids, LeaseStore, ManagedResource, ProofOfLife, ResourceKind, ResourceState, StoreError, StoreOptions, main_checkout,
};
use crate::sys::disk;

/// The record of what this process makes. Dropping it leaves the things where they are, for a collector (`cargo lease gc`).
///
/// # If the process dies
/// A collector removes what it had made.
pub struct Made {
    process: u32,
    store: LeaseStore,
    proof: ProofOfLife,
    things: std::sync::Mutex<Vec<ManagedResource>>,
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made").field("store", &self.store.dir()).finish_non_exhaustive()
    }
}

impl Made {
    /// An empty record in a store.
    ///
    /// # Errors
    /// The store cannot be used.
    pub fn in_store(options: &StoreOptions) -> Result<Self, SlotError> {
        let store = LeaseStore::open(options)?;
        let proof = store.proof_of_life()?.ok_or_else(|| internal("this store knows no proofs of life"))?;
        Ok(Self { process: std::process::id(), store, proof, things: std::sync::Mutex::default() })
    }

    /// A new, empty folder.
    ///
    /// # Errors
    /// It cannot be made or recorded.
    pub fn temp_folder(&self) -> Result<PathBuf, SlotError> {
        let path = self.new_folder()?;
        self.add(ResourceKind::TempFolder, Some(&path), None, None)?;
        Ok(path)
    }

    /// A new worktree of the repository around `within`, on a branch of its own that begins with `lease/`, at its `HEAD`.
    ///
    /// # Errors
    /// There is no repository, or git refuses.
    pub fn worktree(&self, within: &Path) -> Result<PathBuf, SlotError> {
        let no_repository = || SlotError::new(SlotErrorKind::Usage, format!("{} is in no repository", within.display()));
        let repository = main_checkout(within).ok_or_else(no_repository)?;
        let path = self.new_folder()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let branch = format!("{BRANCHES}{name}");
        // git takes an empty folder, so that it is recorded before there is anything in it.
        self.add(ResourceKind::Worktree, Some(&path), Some(&branch), Some(&repository))?;
        self.add(ResourceKind::Branch, None, Some(&branch), Some(&repository))?;
        let text = path.display().to_string();
        let added = Repository(&repository).git(&["worktree", "add", "--quiet", "-b", &branch, "--", &text]);
        added.map_err(|said| internal(format!("git cannot add a worktree: {said}")))?;
        Ok(path)
    }

    /// Says that what lies there is to be kept for a reason, after this process too.
    ///
    /// # Errors
    /// It is none of ours, or the record cannot be written.
    pub fn retain(&self, path: &Path, reason: &str) -> Result<(), SlotError> {
        let path = path.display().to_string();
        let mut things = self.things();
        let thing = things.iter_mut().find(|thing| thing.path.as_ref() == Some(&path));
        let thing = thing.ok_or_else(|| SlotError::new(SlotErrorKind::Usage, format!("{path} was not made here")))?;
        thing.state = ResourceState::Retained;
        thing.reason = Some(reason.to_owned());
        self.record(thing)
    }

    fn new_folder(&self) -> Result<PathBuf, SlotError> {
        let folder = self.store.resources().made_dir();
        let path = folder.join(Ids::random().fresh());
        let failed = |error| SlotError::from(StoreError::from(error));
        self.store.create()?;
        disk::create_dirs(&folder).map_err(failed)?;
        disk::create_new_dir(&path).map_err(failed)?;
        Ok(path)
    }

    fn add(
        &self,
        kind: ResourceKind,
        path: Option<&Path>,
        branch: Option<&str>,
        repository: Option<&Path>,
    ) -> Result<(), SlotError> {
        let now_ms = self.store.now_ms();
        let failed = |error| SlotError::from(StoreError::from(error));
        let name = path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let thing = ManagedResource {
            id: format!("{}:{}", kind.as_str(), name.as_deref().or(branch).unwrap_or_default()),
            kind,
            owner_kind: PROCESS.to_owned(),
            owner_id: self.proof.id().to_owned(),
            created_at_ms: now_ms,
            last_seen_ms: now_ms,
            state: ResourceState::Active,
            reason: None,
            cleanup_after_ms: None,
            path: path.map(|path| path.display().to_string()),
            branch: branch.map(str::to_owned),
            repository: repository.map(|repository| repository.display().to_string()),
            identity: path.map(disk::identity).transpose().map_err(failed)?.flatten(),
        };
        self.record(&thing)?;
        self.things().push(thing);
        Ok(())
    }

    fn record(&self, thing: &ManagedResource) -> Result<(), SlotError> {
        Ok(self.store.resources().record(&format!("{PROCESS}.{}", self.proof.id()), thing)?)
    }

    fn things(&self) -> std::sync::MutexGuard<'_, Vec<ManagedResource>> {
        self.things.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        // The proof of life ends with us, and nothing else could tell that we are done.
        for thing in self.things().iter().filter(|thing| thing.state == ResourceState::Active) {
            let left = ManagedResource { state: ResourceState::Abandoned, ..thing.clone() };
            let _ = self.record(&left);
        }
    }
}

fn internal(message: impl Into<String>) -> SlotError {
    SlotError::new(SlotErrorKind::Internal, message)
}
