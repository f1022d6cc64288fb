//! Files that are written anew instead of being made and removed.
//!
//! A new file costs more than all else in a lease where the file system has to find a place for it: on ext4 10 us, and more
//! than 250 where many were removed a short while ago. So whoever writes a small file that will soon be removed or replaced keeps
//! one ready for the next time, in a folder beside it.
//!
//! Readers need no lock all the same, and never see half a file. Such a file is written only while it has no other name, and
//! while the kernel gives us a lease of it (`F_SETLEASE` in fcntl(2)). It does so only if nobody else has the file open; and who
//! opens it then, by a name that he looked up before, gets it when it is whole, or looks the name up again. Who does so may be shown
//! what gets the next name, a moment before it gets it. Whoever is stopped while he writes is waited for as long as the kernel lets
//! a lease be in the way, 45 seconds (`/proc/sys/fs/lease-break-time`); behind that, and if he is killed in the middle of a write, half
//! a text may be seen by such a name that nobody has any more.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) use imp::Filled;

/// The folder of these files.
const FOLDER: &str = ".anew";
/// One that was written a shorter while ago stays for the next time.
const KEPT: Duration = Duration::from_secs(3600);

/// Whose a file is, and who else may read it, as far as owner and mode tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Maker {
    user: u32,
    group: u32,
    mode: u32,
}

impl Maker {
    /// That of a file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::in_metadata(&file.metadata()?))
    }

    fn in_metadata(found: &Metadata) -> Self {
        Self { user: found.uid(), group: found.gid(), mode: found.mode() }
    }
}

/// What a new file of ours has in one folder. At first a guess, by one in another folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownMaker(Arc<Mutex<Option<Maker>>>);

impl KnownMaker {
    /// The same with a guess, if nothing is known yet.
    pub(crate) fn or_guess(&self, maker: Maker) -> Self {
        self.lock().get_or_insert(maker);
        self.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Maker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that is written anew. What is written under one name always becomes the same.
#[derive(Clone, Debug)]
pub(crate) struct Anew {
    path: PathBuf,
    becomes: Becomes,
    maker: KnownMaker,
}

/// What becomes of a file that was written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Becomes {
    /// It gets a second name, until that is removed.
    Linked,
    /// It changes places with the file that it replaces. It never has two names, so that nobody asks for a lease of what others read,
    /// as long as one at a time writes.
    Swapped,
}

impl Anew {
    /// For a file that is made and removed in a folder. Who makes it mostly has nobody beside him who makes one.
    pub(crate) fn linked(folder: &Path, name: &str, maker: KnownMaker) -> Self {
        Self { path: super::path_in(folder, &[FOLDER, "/", name]), becomes: Becomes::Linked, maker }
    }

