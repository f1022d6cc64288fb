//! Who asks, and what for, when nobody said so.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
    let dir = std::env::current_dir().ok();
    let what = env.get("NEXTEST_TEST_NAME").or_else(program);
    session_text(dir.as_deref(), env.get("CARGO_PKG_NAME").as_deref(), what.as_deref())
}

/// What people see as a session when nobody named it: worktree, package and what runs, as far as each is known.
///
/// The worktree is the nearest folder around `dir` that holds `.git`, a directory or a linked worktree's file; outside of
/// repositories it is `dir` itself. For programs that start what works in the slot, and so know better than
/// [`SlotRequest`](super::SlotRequest) what that is.
#[must_use]
pub fn session_text(dir: Option<&Path>, package: Option<&str>, what: Option<&str>) -> String {
    let worktree = dir.map(|dir| folder_name(&worktree(dir)));
    text_of(worktree.as_deref(), package, what)
}

fn text_of(worktree: Option<&str>, package: Option<&str>, what: Option<&str>) -> String {
    [worktree, package, what].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Worktrees by the folders in them, for who names sessions again and again: each folder is looked around once.
#[derive(Debug, Default)]
pub struct Worktrees(Mutex<HashMap<PathBuf, String>>);

impl Worktrees {
    /// As [`session_text`].
    #[must_use]
    pub fn session_text(&self, dir: &Path, package: Option<&str>, what: Option<&str>) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(dir) {
            known.insert(dir.to_owned(), folder_name(&worktree(dir)));
        }
        text_of(known.get(dir).map(String::as_str), package, what)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_names_worktree_package_and_what_runs() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let tree = dir.path().join("feature-x");
        let deep = tree.join("crates/api");
        std::fs::create_dir_all(&deep).expect("folders");
        std::fs::write(tree.join(".git"), "gitdir: elsewhere").expect("file");
        assert_eq!(session_text(Some(&deep), Some("api"), Some("db::works")), "feature-x api db::works");
        assert_eq!(session_text(Some(&deep), None, Some("psql")), "feature-x psql");
        assert_eq!(session_text(None, Some("api"), None), "api");
        let worktrees = Worktrees::default();
        for dir in [&deep, &tree, &deep] {
            let text = worktrees.session_text(dir, Some("api"), None);
            assert_eq!(text, session_text(Some(dir), Some("api"), None));
        }
    }
}
