//! A grant as nextest reads the environment that a setup script gives to tests: a line `NAME=value` each.
//!
//! Nextest takes what stands behind the first `=` as it is, so nothing can be quoted or escaped; a name may not begin with
//! `NEXTEST`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use lease_harness::pool::PoolFile;

use super::variable::Variable;
use crate::exit::Failure;

/// Refuses a pool of which some grant could not be written: whichever slot it will be.
///
/// # Errors
///
/// A usage error that names slot and variable.
pub(super) fn check(file: &PoolFile) -> Result<(), Failure> {
    for slot in file.slots() {
        let id = ("POOL_RUN_SLOT".to_owned(), slot.id_text().to_owned());
        for (name, value) in slot.grant_env().iter().chain([&id]) {
            line(Variable { slot_id: slot.id_text(), name, value })?;
        }
    }
    Ok(())
}

/// The lines for one grant.
///
/// # Errors
///
/// As [`check`].
pub(super) fn lines(slot_id: &str, envs: &[(String, String)]) -> Result<String, Failure> {
    envs.iter().map(|(name, value)| line(Variable { slot_id, name, value })).collect()
}

fn line(variable: Variable<'_>) -> Result<String, Failure> {
    let refused = |why: &str| variable.refused(why, "handed to nextest");
    let value = variable.checked().map_err(|why| refused(&why))?;
    if variable.name.starts_with("NEXTEST") {
        return Err(refused("begins with NEXTEST, which is nextest's"));
    }
    // One at the end would be taken for a part of the line's end.
    if value.contains('\n') || value.ends_with('\r') {
        return Err(refused("holds a line break"));
    }
    Ok(format!("{}={value}\n", variable.name))
}

/// The file that nextest reads.
#[derive(Debug)]
pub(super) struct EnvFile<'a> {
    path: &'a Path,
    file: File,
}

impl<'a> EnvFile<'a> {
    /// Opens it, when nobody else has it open for this any more: nextest runs one setup script after the other, but one may
    /// call us twice at once, and the second call is to find what the first one got.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn open(path: &'a Path) -> Result<Self, Failure> {
        let opened = File::options().read(true).append(true).create(true).open(path);
        let locked = opened.and_then(|file| file.lock().map(|()| file));
        Ok(Self { path, file: locked.map_err(|error| cannot_write(path, error))? })
    }

    /// Adds lines to what the script has written before.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn append(mut self, lines: &str) -> Result<(), Failure> {
        let separator = ends_a_line(&mut self.file).map(|ends| if ends { "" } else { "\n" });
        let added = separator.and_then(|separator| self.file.write_all(format!("{separator}{lines}").as_bytes()));
        added.map_err(|error| cannot_write(self.path, error))
    }
}

fn cannot_write(path: &Path, error: io::Error) -> Failure {
    Failure::internal(format!("cannot write {} (NEXTEST_ENV)", path.display()), error)
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_they_are_and_what_a_line_cannot_hold_is_refused() {
        let fits = [("A", ""), ("_b1", "a=b 'c' \"d\" $e\\ # é"), ("NEXT", "a\rb")];
        for (name, value) in fits {
            let variable = Variable { slot_id: "1", name, value };
            assert_eq!(line(variable).expect("it fits"), format!("{name}={value}\n"));
        }
        let table = [
            ("A", "a\nb", "a line break"),
            ("A", "a\r", "a line break"),
            ("A", "a\0b", "NUL"),
            ("NEXTEST_A", "a", "nextest's"),
            ("1A", "a", "no name"),
            ("A-B", "a", "no name"),
            ("", "a", "no name"),
        ];
        for (name, value, why) in table {
            let said = line(Variable { slot_id: "7", name, value }).expect_err("refused").to_string();
            assert!(said.starts_with(&format!("slot 7: {name} ")) && said.contains(why), "{said}");
        }
    }

    #[test]
    fn lines_come_behind_what_is_there_and_never_into_it() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let path = dir.path().join("env");
        for (before, after) in [("", "A=1\n"), ("B=2\n", "B=2\nA=1\n"), ("B=2", "B=2\nA=1\n")] {
            std::fs::write(&path, before).expect("written");
            EnvFile::open(&path).and_then(|file| file.append("A=1\n")).expect("written");
            assert_eq!(std::fs::read_to_string(&path).expect("text"), after);
        }
        let said = EnvFile::open(dir.path()).expect_err("a folder").to_string();
        assert!(said.contains("NEXTEST_ENV"), "{said}");
    }
}
