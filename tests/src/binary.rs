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
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build)
}

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

fn build() -> PathBuf {
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
    assert!(output.status.success(), "cargo-lease does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8_lossy(&output.stdout);
    stdout.lines().filter_map(executable).next_back().expect("cargo names the program that it built")
}

fn executable(line: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(PathBuf::from(message.get("executable")?.as_str()?))
}
