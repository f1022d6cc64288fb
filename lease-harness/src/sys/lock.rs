//! Kernel locks on files: they end with the process that holds them, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use rustix::fs::OFlags;

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