    /// For a file of a folder that is replaced again and again.
    pub(crate) fn swapped(folder: &Path, name: &str, maker: KnownMaker) -> Self {
        Self { becomes: Becomes::Swapped, ..Self::linked(folder, name, maker) }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes the files in a folder that were not written for long: kinds come and go.
pub(crate) fn tidy_anew(folder: &Path) {
    let folder = folder.join(FOLDER);
    for name in super::names(&folder).unwrap_or_default() {
        let path = folder.join(name);
        if matches!(super::age_of(&path), Ok(Some(age)) if KEPT < age) {
            let _ = super::remove_file(&path);
        }
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::fs::{self, File, OpenOptions};
    use std::io::{self, Read as _};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::time::Duration;

    use rustix::fs::{AtFlags, CWD, RenameFlags};
    use rustix::io::Errno;

    use super::super::{identity_of, open_to_overwrite, overwrite};
    use super::{Anew, Becomes, Maker};
    use crate::sys::clock::since_boot;

    /// A file that was written anew and has no place yet. As long as this is there nobody else writes it.
    #[derive(Debug)]
    pub(in crate::sys::disk) struct Filled {
        anew: Anew,
        file: File,
        /// When it was seen to be where it belongs.
        seen: Duration,
    }

    /// What was seen a shorter while ago is still so: whoever may change it has to get past a guard of ours first, and whoever deletes
    /// the folder leaves nothing that could be mistaken for it.
    const SEEN: Duration = Duration::from_secs(1);

    impl Filled {
        /// Writes the file, or a new one if what is there will not do; none if there can be none, or somebody has it open.
        pub(in crate::sys::disk) fn write(anew: &Anew, bytes: &[u8]) -> Option<Self> {
            match open_to_overwrite(anew.path()) {
                Ok(file) => match Self::of(anew, file).fill(bytes, false).ok()? {
                    Some(filled) => return Some(filled),
                    None => fs::remove_file(anew.path()).ok()?,
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
            Self::of(anew, create(anew.path()).ok()?).fill(bytes, true).ok()?
        }

        fn of(anew: &Anew, file: File) -> Self {
            Self { anew: anew.clone(), file, seen: since_boot() }
        }

        /// None if others read it, or it is not as one that we make.
        fn fill(self, bytes: &[u8], is_new: bool) -> io::Result<Option<Self>> {
            take_lease(&self.file)?;
            let is_filled = self.fill_alone(bytes, is_new);
            give_lease_back(&self.file);
            Ok(is_filled?.then_some(self))
        }

        fn fill_alone(&self, bytes: &[u8], is_new: bool) -> io::Result<bool> {
            // Whoever gives it a place does so before he closes it, and then we have no lease of it.
            let found = self.file.metadata()?;
            if !found.is_file() || found.nlink() != 1 || !self.is_where_it_belongs(&found)? {
                return Ok(false);
            }
            let maker = Maker::in_metadata(&found);
            if is_new {
                *self.anew.maker.lock() = Some(maker);
            } else if *self.anew.maker.lock() != Some(maker) {
                return Ok(false);
            }
            // Half a text is worse than none.
            overwrite(&self.file, found.len(), bytes).inspect_err(|_| drop(self.file.set_len(0)))?;
            Ok(true)
        }

        /// Who links it does not ask: its second name would be counted.
        fn is_where_it_belongs(&self, found: &fs::Metadata) -> io::Result<bool> {
            match self.anew.becomes {
                Becomes::Linked => Ok(true),
                Becomes::Swapped => Ok(identity_of(&fs::symlink_metadata(self.anew.path())?) == identity_of(found)),
            }
        }

        /// Puts it where nothing may be.
        pub(in crate::sys::disk) fn place(&self, path: &Path) -> io::Result<()> {
            match self.anew.becomes {
                Becomes::Linked => self.link(path),
                Becomes::Swapped => {
                    self.check()?;
                    Ok(rustix::fs::renameat_with(CWD, self.anew.path(), CWD, path, RenameFlags::NOREPLACE)?)
                }
            }
        }

        /// Gives this file a second name, and not what has its first one by now.
        fn link(&self, path: &Path) -> io::Result<()> {
            match rustix::fs::linkat(&self.file, "", CWD, path, AtFlags::EMPTY_PATH) {
                // Kernels before 6.10 let only root do that.
                Err(Errno::NOENT | Errno::PERM | Errno::INVAL) => {
                    let open = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                    Ok(rustix::fs::linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
                }
                linked => Ok(linked?),
            }
        }

        /// Gives it the place of a file, which gets its own. Not if it is one to be linked.
        pub(in crate::sys::disk) fn swap_in(&self, path: &Path) -> io::Result<()> {
            if self.anew.becomes != Becomes::Swapped {
                return Err(Errno::INVAL.into());
            }
            self.check()?;
            Ok(rustix::fs::renameat_with(CWD, self.anew.path(), CWD, path, RenameFlags::EXCHANGE)?)
        }

        /// What was written.
        pub(in crate::sys::disk) fn read(&self) -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            (&self.file).read_to_end(&mut bytes)?;
            Ok(bytes)
        }

        /// Whether it is still where it belongs. Who was suspended for long may have been thought dead; and the folder may have been
        /// deleted, and made anew by somebody else.
        fn check(&self) -> io::Result<()> {
            if since_boot().saturating_sub(self.seen) < SEEN || self.is_where_it_belongs(&self.file.metadata()?)? {
                return Ok(());
            }
            Err(Errno::NOENT.into())
        }
    }

    fn create(path: &Path) -> io::Result<File> {
        let create = || OpenOptions::new().read(true).write(true).create_new(true).open(path);
        match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(path.parent().unwrap_or(path))?;
                create()
            }
            created => created,
        }
    }

    /// Fails if anybody else has the file open. Nobody else can open it until the lease is given back.
    fn take_lease(file: &File) -> io::Result<()> {
        // Whoever tries to has us told by a signal, which would end the process if it were not another one.
        control(file, F_SETSIG, libc::SIGURG)?;
        control(file, libc::F_SETLEASE, libc::F_WRLCK)
    }

    fn give_lease_back(file: &File) {
        let _ = control(file, libc::F_SETLEASE, libc::F_UNLCK);
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
    pub(in crate::sys::disk) enum Filled {}

    impl Filled {
        pub(in crate::sys::disk) fn write(_anew: &Anew, _bytes: &[u8]) -> Option<Self> {
            None
        }

        pub(in crate::sys::disk) fn place(&self, _path: &Path) -> io::Result<()> {
            match *self {}
        }

        pub(in crate::sys::disk) fn read(&self) -> io::Result<Vec<u8>> {
            match *self {}
        }

        pub(in crate::sys::disk) fn swap_in(&self, _path: &Path) -> io::Result<()> {
            match *self {}
        }
    }
}
