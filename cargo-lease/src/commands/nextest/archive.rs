//! An archive of tests, unpacked once: the listing unpacks it, and the run uses what is there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use lease_harness::harness::RunFolder;
use serde_json::Value;

use crate::exit::Failure;
use crate::inject::{OwnWords, append, without};
use crate::resolve::Surroundings;

/// Nextest's files beside what it unpacks.
const BINARIES: &str = "binaries-metadata.json";
const CARGO: &str = "cargo-metadata.json";

/// An archive that a listing unpacks.
#[derive(Clone, Debug)]
pub(super) struct Archive {
    /// Where it is unpacked.
    dir: PathBuf,
    /// Whether the user has said where.
    is_users: bool,
    /// A file of ours for the run.
    binaries: PathBuf,
}

impl Archive {
    /// The archive that these words name, if they do. Where they do not say where to unpack it, it lives as long as the folder.
    pub(super) fn of(words: &OwnWords<'_>, folder: &RunFolder, around: &Surroundings) -> Result<Option<Self>, Failure> {
        if words.values(&["--archive-file"]).is_empty() {
            return Ok(None);
        }
        let binaries = folder.path().join(BINARIES);
        if let Some(dir) = words.values(&["--extract-to"]).pop() {
            return Ok(Some(Self { dir: around.absolute(Path::new(&dir)), is_users: true, binaries }));
        }
        let dir = folder.path().join("archive");
        fs::create_dir(&dir).map_err(|error| Failure::internal(format!("cannot create {}", dir.display()), error))?;
        Ok(Some(Self { dir, is_users: false, binaries }))
    }

    /// The words of a listing that unpacks it.
    pub(super) fn unpacking(&self, words: Vec<OsString>) -> Vec<OsString> {
        if self.is_users { words } else { append(&words, ["--extract-to".into(), self.dir.clone().into()]) }
    }

    /// The words of a run with what is unpacked in the archive's place; as they are if it is not as we know it.
    pub(super) fn unpacked(&self, words: Vec<OsString>) -> Vec<OsString> {
        let target = self.dir.join("target");
        let cargo = target.join("nextest").join(CARGO);
        if !cargo.is_file() || self.write_binaries(&target).is_none() {
            return words;
        }
        let words = without(&words, &["--archive-file", "--archive-format", "--extract-to"], &["--extract-overwrite"]);
        let files = [("--binaries-metadata", self.binaries.clone()), ("--cargo-metadata", cargo), ("--target-dir-remap", target)];
        append(&words, files.into_iter().flat_map(|(option, path)| [option.into(), path.into()]))
    }

    /// What nextest knows of the binaries, with the libraries of the compiler where they are unpacked: it finds the binaries
    /// from the new target folder, but looks for those where they were on the machine of the build.
    fn write_binaries(&self, target: &Path) -> Option<()> {
        let mut binaries: Value = serde_json::from_slice(&fs::read(target.join("nextest").join(BINARIES)).ok()?).ok()?;
        let platforms = &mut binaries["rust-build-meta"]["platforms"];
        let libraries = target.join("nextest/libdirs");
        point_to(&mut platforms["host"], &libraries.join("host"))?;
        for (idx, platform) in platforms["targets"].as_array_mut().into_iter().flatten().enumerate() {
            point_to(platform, &libraries.join("target").join(idx.to_string()))?;
        }
        fs::write(&self.binaries, binaries.to_string()).ok()
    }
}

/// Names the folder of a platform's libraries, if it is there; nothing if that cannot be done.
fn point_to(platform: &mut Value, libraries: &Path) -> Option<()> {
    if libraries.is_dir() {
        *platform.pointer_mut("/libdir/path")? = libraries.to_str()?.into();
    }
    Some(())
}
