//! The tests of this program, as libtest lists them.

use std::process::{Command, Stdio};

use super::selection::LIBTEST_INVOKE;

/// The names of the tests that these arguments select; of all without any.
///
/// Only for programs that are known to be libtest's: what others do if they are started so is not known.
pub(super) fn list(args: &[String]) -> Result<Vec<String>, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program is not found: {error}"))?;
    let mut command = Command::new(&program);
    command.args(["--list", "--format", "terse"]).args(args).env_remove(LIBTEST_INVOKE);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().map_err(|error| format!("`{}` cannot be started: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("`{} --list` ended with {}", program.display(), output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}
