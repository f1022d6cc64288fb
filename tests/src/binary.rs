//! The program under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;
use std::{fs, io};

use crate::environment;

/// The packages that the program is made of.
const PACKAGES: [&str; 3] = ["cargo-lease", "lease-harness", "macros"];

/// The built `cargo-lease`. Cargo tells a package's tests only where its own programs lie, so the first call in a process
/// looks for what cargo has built together with this one. Is that missing or out of date, because cargo was asked for these
/// tests only, then a folder of its own is built into: beside this program a build with other features or packages would
/// take the place of what other tests are running. When that is fresh it takes a tenth of a second, and cargo's own lock makes
/// concurrent test processes wait for one build.
///
/// # Panics
///
/// If it does not compile; cargo's output is the message.
pub fn cargo_lease() -> &'static Path {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOUND.get_or_init(find).as_ref().unwrap_or_else(|output| panic!("cargo-lease does not build:\n{output}"))
}

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

/// The folder of programs that cargo has built together with the test that runs.
///
/// # Panics
///
/// If this is no test.
pub fn programs() -> PathBuf {
    let test = std::env::current_exe().expect("a program knows its path");
    let folder = test.parent().filter(|folder| folder.ends_with("deps")).and_then(Path::parent);
    folder.expect("cargo puts tests into a folder of its own beside the programs").to_owned()
}

fn find() -> Result<PathBuf, String> {
    let built = programs().join("cargo-lease");
    let is_fresh = is_newer(&built, &sources()).map_err(|error| format!("its sources cannot be read: {error}"))?;
    if is_fresh { Ok(built) } else { build(&programs().with_file_name("tmp").join("cargo-lease")) }
}

/// What the program is made of, and what says with what and how.
fn sources() -> Vec<PathBuf> {
    let of_packages = PACKAGES.iter().flat_map(|package| ["src", "Cargo.toml"].map(|name| workspace().join(package).join(name)));
    of_packages.chain(["Cargo.toml", "Cargo.lock"].map(|name| workspace().join(name))).collect()
}

/// Whether a file is there and was written since all of these were, and what is in them.
fn is_newer(file: &Path, sources: &[PathBuf]) -> io::Result<bool> {
    let Ok(written) = fs::metadata(file).and_then(|metadata| metadata.modified()) else { return Ok(false) };
    Ok(sources.iter().map(|source| last_written(source)).collect::<io::Result<Vec<_>>>()?.iter().all(|other| *other <= written))
}

/// When a file, or the last one in a folder, was written.
fn last_written(path: &Path) -> io::Result<SystemTime> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        return metadata.modified();
    }
    let mut last = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(path)? {
        last = last.max(last_written(&entry?.path())?);
    }
    Ok(last)
}

/// Builds it into a folder.
fn build(folder: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new(environment::cargo());
    // As the developer builds, so only what the test run added is removed.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_TARGET_TMPDIR", "RUST_TEST_THREADS"] {
        command.env_remove(name);
    }
    let output = command
        .args(["build", "--quiet", "--package", "cargo-lease", "--message-format", "json-render-diagnostics", "--target-dir"])
        .arg(folder)
        .current_dir(workspace())
        .stdin(Stdio::null())
        .output()
        .expect("cargo can be started");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    stdout.lines().filter_map(executable).next_back().ok_or_else(|| "cargo named no program".to_owned())
}

fn executable(line: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(PathBuf::from(message.get("executable")?.as_str()?))
}

#[cfg(test)]
mod tests {
    use std::slice;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_program_is_fresh_that_is_not_older_than_a_source() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let [program, package] = ["program", "package"].map(|name| folder.path().join(name));
        let write = |path: PathBuf, seconds| {
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            let file = fs::File::create(path).expect("file");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("it is ours");
        };
        let is_newer = || is_newer(&program, slice::from_ref(&package)).expect("all can be read");
        write(package.join("src/deep/lib.rs"), 5);
        assert!(!is_newer(), "there is none");
        write(program.clone(), 5);
        assert!(is_newer());
        write(package.join("src/deep/lib.rs"), 6);
        assert!(!is_newer());
    }
}
