//! Files that are written: in the place of another, in their own place, or behind what they have.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
#[cfg(feature = "claims")]
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{CWD, OFlags, RenameFlags};
use rustix::io::Errno;

use super::anew::{Anew, Filled};
use super::{At, DiskResult, Placed, Stamp, remove_file, rename_new, stamp_of};
use crate::sys::clock::since_boot;

/// Writes `bytes` to `temporary` and renames it to `path`, so that a reader sees the old file or the new one.
///
/// Nothing is flushed to the device, and after a power cut the file may be empty: who held a lease or waited before it does
/// not do so after.
pub(crate) fn replace(path: &Path, temporary: PathBuf, bytes: &[u8]) -> DiskResult<()> {
    Written::write(temporary, bytes)?.swap_in(path)
}

/// Writes a file that is not there yet under its own name: for a name that nobody else knows. If it fails there is no file.
pub(crate) fn write_new(path: &Path, anew: Option<&Anew>, bytes: &[u8]) -> DiskResult<()> {
    if anew.and_then(|anew| Filled::write(anew, bytes)).is_some_and(|filled| filled.place(path).is_ok()) {
        return Ok(());
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).at("create", path)?;
    file.write_all(bytes).inspect_err(|_| drop(fs::remove_file(path))).at("write", path)
}

/// A file that was written, under a temporary name or anew. Unless it is placed it is as if it had not been.
#[derive(Debug)]
pub(crate) struct Written {
    /// What is to be removed in the end, if it is there.
    temporary: PathBuf,
    /// Then there is nothing under the temporary name.
    filled: Option<Filled>,
}

impl Written {
    pub(crate) fn write(temporary: PathBuf, bytes: &[u8]) -> DiskResult<Self> {
        let written = Self { temporary, filled: None };
        fs::write(&written.temporary, bytes).at("write", &written.temporary)?;
        Ok(written)
    }

    /// The same; anew, if that can be.
    pub(crate) fn write_anew(anew: Option<&Anew>, temporary: impl FnOnce() -> PathBuf, bytes: &[u8]) -> DiskResult<Self> {
        match anew.and_then(|anew| Filled::write(anew, bytes)) {
            Some(filled) => Ok(Self { temporary: temporary(), filled: Some(filled) }),
            None => Self::write(temporary(), bytes),
        }
    }

    /// Gives it its name; false if something has that name.
    pub(crate) fn place_new(mut self, path: &Path) -> DiskResult<bool> {
        match self.filled.as_ref().map(|filled| filled.place(path)) {
            Some(Ok(())) => return Ok(true),
            Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            _ => self.become_temporary()?,
        }
        match rename_new(&self.temporary, path)? {
            Placed::Done => {
                self.temporary = PathBuf::new();
                Ok(true)
            }
            Placed::Occupied => Ok(false),
            Placed::SourceGone | Placed::Unsupported => self.place(path).map(|()| true),
        }
    }

    /// Gives it its name, in place of what has that name.
    pub(crate) fn place(mut self, path: &Path) -> DiskResult<()> {
        if self.filled.as_ref().is_some_and(|filled| filled.place(path).is_ok()) {
            return Ok(());
        }
        self.become_temporary()?;
        fs::rename(&self.temporary, path).at("replace", path)?;
        self.temporary = PathBuf::new();
        Ok(())
    }

    /// The same for what need not outlive a power cut, behind which the file may be empty, or have a text of before if it was written
    /// anew: the two files change names, and the old one is removed or written anew the next time. At a rename over a file ext4
    /// begins to write to the device at once, so that there is one of them after a cut; a small file then costs five times as much,
    /// and sometimes a hundred times.
    pub(crate) fn swap_in(mut self, path: &Path) -> DiskResult<()> {
        if self.filled.as_ref().is_some_and(|filled| filled.swap_in(path).is_ok() || filled.place(path).is_ok()) {
            return Ok(());
        }
        self.become_temporary()?;
        match rustix::fs::renameat_with(CWD, &self.temporary, CWD, path, RenameFlags::EXCHANGE) {
            // Dropping this removes what has the temporary name now.
            Ok(()) => Ok(()),
            Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.place(path),
            Err(error) => Err(error).at("replace", path),
        }
    }

