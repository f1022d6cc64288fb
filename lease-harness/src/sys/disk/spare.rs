//! Files that are written anew instead of being made and removed.
//!
//! A new file costs more than all else in a lease where the file system has to find a place for it: on ext4 10 us, and more
//! than 250 where many were removed a short while ago. So whoever writes a small file that will soon be removed or replaced keeps
//! one ready for the next time, in a folder beside it.
//!
//! Readers need no lock all the same, and never see half a file. A spare file is written only while it has no other name, and
//! while the kernel gives us a lease of it (`F_SETLEASE` in fcntl(2)). It does so only if nobody else has the file open; and who
//! opens it then, by a name that he looked up before, gets it when it is whole, or looks the name up again.

use std::path::{Path, PathBuf};

pub(super) use imp::Spare;

/// The folder of spare files.
const FOLDER: &str = ".spare";

/// A spare file, by what becomes of it: what is written under one name always becomes the same.
#[derive(Debug)]
pub(crate) enum Anew {
    /// It is given a second name, until that is removed.
    Linked(PathBuf),
    /// It changes places with the file that it replaces.
    Swapped(PathBuf),
}

impl Anew {
    /// For a file that is made and removed in a folder. Who makes it mostly has nobody beside him who makes one.
    pub(crate) fn linked(folder: &Path, name: &str) -> Self {
        Self::Linked(super::path_in(folder, &[FOLDER, "/", name]))
    }

    /// For a file of a folder that is replaced again and again.
    pub(crate) fn swapped(folder: &Path, name: &str) -> Self {
        Self::Swapped(super::path_in(folder, &[FOLDER, "/", name]))
    }

    fn path(&self) -> &Path {
        let (Self::Linked(path) | Self::Swapped(path)) = self;
        path
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::{CWD, OFlags, RenameFlags};
    use rustix::io::Errno;

    use super::super::identity_of;
    use super::Anew;

    /// A spare file that was written. As long as this is there nobody else writes it.
    #[derive(Debug)]
    pub(in crate::sys::disk) struct Spare {
        anew: Anew,
        file: File,
    }

    impl Spare {
        /// Writes a spare file; none if there can be none, it is in use, or somebody reads it.
        pub(in crate::sys::disk) fn write(anew: Anew, bytes: &[u8]) -> Option<Self> {
            let spare = Self::write_unseen(anew, bytes)?;
            let _ = control(&spare.file, libc::F_SETLEASE, libc::F_UNLCK);
            Some(spare)
        }

        /// The same; and as long as this is there nobody else can open the file.
        pub(in crate::sys::disk) fn write_unseen(anew: Anew, bytes: &[u8]) -> Option<Self> {
            let file = open(anew.path()).ok()?;
            let spare = Self { anew, file };
            let is_filled = spare.fill(bytes).unwrap_or(false);
            is_filled.then_some(spare)
        }

        /// False if it is not a spare file any more.
        fn fill(&self, bytes: &[u8]) -> io::Result<bool> {
            take_lease(&self.file)?;
            // Whoever makes it more than that does so before he closes it, and then we have no lease of it.
            let found = self.file.metadata()?;
            if !found.is_file() || found.nlink() != 1 || !self.is_in_its_place(&found)? {
                return Ok(false);
            }
            self.file.write_all_at(bytes, 0)?;
            if found.len() != bytes.len() as u64 {
                self.file.set_len(bytes.len() as u64)?;
            }
            Ok(true)
        }

        fn is_in_its_place(&self, found: &fs::Metadata) -> io::Result<bool> {
            match &self.anew {
                Anew::Linked(_) => Ok(true),
                Anew::Swapped(path) => Ok(identity_of(&fs::symlink_metadata(path)?) == identity_of(found)),
            }
        }

        /// Gives it a second name, which nothing may have.
        pub(in crate::sys::disk) fn link(&self, path: &Path) -> io::Result<()> {
            fs::hard_link(self.anew.path(), path)
        }

        /// Gives it the place of a file, which becomes the spare one. Not if it is one to be linked.
        pub(in crate::sys::disk) fn swap_in(&self, path: &Path) -> rustix::io::Result<()> {
            match &self.anew {
                Anew::Linked(_) => Err(Errno::INVAL),
                Anew::Swapped(spare) => rustix::fs::renameat_with(CWD, spare, CWD, path, RenameFlags::EXCHANGE),
            }
        }

        /// Writes what it has to another file.
        pub(in crate::sys::disk) fn copy(&self, path: &Path) -> io::Result<()> {
            fs::copy(self.anew.path(), path).map(drop)
        }
    }

    fn open(path: &Path) -> io::Result<File> {
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or_default();
        let open = || OpenOptions::new().write(true).create(true).truncate(false).custom_flags(flags).open(path);
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(path.parent().unwrap_or(path))?;
                open()
            }
            opened => opened,
        }
    }

    /// Fails if anybody else has the file open. Nobody else can open it as long as the lease is not given back and the file is not
    /// closed.
    fn take_lease(file: &File) -> io::Result<()> {
        // Whoever tries to has us told by a signal, which would end the process if it were not another one.
        control(file, F_SETSIG, libc::SIGURG)?;
        control(file, libc::F_SETLEASE, libc::F_WRLCK)
    }

    /// Which libc does not name.
    const F_SETSIG: libc::c_int = 10;

    fn control(file: &File, what: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: neither of the two takes more than a number, and the file is open.
        match unsafe { libc::fcntl(file.as_raw_fd(), what, value) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Elsewhere nothing says whether somebody has a file open.
#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;
    use std::path::Path;

    use super::Anew;

    #[derive(Debug)]
    pub(in crate::sys::disk) enum Spare {}

    impl Spare {
        pub(in crate::sys::disk) fn write(_anew: Anew, _bytes: &[u8]) -> Option<Self> {
            None
        }

        pub(in crate::sys::disk) fn write_unseen(_anew: Anew, _bytes: &[u8]) -> Option<Self> {
            None
        }

        pub(in crate::sys::disk) fn link(&self, _path: &Path) -> io::Result<()> {
            match *self {}
        }

        pub(in crate::sys::disk) fn swap_in(&self, _path: &Path) -> rustix::io::Result<()> {
            match *self {}
        }

        pub(in crate::sys::disk) fn copy(&self, _path: &Path) -> io::Result<()> {
            match *self {}
        }
    }
}
