//! The records of whoever made something, with the descriptors in them.
//!
//! `.resources/<maker>.json` is the record of one maker: a process, named after its proof of life, or a grant of a slot. What
//! is made lies in `.resources/made`, unless it has a place of its own, as the folder of a grant has.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::LeaseStore;
use super::error::{StoreError, StoreResult};
use super::resource::ManagedResource;
use crate::json::{Json, object};
use crate::sys::disk::{self, At};
use crate::sys::lock::LockedPlace;

pub(super) const FOLDER: &str = ".resources";
/// How long a change of a record waits for others.
const LOCK_WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// The records of a store.
#[derive(Clone, Debug)]
pub(crate) struct Resources {
    store: LeaseStore,
}

impl LeaseStore {
    pub(crate) fn resources(&self) -> Resources {
        Resources { store: self.clone() }
    }
}

impl Resources {
    /// Where the records are.
    pub(crate) fn dir(&self) -> PathBuf {
        self.store.dir().join(FOLDER)
    }

    /// Where things are made.
    pub(crate) fn made_dir(&self) -> PathBuf {
        self.dir().join("made")
    }

    /// The makers that have a record, in order.
    pub(crate) fn makers(&self) -> StoreResult<Vec<String>> {
        let mut names: Vec<_> = disk::names(&self.dir())?
            .iter()
            .filter(|name| !name.starts_with('.'))
            .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
            .collect();
        names.sort();
        Ok(names)
    }

    /// The descriptors in a maker's record; a sentence if it is damaged.
    pub(crate) fn read(&self, maker: &str) -> StoreResult<Result<Vec<Json>, String>> {
        let Some(bytes) = disk::read(&self.file(maker))? else { return Ok(Ok(Vec::new())) };
        Ok(descriptors(&bytes))
    }

    /// Writes something about a resource down; in place of what the record says about one of the same name.
    pub(crate) fn record(&self, maker: &str, resource: &ManagedResource) -> StoreResult<()> {
        self.store.create()?;
        disk::create_dirs(&self.dir())?;
        self.change(maker, |all| match all.iter_mut().find(|known| is_named(known, &resource.id)) {
            Some(known) => *known = resource.to_json(),
            None => all.push(resource.to_json()),
        })
    }

    /// Takes a resource out of the record, which goes with its last one.
    pub(crate) fn forget(&self, maker: &str, id: &str) -> StoreResult<()> {
        self.change(maker, |all| all.retain(|known| !is_named(known, id)))
    }

    /// Removes the record of a maker, if there is one.
    pub(crate) fn forget_all(&self, maker: &str) {
        let _ = disk::remove_file(&self.file(maker));
    }

    /// Changes a record that can be read; one that cannot stays.
    fn change(&self, maker: &str, change: impl FnOnce(&mut Vec<Json>)) -> StoreResult<()> {
        let Some(_lock) = lock(&self.dir(), LOCK_WAIT)? else {
            return Err(StoreError::busy(format!("{} is busy", self.dir().display())));
        };
        let mut all = self.read(maker)?.map_err(|what| StoreError::damaged(format!("{}: {what}", self.file(maker).display())))?;
        change(&mut all);
        if all.is_empty() {
            disk::remove_file(&self.file(maker))?;
            return Ok(());
        }
        let text = object([("schemaVersion", Json::Number(1.0)), ("resources", Json::Array(all))]).to_text();
        Ok(disk::replace_beside(&self.file(maker), text.as_bytes())?)
    }

    fn file(&self, maker: &str) -> PathBuf {
        self.dir().join(format!("{maker}.json"))
    }
}

/// Locks a folder, within a time; none if others had it all the time.
pub(crate) fn lock(folder: &Path, limit: Duration) -> StoreResult<Option<LockedPlace>> {
    let begun = Instant::now();
    loop {
        let locked = LockedPlace::lock(folder).at("lock", folder)?;
        if locked.is_some() || limit <= begun.elapsed() {
            return Ok(locked);
        }
        std::thread::sleep(PAUSE);
    }
}

fn is_named(document: &Json, id: &str) -> bool {
    document.get("resourceId").and_then(Json::as_str) == Some(id)
}

fn descriptors(bytes: &[u8]) -> Result<Vec<Json>, String> {
    let document = Json::parse_bytes(bytes).map_err(|error| error.to_string())?;
    if document.get("schemaVersion") != Some(&Json::Number(1.0)) {
        return Err("schemaVersion is not 1".to_owned());
    }
    Ok(document.get("resources").and_then(Json::as_array).ok_or("it has no list of resources")?.to_vec())
}
