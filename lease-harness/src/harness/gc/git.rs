//! Worktrees and branches: what git says about them.

use std::path::Path;
use std::process::{Command, Stdio};

/// What the names of branches that we make begin with.
pub(in crate::harness) const BRANCHES: &str = "lease/";

/// A repository, by its main checkout.
pub(in crate::harness) struct Repository<'a>(pub(in crate::harness) &'a Path);

/// Whether somebody has locked a worktree.
#[derive(PartialEq, Eq)]
pub(super) enum Locked {
    Yes,
    No,
}

impl Repository<'_> {
    /// What git prints, or what it says when it fails.
    pub(in crate::harness) fn git(&self, args: &[&str]) -> Result<String, String> {
        run(self.0, args)
    }

    /// Whether git knows a worktree there, and whether it is locked.
    pub(super) fn worktree(&self, path: &Path) -> Result<Option<Locked>, String> {
        let listed = self.git(&["worktree", "list", "--porcelain", "-z"])?;
        // git shows where links lead.
        let real = |path: &Path| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let wanted = real(path);
        let is_it = |lines: &Vec<&str>| {
            let at = lines.iter().find_map(|line| line.strip_prefix("worktree ")).map(Path::new);
            at.is_some_and(|at| at == path || (wanted.is_some() && real(at) == wanted))
        };
        let known = listed.split("\0\0").map(|lines| lines.split('\0').collect::<Vec<_>>()).find(is_it);
        let is_locked = |lines: Vec<&str>| lines.iter().any(|line| *line == "locked" || line.starts_with("locked "));
        Ok(known.map(|lines| if is_locked(lines) { Locked::Yes } else { Locked::No }))
    }

    /// Where a branch is checked out.
    pub(super) fn worktree_on(&self, branch: &str) -> Result<Option<String>, String> {
        let listed = self.git(&["worktree", "list", "--porcelain", "-z"])?;
        let wanted = format!("branch refs/heads/{branch}");
        let mut entries = listed.split("\0\0").map(|lines| lines.split('\0').collect::<Vec<_>>());
        let found = entries.find(|lines| lines.contains(&wanted.as_str()));
        Ok(found.and_then(|lines| lines.iter().find_map(|line| line.strip_prefix("worktree ")).map(str::to_owned)))
    }

    /// Refuses a branch that is none of ours, or whose commits are not in the main checkout's branch; true if there is one.
    pub(super) fn check_branch(&self, branch: &str) -> Result<bool, String> {
        if !branch.starts_with(BRANCHES) || branch.contains("..") {
            return Err(format!("{branch} is no branch of ours: those begin with {BRANCHES}"));
        }
        let full = format!("refs/heads/{branch}");
        self.git(&["check-ref-format", &full]).map_err(|_| format!("{branch} is no name of a branch"))?;
        if self.git(&["for-each-ref", "--format=%(refname)", "--", &full])?.trim() != full {
            return Ok(false);
        }
        match self.git(&["merge-base", "--is-ancestor", &full, "HEAD"]) {
            Ok(_) => Ok(true),
            Err(said) if said.is_empty() => Err(format!("{branch} is not merged")),
            Err(said) => Err(said),
        }
    }

    /// Refuses a worktree in which something is not committed, or that stands on another branch.
    pub(super) fn check_worktree(path: &Path, branch: Option<&str>) -> Result<(), String> {
        let changes = run(path, &["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none"])?;
        if let Some(first) = changes.lines().next() {
            return Err(format!("it has changes that are not committed: {first}"));
        }
        let head = run(path, &["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
        match branch.map(|branch| format!("refs/heads/{branch}")) {
            Some(branch) if head.trim() == branch => Ok(()),
            _ => Err("it is not on the branch that was recorded".to_owned()),
        }
    }
}

/// Runs git without what the environment or the repository would have it run besides.
fn run(dir: &Path, args: &[&str]) -> Result<String, String> {
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        git.env_remove(name);
    }
    git.arg("--no-optional-locks")
        .arg("-C")
        .arg(dir)
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
        .args(args);
    let output = git.stdin(Stdio::null()).env("LC_ALL", "C").output().map_err(|error| format!("git does not run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned())
}
