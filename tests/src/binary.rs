//! The program under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::environment;

/// The built `cargo-lease`. Cargo tells a package's tests only where its own programs lie, so the first call in a
/// process asks cargo to build it; when it is fresh that takes a tenth of a second, and cargo's own lock makes
/// concurrent test processes wait for one build.
///
/// # Panics
///
/// If it does not compile; cargo's output is the message.
pub fn cargo_lease() -> &'static Path {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(build).as_ref().unwrap_or_else(|output| panic!("cargo-lease does not build:\n{output}"))
}

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

fn build() -> Result<PathBuf, String> {
    let mut command = Command::new(environment::cargo());
    // The build must be the one that the developer's own cargo would make, so only what the test run added is removed.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_TARGET_TMPDIR", "RUST_TEST_THREADS"] {
        command.env_remove(name);
    }
    let output = command
        .args(["build", "--quiet", "--package", "cargo-lease", "--message-format", "json-render-diagnostics"])
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
