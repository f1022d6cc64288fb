//! A folder for the time of one run: notes of its processes, nextest's list and our part of its configuration.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lease_harness::harness::RunNotes;

use crate::exit::Failure;

const PREFIX: &str = "cargo-lease-run-";
/// A file that the process keeps locked while it lives.
const ALIVE: &str = "alive";
/// How old a folder has to be before somebody else may find that its process is gone: it may be about to be locked.
const YOUNG: Duration = Duration::from_secs(60);

/// The folder; removed when this is dropped.
///
/// If the process dies it stays, and the next run that starts removes it.
pub(super) struct RunFolder {
    path: PathBuf,
    _alive: File,
}

impl RunFolder {
    /// A fresh one among the system's temporary files, which only this user can read.
    pub(super) fn create() -> Result<Self, Failure> {
        let parent = std::env::temp_dir();
        remove_orphans(&parent);
        try_create(&parent).map_err(|error| Failure::internal(format!("cannot create a folder in {}", parent.display()), error))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn notes(&self) -> RunNotes {
        RunNotes::in_folder(&self.path)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn try_create(parent: &Path) -> io::Result<RunFolder> {
    let mut number = 0;
    loop {
        let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {
                let alive = File::create_new(path.join(ALIVE))?;
                alive.lock()?;
                return Ok(RunFolder { path, _alive: alive });
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Removes folders whose process is gone. What cannot be told or removed stays.
fn remove_orphans(parent: &Path) {
    let folders = fs::read_dir(parent).into_iter().flatten().filter_map(Result::ok);
    let ours = folders.filter(|folder| folder.file_name().to_string_lossy().starts_with(PREFIX));
    for folder in ours.map(|folder| folder.path()).filter(|folder| is_orphan(folder).unwrap_or(false)) {
        let _ = fs::remove_dir_all(folder);
    }
}

fn is_orphan(folder: &Path) -> io::Result<bool> {
    let alive = File::open(folder.join(ALIVE))?;
    let age = alive.metadata()?.modified()?.elapsed().unwrap_or_default();
    Ok(YOUNG < age && alive.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_stays_as_long_as_its_process_and_no_longer() {
        let parent = tempfile::tempdir().expect("temporary folder");
        let folder = try_create(parent.path()).expect("created");
        let other = try_create(parent.path()).expect("another");
        let age = |folder: &Path| {
            let alive = File::options().write(true).open(folder.join(ALIVE)).expect("there");
            alive.set_modified(std::time::SystemTime::now() - YOUNG * 2).expect("aged");
        };
        age(folder.path());
        let orphan = parent.path().join(format!("{PREFIX}0-0"));
        fs::create_dir(&orphan).expect("folder");
        File::create(orphan.join(ALIVE)).expect("file");
        remove_orphans(parent.path());
        assert!(folder.path().exists() && orphan.exists(), "one lives, the other is young");
        age(&orphan);
        remove_orphans(parent.path());
        assert!(folder.path().exists() && !orphan.exists());
        drop((folder, other));
        assert_eq!(fs::read_dir(parent.path()).expect("folder").count(), 0);
    }
}
