//! A pipe with a name, by which any other process wakes the one that sleeps beside it.
//!
//! A watch of a folder wakes everybody who watches it, for every change; there are few watches for each user of a system. A
//! bell wakes one.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::disk;
use super::process::own_number;

/// Our own bell. It is taken away when this is dropped.
#[derive(Debug)]
pub(crate) struct Bell {
    process: u32,
    path: PathBuf,
    pipe: File,
    /// Held so that the pipe never looks closed.
    _other_end: File,
}

impl Bell {
    /// Makes a bell, whose folder must be there. Nobody else may have one of this name.
    pub(crate) fn hang(path: &Path) -> io::Result<Self> {
        make_pipe(path)?;
        let pipe = without_waiting().read(true).open(path);
        let ends = pipe.and_then(|pipe| Ok((pipe, without_waiting().write(true).open(path)?)));
        let (pipe, other_end) = ends.inspect_err(|_| drop(fs::remove_file(path)))?;
        Ok(Self { process: own_number(), path: path.to_owned(), pipe, _other_end: other_end })
    }

    /// The same bell under another name in the same folder; none if it is not where it was hung. Nobody else may have one of this
    /// name.
    pub(crate) fn rehang(mut self, path: &Path) -> Option<Self> {
        // Who tidies up takes away only what is old.
        let _ = disk::touch_open(&self.pipe);
        let is_moved = self.process == own_number() && fs::rename(&self.path, path).is_ok();
        is_moved.then(|| {
            path.clone_into(&mut self.path);
            self.silence();
            self
        })
    }

    /// Forgets how often it was rung.
    pub(super) fn silence(&self) {
        let mut rings = [0; 64];
        while matches!((&self.pipe).read(&mut rings), Ok(n_rings) if 0 < n_rings) {}
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        // Not a fork of the process whose it is.
        if self.process == own_number() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Wakes whoever has this bell. Nobody, or nobody who listens, is fine.
pub(crate) fn ring(path: &Path) {
    // With an end for reading of our own: who writes where nobody reads is sent a signal.
    if let Ok(mut pipe) = without_waiting().read(true).write(true).open(path) {
        let _ = pipe.write(b"!");
    }
}

fn without_waiting() -> OpenOptions {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let mut options = OpenOptions::new();
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    options
}

fn make_pipe(path: &Path) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the name is a text that ends with a zero and outlives the call.
    match unsafe { libc::mkfifo(name.as_ptr(), 0o666) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::watch::{Watch, Woken};
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_ring_before_the_sleep_is_heard_and_only_once() {
        let temp = tempfile::tempdir().unwrap();
        let bell = Bell::hang(&temp.path().join("bell")).unwrap();
        let watch = Watch::nothing();
        ring(&temp.path().join("bell"));
        ring(&temp.path().join("bell"));
        assert_eq!(watch.sleep_beside(Some(&bell), LONG), Woken::Changed);
        assert_eq!(watch.sleep_beside(Some(&bell), Duration::ZERO), Woken::Timeout);
    }

    #[test]
    fn a_bell_that_hangs_elsewhere_is_as_a_new_one() {
        let temp = tempfile::tempdir().unwrap();
        let [first, second, third] = ["first", "second", "third"].map(|name| temp.path().join(name));
        let bell = Bell::hang(&first).unwrap();
        ring(&first);
        let bell = bell.rehang(&second).unwrap();
        assert!(!first.exists());
        assert_eq!(Watch::nothing().sleep_beside(Some(&bell), Duration::ZERO), Woken::Timeout);
        ring(&second);
        assert_eq!(Watch::nothing().sleep_beside(Some(&bell), LONG), Woken::Changed);
        fs::remove_file(&second).unwrap();
        assert!(bell.rehang(&third).is_none());
        assert!(!third.exists());
    }

    #[test]
    fn who_rings_where_nobody_is_does_no_harm() {
        let temp = tempfile::tempdir().unwrap();
        let (nobody, file) = (temp.path().join("nobody"), temp.path().join("file"));
        ring(&nobody);
        assert!(!nobody.exists());
        fs::write(&file, "text").unwrap();
        assert_eq!(Bell::hang(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let (gone, bell) = (temp.path().join("gone"), temp.path().join("bell"));
        drop(Bell::hang(&gone).unwrap());
        assert!(!gone.exists());
        make_pipe(&bell).unwrap();
        ring(&bell);
    }
}
