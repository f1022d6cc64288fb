//! Files: whole reads, replacing writes, renames that refuse to replace, appended lines.

mod anew;
mod file_system;
mod path;
mod write;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use rustix::buffer::spare_capacity;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

pub(crate) use anew::{Anew, KnownMaker, Maker, tidy_anew};
pub(crate) use file_system::{FileSystem, file_system};
pub(crate) use path::path_in;
pub(crate) use write::{Log, Written, append_line, replace, replace_beside, retire, write_in_place, write_new};
#[cfg(feature = "claims")]
pub(crate) use write::{append_at, replace_flushed};
use write::{open_to_overwrite, overwrite};

/// A call to the file system that failed: what, where, why.
#[derive(Debug)]
pub(crate) struct DiskError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}", self.action, self.path.display())
    }
}

impl std::error::Error for DiskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The name that programs print for an error of the system, if it is one of those that a file system gives.
#[must_use]
pub fn errno_name(error: &io::Error) -> Option<&'static str> {
    Some(match Errno::from_io_error(error)? {
        Errno::NOENT => "ENOENT",
        Errno::ISDIR => "EISDIR",
        Errno::NOTDIR => "ENOTDIR",
        Errno::ACCESS => "EACCES",
        Errno::PERM => "EPERM",
        Errno::ROFS => "EROFS",
        Errno::NOSPC => "ENOSPC",
        Errno::DQUOT => "EDQUOT",
        Errno::NAMETOOLONG => "ENAMETOOLONG",
        Errno::LOOP => "ELOOP",
        Errno::MFILE => "EMFILE",
        Errno::IO => "EIO",
        Errno::PIPE => "EPIPE",
        _ => return None,
    })
}

impl DiskError {
    fn is_absent(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

pub(crate) type DiskResult<T> = Result<T, DiskError>;

/// Says what was tried on which path when a call fails.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: &Path) -> DiskResult<T>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, action: &'static str, path: &Path) -> DiskResult<T> {
        self.map_err(|error| DiskError { action, path: path.to_owned(), source: error.into() })
    }
}

/// Turns "there is no such file" into `None`; every other failure stays one.
pub(crate) trait Absent<T> {
    fn absent_as_none(self) -> io::Result<Option<T>>;
}

impl<T> Absent<T> for io::Result<T> {
    fn absent_as_none(self) -> io::Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The whole file, or `None` when there is none.
pub(crate) fn read(path: &Path) -> DiskResult<Option<Vec<u8>>> {
    read_file(path).absent_as_none().at("read", path)
}

/// As [`read`], where a read gives all that there is, as that of a [file system of the kernel's](FileSystem::reads_whole).
pub(crate) fn read_at_once(path: &Path) -> DiskResult<Option<Vec<u8>>> {
    /// Most files of a store are shorter.
    const USUAL: usize = 16 << 10;
    const PAGE: usize = 4096;
    let read = || {
        let file = open_for_reading(path, READING)?;
        let mut bytes = Vec::with_capacity(USUAL);
        // What is no file has no places, or none in which there is anything, or is never at its end.
        match rustix::io::pread(&file, spare_capacity(&mut bytes), 0) {
            // The first pages of a file of which the next could not be read are no whole one.
            Ok(n_read) if n_read % PAGE != 0 && n_read < bytes.capacity() => Ok(bytes),
            _ => check_file(file).and_then(read_whole),
        }
    };
    read().absent_as_none().at("read", path)
}

/// The whole file. What is no file, a pipe or a device, is refused: opening it could wait for ever, and reading it need not
/// end.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    read_whole(open_file(path, OFlags::empty())?)
}

