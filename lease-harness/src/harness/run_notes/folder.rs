//! The folder of a run's notes.

use std::io;
use std::path::Path;

use super::RunNotes;
use crate::store::Ids;
use crate::sys::life_dir::LifeDir;

/// How the names of these folders begin.
const PREFIX: &str = "cargo-lease-of-run-";

/// A folder for the time of one run: its notes, and what else the run's parent needs files for. Only this user can use it.
/// Dropping this removes it.
///
/// # If the process dies
/// It stays, and the next one that is made beside it removes it.
#[derive(Debug)]
pub struct RunFolder {
    dir: LifeDir,
}

impl RunFolder {
    /// Makes one in a folder that may be everybody's.
    ///
    /// # Errors
    /// When nothing can be made there.
    pub fn create(above: &Path) -> io::Result<Self> {
        Ok(Self { dir: LifeDir::create(above, PREFIX, &Ids::random().fresh())? })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The notes in it.
    #[must_use]
    pub fn notes(&self) -> RunNotes {
        RunNotes::in_folder(self.path())
    }
}
