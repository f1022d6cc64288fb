//! What the system calls of the format cost by themselves: a record written under another name and renamed into place, and deleted,
//! under three kinds of guard. No code of the library is in it. What leasing costs is told as a multiple of this.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW};

/// As long as the record of a slot.
const RECORD: &[u8] = &[b'.'; 420];
const ROOM: &str = ".room-floor";
const GUARD: &str = ".guard-floor";
const LOCK: &str = ".lock-floor";
const TEMPORARY: &str = ".tmp-floor";
const PLACE: &str = "floor.json";

/// An open folder with what the guards need.
pub(crate) struct Floor {
    dir: OwnedFd,
    lock: OwnedFd,
}

impl Floor {
    /// Makes what is needed in an existing folder.
    pub(crate) fn new(folder: &Path) -> Self {
        let dir = rustix::fs::open(folder, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).expect("the folder opens");
        rustix::fs::mkdirat(&dir, ROOM, Mode::from_raw_mode(0o700)).expect("the folder is writable");
        std::fs::write(folder.join(ROOM).join("holder.json"), "{}").expect("the folder is writable");
        let lock = rustix::fs::openat(&dir, LOCK, created(), Mode::from_raw_mode(0o600)).expect("the folder is writable");
        Self { dir, lock }
    }

    /// Written and deleted, no lock at all.
    pub(crate) fn without_a_lock(&self) {
        self.write();
        self.delete();
    }

    /// The same twice inside a kernel lock, which is not compatible with the format.
    pub(crate) fn in_a_kernel_lock(&self) {
        self.locked(Self::write);
        self.locked(Self::delete);
    }

    /// The same twice inside a guard that the process owns: a folder, touched and renamed in and out.
    pub(crate) fn in_an_owned_guard(&self) {
        self.guarded(Self::write);
        self.guarded(Self::delete);
    }

    fn locked(&self, change: fn(&Self)) {
        rustix::fs::flock(&self.lock, FlockOperation::LockExclusive).expect("the lock is free");
        change(self);
        rustix::fs::flock(&self.lock, FlockOperation::Unlock).expect("the lock is ours");
    }

    fn guarded(&self, change: fn(&Self)) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        rustix::fs::utimensat(&self.dir, ROOM, &times, AtFlags::empty()).expect("the room is there");
        rustix::fs::renameat_with(&self.dir, ROOM, &self.dir, GUARD, RenameFlags::NOREPLACE).expect("nobody is inside");
        change(self);
        rustix::fs::renameat(&self.dir, GUARD, &self.dir, ROOM).expect("we are inside");
    }

    fn write(&self) {
        let file =
            rustix::fs::openat(&self.dir, TEMPORARY, created(), Mode::from_raw_mode(0o600)).expect("the folder is writable");
        let n_written = rustix::io::write(&file, RECORD).expect("the disk has space");
        assert_eq!(n_written, RECORD.len());
        drop(file);
        rustix::fs::renameat(&self.dir, TEMPORARY, &self.dir, PLACE).expect("the folder is writable");
    }

    fn delete(&self) {
        rustix::fs::unlinkat(&self.dir, PLACE, AtFlags::empty()).expect("it was written");
    }
}

fn created() -> OFlags {
    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC
}