/// A file that was opened and not read yet.
fn read_whole((mut file, metadata): (File, fs::Metadata)) -> io::Result<Vec<u8>> {
    /// What is longer is read in pieces: a length alone must not cost memory.
    const READ_AT_ONCE: usize = 1 << 20;
    let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX).min(READ_AT_ONCE);
    // One byte more than there should be: if it stays empty, the end was seen, and no second look is needed.
    let mut bytes = vec![0; length + 1];
    let n_read = read_once(&mut file, &mut bytes)?;
    bytes.truncate(n_read);
    if n_read != length {
        // It is longer, became so or shorter meanwhile, or was not given whole.
        file.take(u64::MAX).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn read_once(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Opens a file for reading without ever waiting for somebody who may be stopped, and refuses what is no file.
pub(super) fn open_file(path: &Path, more: OFlags) -> io::Result<(File, fs::Metadata)> {
    check_file(open_for_reading(path, READING | more)?)
}

const READING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

fn check_file(file: File) -> io::Result<(File, fs::Metadata)> {
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    match kind.is_file() {
        true => Ok((file, metadata)),
        false if kind.is_dir() => Err(Errno::ISDIR.into()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
    }
}

/// What had this name a moment ago may be [written anew](anew) just now; who looks the name up again finds something else. Mostly that
/// is over at once, but whoever writes may have to wait for a processor.
fn open_for_reading(path: &Path, flags: OFlags) -> io::Result<File> {
    const LONGEST: Duration = Duration::from_millis(100);
    let mut pause = Duration::from_micros(50);
    while pause < LONGEST {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::AGAIN) => std::thread::sleep(pause),
            opened => return Ok(opened?.into()),
        }
        pause = pause * 5 / 4;
    }
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Opens a file for reading and writing in place, or none when there is none. Never waits.
pub(crate) fn open_for_change(path: &Path) -> DiskResult<Option<File>> {
    let opened = rustix::fs::open(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
    opened.map(File::from).map_err(io::Error::from).absent_as_none().at("open", path)
}

/// Creates a folder with all that lead to it.
pub(crate) fn create_dirs(path: &Path) -> DiskResult<()> {
    fs::create_dir_all(path).at("create", path)
}

/// Does what needs a folder, which is made only if it turns out that there is none.
pub(crate) fn with_folder<T>(folder: &Path, act: impl Fn() -> DiskResult<T>) -> DiskResult<T> {
    match act() {
        Err(error) if error.is_absent() => create_dirs(folder).and_then(|()| act()),
        ended => ended,
    }
}

/// The size of a file in bytes, if it can be told.
#[cfg(feature = "claims")]
pub(crate) fn size_of(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().map(|found| found.len())
}

/// Removes a file; true if it was there.
pub(crate) fn remove_file(path: &Path) -> DiskResult<bool> {
    Ok(fs::remove_file(path).absent_as_none().at("remove", path)?.is_some())
}

/// Removes whatever is at `path`, folder or file; nothing there is fine.
pub(crate) fn remove_tree(path: &Path) -> DiskResult<()> {
    match fs::symlink_metadata(path).absent_as_none().at("look at", path)? {
        None => Ok(()),
        Some(found) if found.is_dir() => fs::remove_dir_all(path).absent_as_none().at("remove", path).map(drop),
        Some(_) => remove_file(path).map(drop),
    }
}

/// Device and inode of what has this name, and not of where it leads; `None` when there is nothing.
pub(crate) fn identity(path: &Path) -> DiskResult<Option<String>> {
    let found = fs::symlink_metadata(path).absent_as_none().at("look at", path)?;
    Ok(found.map(|found| format!("{}:{}", found.dev(), found.ino())))
}

/// Which file has a name, and its last change: a file that is replaced or written has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    identity: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

/// The stamp of what has this name; none if it has none, or cannot be looked at.
pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    fs::symlink_metadata(path).ok().map(|found| stamp_of(&found))
}

/// The same for a file that changes again and again: none if it was changed so short a while ago that, by a kernel whose clock ticks
/// slowly, the next change may have the same time.
pub(crate) fn settled_stamp(path: &Path) -> Option<Stamp> {
    /// Longer than a tick.
    const TICK: Duration = Duration::from_millis(20);
    let stamp = stamp(path)?;
    let changed = Duration::new(u64::try_from(stamp.changed.0).ok()?, u32::try_from(stamp.changed.1).ok()?);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    (changed + TICK < now).then_some(stamp)
}

fn stamp_of(found: &fs::Metadata) -> Stamp {
    let changed = (found.ctime(), found.ctime_nsec());
    Stamp { identity: identity_of(found), length: found.len(), changed }
}

/// Whether it is a folder itself, and not a link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

pub(super) fn identity_of(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Whether nothing else is mounted in a folder, as far as that can be seen by device numbers.
pub(crate) fn is_on_one_device(folder: &Path) -> DiskResult<bool> {
    let device = fs::symlink_metadata(folder).at("look at", folder)?.dev();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).at("list", &folder)? {
            let path = entry.at("list", &folder)?.path();
            let found = fs::symlink_metadata(&path).at("look at", &path)?;
            if found.dev() != device {
                return Ok(false);
            }
            if found.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(true)
}

/// Names in a folder, unsorted; names that are no UTF-8 are left out. An absent folder has none.
pub(crate) fn names(dir: &Path) -> DiskResult<Vec<String>> {
    let Some(entries) = fs::read_dir(dir).absent_as_none().at("list", dir)? else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        if let Ok(name) = entry.at("list", dir)?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

/// How a rename that refuses to replace went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    Done,
    /// Something is at the target.
    Occupied,
    /// There is nothing at the source.
    SourceGone,
    /// This file system cannot do it.
    Unsupported,
}

/// Renames `from` to `to` unless something is there.
pub(crate) fn rename_new(from: &Path, to: &Path) -> DiskResult<Placed> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(Placed::Done),
        Err(Errno::EXIST) => Ok(Placed::Occupied),
        Err(Errno::NOENT) => Ok(Placed::SourceGone),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(Placed::Unsupported),
        Err(error) => Err(error).at("rename", from),
    }
}

/// Renames `from` to `to`; false if there is nothing at `from`.
pub(crate) fn rename(from: &Path, to: &Path) -> DiskResult<bool> {
    Ok(fs::rename(from, to).absent_as_none().at("rename", from)?.is_some())
}

/// Creates a folder; false if something is there.
pub(crate) fn create_new_dir(path: &Path) -> DiskResult<bool> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).at("create", path),
    }
}