    /// Makes a file of it that has only a temporary name.
    fn become_temporary(&mut self) -> DiskResult<()> {
        let Some(filled) = self.filled.take() else { return Ok(()) };
        filled.read().and_then(|bytes| fs::write(&self.temporary, bytes)).at("write", &self.temporary)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if self.filled.is_none() && !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Removes a file that may be written anew when there is another of its kind.
pub(crate) fn retire(path: &Path, anew: Option<&Anew>) -> DiskResult<()> {
    match anew.map(|anew| rename_new(path, anew.path())) {
        Some(Ok(Placed::Done)) => Ok(()),
        // There need be no folder for it.
        _ => remove_file(path).map(drop),
    }
}

/// Appends one line in a single write, so that lines of several writers do not mix.
pub(crate) fn append_line(path: &Path, line: &str) -> DiskResult<()> {
    write_line(&open_log(path)?, line).at("append to", path)
}

fn open_log(path: &Path) -> DiskResult<File> {
    // A pipe in its place must not make us wait for somebody who reads it.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().append(true).create(true).custom_flags(nonblocking).open(path).at("open", path)
}

fn write_line(mut file: &File, line: &str) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(line.len() + 1);
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    file.write_all(&bytes)
}

/// A file to which one process appends again and again; it stays open.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Option<OpenLog>>);

#[derive(Debug)]
struct OpenLog {
    file: File,
    /// When it was seen to be there.
    seen: Duration,
}

/// A log that was removed is missed this late.
const SEEN: Duration = Duration::from_millis(250);

impl Log {
    /// As [`append_line`]. The path is always the same; if the file that had it was removed there will be a new one, a moment later. One
    /// that got another name goes on being written, as logs do.
    pub(crate) fn append_line(&self, path: &Path, line: &str) -> DiskResult<()> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = since_boot();
        let open = match known.take() {
            Some(open) if now.saturating_sub(open.seen) < SEEN => open,
            Some(open) if open.file.metadata().is_ok_and(|found| 0 < found.nlink()) => OpenLog { seen: now, ..open },
            _ => OpenLog { file: open_log(path)?, seen: now },
        };
        write_line(&known.insert(open).file, line).at("append to", path)
    }
}

/// Writes a whole file in its place, which nobody may look at meanwhile; what is no file is refused, and what has another name, by which
/// a copy may go on being used. Gives its stamp then.
///
/// It is not emptied first: ext4 writes a file to the device at once that was emptied and closed.
pub(crate) fn write_in_place(path: &Path, bytes: &[u8]) -> DiskResult<Stamp> {
    let write = |file: File| {
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
        }
        if found.nlink() != 1 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has another name"));
        }
        overwrite(&file, found.len(), bytes)?;
        Ok(stamp_of(&file.metadata()?))
    };
    overwriting().create(true).open(path).and_then(write).at("write", path)
}

/// Opens a file to be [overwritten](overwrite). Never waits, and follows no link.
pub(super) fn open_to_overwrite(path: &Path) -> io::Result<File> {
    overwriting().open(path)
}

fn overwriting() -> OpenOptions {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options.read(true).write(true).truncate(false).custom_flags(flags);
    options
}

/// Writes a whole file of this length in its place.
pub(super) fn overwrite(file: &File, length: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)?;
    if length == bytes.len() as u64 { Ok(()) } else { file.set_len(bytes.len() as u64) }
}

/// Puts bytes behind the first `length` bytes of a file, in place of whatever stands there; the file is made if there is none.
/// On failure it has its first `length` bytes again, as far as the system lets it.
#[cfg(feature = "claims")]
pub(crate) fn append_at(path: &Path, length: u64, bytes: &[u8], is_flushed: bool) -> DiskResult<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).at("open", path)?;
    let write = |mut file: &File| {
        if file.seek(SeekFrom::End(0))? != length {
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))?;
        }
        file.write_all(bytes)?;
        if is_flushed { file.sync_data() } else { Ok(()) }
    };
    write(&file).inspect_err(|_| drop(file.set_len(length))).at("append to", path)
}

/// As [`replace`], for a file that one process at a time writes; and the new one is on the device before it has the name.
#[cfg(feature = "claims")]
pub(crate) fn replace_flushed(path: &Path, bytes: &[u8]) -> DiskResult<()> {
    let written = Written::write(beside(path), bytes)?;
    File::open(&written.temporary).and_then(|file| file.sync_data()).at("flush", &written.temporary)?;
    written.place(path)?;
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).at("flush", folder)
}

/// As [`replace`], for a file that one process at a time writes; after a power cut it is the old one or the new one, as far as the
/// file system sees to it.
pub(crate) fn replace_beside(path: &Path, bytes: &[u8]) -> DiskResult<()> {
    Written::write(beside(path), bytes)?.place(path)
}

/// A name in the same folder for a file that one process at a time writes: what a killed one leaves, the next one replaces.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".tmp-{name}"))
}
