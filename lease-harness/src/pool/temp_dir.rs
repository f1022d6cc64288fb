//! A folder of its own for each grant that wants one.
//!
//! It lies in the pool's folder and is named after the grant: whoever ends the grant for its holder, by a release or by
//! reaping a dead one, sees which folder that was, also if the holder could not say anything any more. Whatever else there
//! is belongs to no grant and goes when the pool tidies up. So there are never more folders than slots for long.

use std::path::{Path, PathBuf};

use super::Pool;
use super::error::PoolResult;
use super::slot::SlotDef;
use crate::store::{Found, LeaseStore, ManagedResource, ResourceKind, ResourceState};
use crate::sys::disk;

const FOLDER: &str = ".temp";

/// The kind of owner of such a folder, in its descriptor.
pub(crate) const GRANT: &str = "slot";

/// The folder's name: no slot has two grants of one number. It is short, which matters to who puts a socket there.
fn name_of(kind: &str, fence: u64) -> String {
    format!("{kind}.{fence}")
}

impl Pool {
    /// The folder of a grant; made if it is not there.
    pub(crate) fn temp_dir(&self, slot: &SlotDef, fence: u64) -> PoolResult<PathBuf> {
        let folder = self.path(FOLDER).join(name_of(slot.kind(), fence));
        disk::create_dirs(&self.path(FOLDER))?;
        if disk::create_new_dir(&folder)? {
            // Whoever ends the grant removes the folder by its name; the record is for who looks for what was left.
            let _ = self.describe(&name_of(slot.kind(), fence), &folder);
        }
        Ok(folder)
    }

    fn describe(&self, name: &str, folder: &Path) -> PoolResult<()> {
        let now_ms = self.store.now_ms();
        let resource = ManagedResource {
            id: format!("temp_folder:{name}"),
            kind: ResourceKind::TempFolder,
            owner_kind: GRANT.to_owned(),
            owner_id: name.to_owned(),
            created_at_ms: now_ms,
            last_seen_ms: now_ms,
            state: ResourceState::Active,
            reason: None,
            cleanup_after_ms: None,
            path: Some(folder.display().to_string()),
            branch: None,
            repository: None,
            identity: disk::identity(folder)?,
        };
        Ok(self.store.resources().record(&record_of(name), &resource)?)
    }

    /// Empties the folder of a grant, if it has one.
    pub(crate) fn empty_temp_dir(&self, slot: &SlotDef, fence: u64) -> PoolResult<()> {
        if self.path(FOLDER).join(name_of(slot.kind(), fence)).exists() {
            self.remove_temp_dir(slot.kind(), fence)?;
            self.temp_dir(slot, fence)?;
        }
        Ok(())
    }

    /// Removes the folder of a grant that has ended. Where there is none, there is no record of it either, or one for the
    /// collector.
    pub(super) fn forget_temp_dir(&self, kind: &str, fence: u64) {
        if disk::is_folder(&self.path_of(&[FOLDER, "/", &name_of(kind, fence)])) {
            let _ = self.remove_temp_dir(kind, fence);
        }
    }

    /// Removes the folder of a grant, if it has one.
    fn remove_temp_dir(&self, kind: &str, fence: u64) -> PoolResult<()> {
        let name = name_of(kind, fence);
        disk::remove_tree(&self.path(FOLDER).join(&name))?;
        self.store.resources().forget_all(&record_of(&name));
        Ok(())
    }

    /// Removes the folders whose grant is not there any more. What cannot be removed stays: that must not cost anybody a slot.
    pub(super) fn tidy_temp_dirs(&self) {
        let folder = self.path(FOLDER);
        for name in disk::names(&folder).unwrap_or_default() {
            // Numbers of grants never come again: what belongs to nobody after it was listed never will.
            if !self.is_of_a_grant(&name) {
                let _ = disk::remove_tree(&folder.join(&name));
                self.store.resources().forget_all(&record_of(&name));
            }
        }
    }

    fn is_of_a_grant(&self, name: &str) -> bool {
        holds(&self.store, name).unwrap_or(true)
    }
}

/// Whether the grant of this name is held; none if it cannot be told.
fn holds(store: &LeaseStore, name: &str) -> Option<bool> {
    let Some((kind, _)) = name.rsplit_once('.') else { return Some(false) };
    match store.found(kind) {
        Ok(Found::Lease(record)) => Some(record.fence().is_some_and(|fence| name == name_of(kind, fence))),
        Ok(Found::Free | Found::Corrupt(_)) => Some(false),
        Err(_) => None,
    }
}

/// What has the name of a grant, as the owner of a resource, and whether it is held.
pub(crate) fn grant_is_held(store: &LeaseStore, name: &str) -> Option<bool> {
    let (kind, fence) = name.rsplit_once('.')?;
    let is_name = crate::store::is_kind(kind) && fence.parse::<u64>().is_ok();
    match store.found(kind) {
        Ok(Found::Corrupt(_)) => None,
        _ if is_name => holds(store, name),
        _ => None,
    }
}

/// Whether this is where the folder of a grant lies: in the folder of a pool of this store.
pub(crate) fn is_place_of_grant(store: &LeaseStore, path: &Path, name: &str) -> bool {
    let pool = path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == FOLDER)).and_then(Path::parent);
    path.file_name().is_some_and(|last| last == name) && pool.and_then(Path::parent) == Some(store.dir())
}

fn record_of(name: &str) -> String {
    format!("{GRANT}.{name}")
}
