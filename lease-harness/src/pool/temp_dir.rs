//! A folder of its own for each grant that wants one.
//!
//! It lies in the pool's folder and is named after the grant: whoever ends the grant for its holder, by a release or by
//! reaping a dead one, sees which folder that was, also if the holder could not say anything any more. Whatever else there
//! is belongs to no grant and goes when the pool tidies up. So there are never more folders than slots for long.

use std::fs;
use std::path::PathBuf;

use super::Pool;
use super::error::PoolResult;
use super::slot::SlotDef;
use crate::store::Found;
use crate::sys::disk::{self, At};

const FOLDER: &str = ".temp";

/// The folder's name: no slot has two grants of one number. It is short, which matters to who puts a socket there.
fn name_of(kind: &str, fence: u64) -> String {
    format!("{kind}.{fence}")
}

impl Pool {
    /// The folder of a grant; made if it is not there.
    pub(crate) fn temp_dir(&self, slot: &SlotDef, fence: u64) -> PoolResult<PathBuf> {
        let folder = self.path(FOLDER).join(name_of(slot.kind(), fence));
        fs::create_dir_all(&folder).at("create", &folder)?;
        Ok(folder)
    }

    /// Empties the folder of a grant, if it has one.
    pub(crate) fn empty_temp_dir(&self, slot: &SlotDef, fence: u64) -> PoolResult<()> {
        if self.path(FOLDER).join(name_of(slot.kind(), fence)).exists() {
            self.remove_temp_dir(slot.kind(), fence)?;
            self.temp_dir(slot, fence)?;
        }
        Ok(())
    }

    /// Removes the folder of a grant, if it has one.
    pub(super) fn remove_temp_dir(&self, kind: &str, fence: u64) -> PoolResult<()> {
        Ok(disk::remove_tree(&self.path(FOLDER).join(name_of(kind, fence)))?)
    }

    /// Removes the folders whose grant is not there any more. What cannot be removed stays: that must not cost anybody a slot.
    pub(super) fn tidy_temp_dirs(&self) {
        let folder = self.path(FOLDER);
        for name in disk::names(&folder).unwrap_or_default() {
            // Numbers of grants never come again: what belongs to nobody after it was listed never will.
            if !self.is_of_a_grant(&name) {
                let _ = disk::remove_tree(&folder.join(name));
            }
        }
    }

    fn is_of_a_grant(&self, name: &str) -> bool {
        let Some((kind, _)) = name.rsplit_once('.') else { return false };
        match self.store.found(kind) {
            Ok(Found::Lease(record)) => record.fence().is_some_and(|fence| name == name_of(kind, fence)),
            Ok(Found::Free | Found::Corrupt(_)) => false,
            Err(_) => true,
        }
    }
}
