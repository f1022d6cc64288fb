//! A tiny data set in a folder that all runs of a host share: a schema, and a table of users. It knows nothing of claims.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The data set in a folder.
#[derive(Clone, Debug)]
pub struct Data {
    folder: PathBuf,
}

impl Data {
    /// Opens the data set; it is made if there is none.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// The columns of the users.
    ///
    /// # Errors
    /// The schema cannot be read.
    pub fn columns(&self) -> io::Result<Vec<String>> {
        Ok(lines(&self.path("schema"))?.into_iter().filter(|line| !line.is_empty()).collect())
    }

    /// Gives the users these columns. In two steps, as migrations are: whoever reads in between finds no columns.
    ///
    /// # Errors
    /// The schema cannot be written.
    pub fn migrate(&self, columns: &[&str]) -> io::Result<()> {
        fs::write(self.path("schema"), "")?;
        fs::write(self.path("schema"), columns.join("\n"))
    }

    /// The users.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn users(&self) -> io::Result<Vec<String>> {
        lines(&self.path("users"))
    }

    /// Puts these users in place of all others.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn load_users(&self, users: &[&str]) -> io::Result<()> {
        fs::write(self.path("users"), users.join("\n"))
    }

    fn path(&self, table: &str) -> PathBuf {
        self.folder.join(table)
    }
}

fn lines(path: &Path) -> io::Result<Vec<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
