//! Kernel locks on files: they end with the process that holds them, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::disk::{self, Absent};

/// What trying the lock of a file told.
#[derive(Debug)]
pub(crate) enum Tried {
    /// Nobody holds it; until the file is dropped nobody can take it for himself.
    Free(File),
    /// Somebody holds it.
    Held(File),
    /// There is no such file.
    Absent,
}

/// Creates a file that did not exist and locks it.
pub(crate) fn create_locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::Error(error) => error,
        TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
    })?;
    Ok(file)
}

/// Looks whether the lock of an existing file is free, without waiting. The lock of what only leads to a file, or is none,
/// tells nothing, and is an error.
///
/// Looking shares the lock, so that two who look at one moment see the same.
///
/// The file is opened for reading only, so that closing it does not wake whoever watches for a holder's end.
pub(crate) fn try_existing(path: &Path) -> io::Result<Tried> {
    let Some(file) = disk::open_file(path, OFlags::NOFOLLOW).absent_as_none()? else { return Ok(Tried::Absent) };
    match file.try_lock_shared() {
        Ok(()) => Ok(Tried::Free(file)),
        Err(TryLockError::WouldBlock) => Ok(Tried::Held(file)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Takes the lock for itself from others that look at it; false if one of them is at it now.
pub(crate) fn take_alone(file: &File) -> bool {
    // The kernel turns a shared lock into an exclusive one (flock(2)).
    file.try_lock().is_ok()
}

/// A folder, or what stands in its place, that nobody else holds like this: by itself and not by its name.
#[derive(Debug)]
pub(crate) struct LockedPlace(File);

impl LockedPlace {
    /// Locks what has this name now; none if somebody else holds it, or it is not there any more.
    pub(crate) fn lock(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from);
        let Some(folder) = opened.map(File::from).absent_as_none()? else { return Ok(None) };
        match folder.try_lock() {
            Ok(()) => Ok(Some(Self(folder))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether it still has this name.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let identity = |found: io::Result<fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
        let ours = identity(self.0.metadata());
        ours.is_some() && ours == identity(fs::symlink_metadata(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_locks_a_place_and_knows_it_by_itself() {
        let temp = tempfile::tempdir().unwrap();
        let (place, elsewhere) = (temp.path().join("place"), temp.path().join("elsewhere"));
        assert!(LockedPlace::lock(&place).unwrap().is_none(), "nothing is there");
        fs::create_dir(&place).unwrap();
        let locked = LockedPlace::lock(&place).unwrap().expect("nobody holds it");
        assert!(LockedPlace::lock(&place).unwrap().is_none());
        assert!(locked.is_at(&place));
        fs::rename(&place, &elsewhere).unwrap();
        fs::create_dir(&place).unwrap();
        assert!(!locked.is_at(&place) && locked.is_at(&elsewhere));
        assert!(LockedPlace::lock(&place).unwrap().is_some(), "another folder under the same name");
        drop(locked);
        assert!(LockedPlace::lock(&elsewhere).unwrap().is_some());
    }
}
