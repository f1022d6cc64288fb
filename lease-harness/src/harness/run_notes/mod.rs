//! Notes that the processes of a run of nextest leave for the `cargo lease nextest run` above them.
//!
//! It names a folder in their environment. A test binary that lists its tests says which of them take slots, and of which
//! pools; a process that asks for a slot says how long it waited. To leave a note is never what a test fails of, and without
//! these variables nothing is written.

mod folder;
mod leased;
mod taken;

use std::path::{Path, PathBuf};

pub use folder::RunFolder;
pub use leased::{LeasedTest, NamedPool};
pub use taken::{AskEnd, SlotNote};

pub(super) use taken::SlotNotes;

use crate::store::Env;

/// The folder of the notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunNotes {
    folder: PathBuf,
}

impl RunNotes {
    /// The variable that names the folder to test binaries which list their tests.
    pub const TESTS: &str = "LEASE_TELL_TESTS";
    /// The variable that names the folder to processes which ask for slots.
    pub const SLOTS: &str = "LEASE_TELL_WAITS";

    /// Notes in this folder, which is there.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where this process is to tell of its tests, if anywhere.
    pub(crate) fn of_tests() -> Option<Self> {
        Env::Process.get(Self::TESTS).map(Self::in_folder)
    }

    fn of_slots(env: &Env) -> Option<Self> {
        env.get(Self::SLOTS).map(Self::in_folder)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
