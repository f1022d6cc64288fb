//! Who asks, and what for, when nobody said so.

use std::path::{Path, PathBuf};

use crate::store::Env;
use crate::sys::process;

/// `LEASE_OWNER`, else `<user>@<host>`.
pub(super) fn owner(env: &Env) -> String {
    env.get("LEASE_OWNER").unwrap_or_else(|| format!("{}@{}", user(env), process::host_name()))
}

fn user(env: &Env) -> String {
    env.get("USER").or_else(|| env.get("LOGNAME")).unwrap_or_else(process::user_name)
}

/// What runs: worktree, package, test.
pub(super) fn session(env: &Env) -> String {
    let place = std::env::current_dir().ok().map(|cwd| folder_name(&worktree(&cwd)));
    let what = env.get("NEXTEST_TEST_NAME").or_else(program);
    let parts = [place, env.get("CARGO_PKG_NAME"), what];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn worktree(cwd: &Path) -> PathBuf {
    cwd.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(cwd).to_owned()
}

fn program() -> Option<String> {
    std::env::current_exe().ok().map(|path| folder_name(&path))
}

fn folder_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