/// Gives a file or folder the kernel's present time.
pub(crate) fn touch(path: &Path) -> DiskResult<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    rustix::fs::utimensat(CWD, path, &times, rustix::fs::AtFlags::empty()).at("touch", path)
}

/// The same for an open file, which also works when its name is gone.
pub(crate) fn touch_open(file: &File) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Ok(rustix::fs::futimens(file, &Timestamps { last_access: now, last_modification: now })?)
}

/// How long ago something was modified, by the kernel's clock, which no wrong clock of a process can bend.
pub(crate) fn age(modified: SystemTime) -> Duration {
    SystemTime::now().duration_since(modified).unwrap_or_default()
}

/// How long ago `path` was modified; `None` when it is gone.
pub(crate) fn age_of(path: &Path) -> DiskResult<Option<Duration>> {
    let found = fs::symlink_metadata(path).absent_as_none().at("look at", path)?;
    found.map(|found| found.modified().map(age).at("look at", path)).transpose()
}

/// Removes `.` and `..` by the text alone, as other implementations do.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

/// Whether this process may create files in `dir`: its rights, and that the file system is not read-only.
pub(crate) fn check_writable(dir: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(dir, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)?)
}

/// A text that changes with every start of the machine; empty where there is none.
pub(crate) fn boot_id() -> &'static str {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    BOOT_ID.get_or_init(|| read_boot_id().unwrap_or_default())
}

fn read_boot_id() -> io::Result<String> {
    // It is a UUID and a line break, which one call reads.
    let mut bytes = [0; 64];
    let n_read = read_once(&mut File::open("/proc/sys/kernel/random/boot_id")?, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..n_read]).trim().to_owned())
}

#[cfg(test)]
mod tests;
