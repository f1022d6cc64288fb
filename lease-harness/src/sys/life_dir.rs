//! Folders that belong to a process as long as it lives. If it dies, whoever makes the next one removes what it left.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Uid, geteuid};

use super::disk;
use super::lock::LockedPlace;

/// What the name of a folder has behind its prefix that is not locked yet.
const MAKING: &str = ".new-";
/// Such a folder is nobody's; after this long its maker is gone.
const MAKING_LIMIT: Duration = Duration::from_secs(60);

/// Such a folder. Dropping this removes it.
#[derive(Debug)]
pub(crate) struct LifeDir {
    path: PathBuf,
    /// Tells others that we live.
    _place: LockedPlace,
}

impl LifeDir {
    /// Makes a folder in `above`, which only this user can use; first those are removed whose processes are gone. The names of
    /// all of them begin with the prefix, and `id` is nobody else's.
    pub(crate) fn create(above: &Path, prefix: &str, id: &str) -> io::Result<Self> {
        remove_left(above, prefix);
        let (making, path) = (above.join(format!("{prefix}{MAKING}{id}")), above.join(format!("{prefix}{id}")));
        DirBuilder::new().mode(0o700).create(&making)?;
        let place = LockedPlace::lock(&making)?.ok_or(io::ErrorKind::WouldBlock)?;
        // It gets its name when it is locked, so that nobody takes it for one that was left while we live.
        fs::rename(&making, &path)?;
        Ok(Self { path, _place: place })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LifeDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders of processes that are gone. What cannot be told or removed stays, and so does what is somebody else's.
fn remove_left(above: &Path, prefix: &str) {
    for name in disk::names(above).unwrap_or_default() {
        let Some(rest) = name.strip_prefix(prefix) else { continue };
        let folder = above.join(&name);
        let is_old = || matches!(disk::age_of(&folder), Ok(Some(age)) if MAKING_LIMIT < age);
        if !is_dir_of(&folder, geteuid()) || rest.starts_with(MAKING) && !is_old() {
            continue;
        }
        if let Ok(Some(place)) = LockedPlace::lock(&folder)
            && place.is_at(&folder)
        {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

/// Whether it is a folder, and this user's.
fn is_dir_of(path: &Path, user: Uid) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == user.as_raw())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::SystemTime;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    const PREFIX: &str = "run-";

    #[test]
    fn a_folder_stays_as_long_as_its_process_and_no_longer() {
        let above = tempfile::tempdir().unwrap();
        let lives = LifeDir::create(above.path(), PREFIX, "lives").unwrap();
        let [left, making, old, other] =
            ["run-left", "run-.new-making", "run-.new-old", "left"].map(|name| above.path().join(name));
        for folder in [&left, &making, &old, &other] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(left.join("note"), "").unwrap();
        fs::File::open(&old).unwrap().set_modified(SystemTime::now() - MAKING_LIMIT * 2).unwrap();
        let next = LifeDir::create(above.path(), PREFIX, "next").unwrap();
        let are_there = [lives.path(), &left, &making, &old, &other, next.path()].map(Path::exists);
        assert_eq!(are_there, [true, false, true, false, true, true]);
        drop((lives, next));
        assert_eq!(disk::names(above.path()).unwrap().len(), 2);
    }

    /// In a folder that all users share, anybody can put anything under such a name.
    #[test]
    fn what_only_has_the_name_of_a_folder_stops_nobody() {
        let above = tempfile::tempdir().unwrap();
        let [fifo, link, elsewhere] = ["run-fifo", "run-link", "elsewhere"].map(|name| above.path().join(name));
        mkfifoat(CWD, &fifo, Mode::RWXU).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        mkfifoat(CWD, elsewhere.join("alive"), Mode::RWXU).unwrap();
        symlink(&elsewhere, &link).unwrap();
        fs::write(above.path().join("run-file"), "").unwrap();
        drop(LifeDir::create(above.path(), PREFIX, "lives").unwrap());
        let mut left = disk::names(above.path()).unwrap();
        left.sort();
        assert_eq!(left, ["elsewhere", "run-fifo", "run-file", "run-link"]);
        assert!(elsewhere.join("alive").exists());
    }

    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let above = tempfile::tempdir().unwrap();
        let ours = geteuid();
        let theirs = Uid::from_raw(ours.as_raw() + 1);
        assert!(is_dir_of(above.path(), ours) && !is_dir_of(above.path(), theirs));
    }

    #[test]
    fn only_its_user_can_use_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let above = tempfile::tempdir().unwrap();
        let folder = LifeDir::create(above.path(), PREFIX, "lives").unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o077, 0);
    }
}
