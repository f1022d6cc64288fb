//! What people see as the session of a slot: worktree, package, and what runs.

use std::path::Path;

use super::Surroundings;

/// `<worktree> <package> <what>`, as far as each is known.
///
/// The worktree is the folder that holds `.git`, a directory or a linked worktree's file.
pub(crate) fn session_text(around: &Surroundings, package: Option<&str>, what: &str) -> String {
    let worktree = worktree_name(&around.cwd);
    let parts = [worktree.as_deref(), package, Some(what)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn worktree_name(cwd: &Path) -> Option<String> {
    let root = cwd.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(cwd);
    Some(root.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_worktree_package_and_what_runs() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let tree = dir.path().join("feature-x");
        std::fs::create_dir_all(tree.join("crates/api")).expect("folders");
        std::fs::write(tree.join(".git"), "gitdir: elsewhere").expect("file");
        let around = Surroundings::of_test(tree.join("crates/api"), &[]);
        assert_eq!(session_text(&around, Some("api"), "db::works"), "feature-x api db::works");
        assert_eq!(session_text(&around, None, "psql"), "feature-x psql");
    }
}
