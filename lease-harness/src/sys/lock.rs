//! Kernel locks on files: they end with the process that holds them, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::process::{Flock, FlockType};

use super::disk::{self, Absent};

/// What trying the lock of a file told.
#[derive(Debug)]
pub(crate) enum Tried {
    /// Nobody holds it; until the file is dropped nobody can take it for himself.
    Free(File),
    /// Somebody holds it; so the file was before.
    Held(fs::Metadata),
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
    let opened = disk::open_file(path, OFlags::NOFOLLOW).absent_as_none()?;
    let Some((file, metadata)) = opened else { return Ok(Tried::Absent) };
    match file.try_lock_shared() {
        Ok(()) => Ok(Tried::Free(file)),
        Err(TryLockError::WouldBlock) => Ok(Tried::Held(metadata)),
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
        let identity = |found: io::Result<fs::Metadata>| found.ok().map(|found| disk::identity_of(&found));
        let ours = identity(self.0.metadata());
        ours.is_some() && ours == identity(fs::symlink_metadata(path))
    }
}

/// A file whose lock belongs to a process alone, also when it goes on as another program: those that it starts inherit nothing
/// of it. It ends with the process, or when this is dropped.
///
/// Such a lock also ends when its process closes another descriptor of the same file, so that a process opens such a file no
/// second time; and whoever watches its folder is woken when this is dropped, so that who waits for the lock keeps it.
#[derive(Debug)]
pub(crate) struct LifeLock(File);

impl LifeLock {
    /// Opens an existing file, whose lock it does not take.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().read(true).write(true).open(path)?))
    }

    /// Takes the lock, without waiting; false if another process has it.
    pub(crate) fn take(&self) -> io::Result<bool> {
        match rustix::fs::fcntl_lock(&self.0, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives it back. Nobody is woken by that.
    pub(crate) fn give_back(&self) -> io::Result<()> {
        Ok(rustix::fs::fcntl_lock(&self.0, FlockOperation::Unlock)?)
    }

    /// Lets the program that this process becomes next keep it.
    pub(crate) fn outlive_this_program(&self) -> io::Result<()> {
        Ok(rustix::io::fcntl_setfd(&self.0, FdFlags::empty())?)
    }

    /// What is written in the file.
    pub(crate) fn text(&self) -> io::Result<String> {
        text_in(&self.0)
    }

    /// Writes something else into the file.
    pub(crate) fn set_text(&self, text: &str) -> io::Result<()> {
        self.0.write_all_at(text.as_bytes(), 0)?;
        self.0.set_len(u64::try_from(text.len()).map_err(io::Error::other)?)
    }
}

/// Looks at such a lock from another process, and neither takes it nor wakes anybody, so that it is in nobody's way.
#[derive(Debug)]
pub(crate) struct LifeLook(File);

impl LifeLook {
    /// Opens an existing file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(File::open(path)?))
    }

    /// Whether another process has the lock.
    pub(crate) fn is_held(&self) -> io::Result<bool> {
        Ok(rustix::process::fcntl_getlk(&self.0, &Flock::from(FlockType::WriteLock))?.is_some())
    }

    /// What is written in the file.
    pub(crate) fn text(&self) -> io::Result<String> {
        text_in(&self.0)
    }
}

fn text_in(file: &File) -> io::Result<String> {
    let mut text = vec![0; 64];
    let n_bytes = file.read_at(&mut text, 0)?;
    text.truncate(n_bytes);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    const BECOMES: &str = "sys::lock::tests::a_lock_for_life_is_kept_by_the_next_program_and_not_by_its_children";
    const PATH: &str = "LEASE_TEST_LIFE_LOCK";

    /// The process that has the lock becomes a shell, whose child outlives it.
    #[test]
    fn a_lock_for_life_is_kept_by_the_next_program_and_not_by_its_children() {
        if let Some(path) = std::env::var_os(PATH) {
            let lock = LifeLock::open(path.as_ref()).unwrap();
            assert!(lock.take().unwrap(), "nobody has it");
            lock.set_text("longer").unwrap();
            lock.set_text("held").unwrap();
            lock.outlive_this_program().unwrap();
            // The standard error is the pipe of the test.
            let script = "sleep 1000 2>/dev/null & echo $! >&2; read wait";
            panic!("{}", Command::new("sh").args(["-c", script]).exec());
        }
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        assert_eq!(LifeLock::open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&path, "").unwrap();
        let look = LifeLook::open(&path).unwrap();
        assert!(!look.is_held().unwrap());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", BECOMES, "--nocapture"]).env(PATH, &path).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = command.stdout(Stdio::null()).spawn().unwrap();
        let mut said = BufReader::new(holder.stderr.take().unwrap());
        let mut sleeper = String::new();
        said.read_line(&mut sleeper).unwrap();
        let lock = LifeLock::open(&path).unwrap();
        assert!(!lock.take().unwrap() && look.is_held().unwrap(), "the shell has it");
        drop(holder.stdin.take());
        holder.wait().unwrap();
        assert!(!look.is_held().unwrap() && lock.take().unwrap(), "it ended with the shell");
        assert_eq!(lock.text().unwrap(), "held");
        said.read_to_string(&mut String::new()).unwrap();
        let sleeper = sleeper.trim();
        assert!(Path::new(&format!("/proc/{sleeper}")).exists() || !Path::new("/proc/self").exists(), "its child lives");
        Command::new("kill").arg(sleeper).status().unwrap();
    }

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
