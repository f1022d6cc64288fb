//! Where the store is.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{StoreError, StoreResult};
use super::options::StoreOptions;
use crate::sys::disk::normalize;

/// Under the repository's main checkout, or the current directory.
const DEFAULT_PLACE: &str = "logs/leases";

/// The store's directory: the option, else `LEASE_STORE`, else `logs/leases` under the repository's main checkout, else
/// under the folder that is used outside of repositories or that one's main checkout, else under `cwd`. Absolute, and not
/// yet created.
pub(crate) fn resolve(options: &StoreOptions, cwd: &Path) -> StoreResult<PathBuf> {
    let option = options.store.as_deref();
    if option.is_some_and(|dir| dir.as_os_str().is_empty()) {
        return Err(StoreError::usage("invalid store \"\" — must be a directory"));
    }
    let chosen = option.map(Path::to_owned).or_else(|| options.env.get("LEASE_STORE").map(PathBuf::from));
    let chosen = chosen.unwrap_or_else(|| default_root(options.outside.as_deref(), cwd).join(DEFAULT_PLACE));
    Ok(normalize(&cwd.join(chosen)))
}

fn default_root(outside: Option<&Path>, cwd: &Path) -> PathBuf {
    if let Some(checkout) = main_checkout(cwd) {
        return checkout;
    }
    let Some(outside) = outside else { return cwd.to_owned() };
    let outside = cwd.join(outside);
    // Whatever way led there, it is one folder.
    let outside = outside.canonicalize().unwrap_or(outside);
    main_checkout(&outside).unwrap_or(outside)
}

/// The main checkout of the repository that `dir` lies in, also from a linked worktree.
///
/// Read from the repository's own files and not asked of `git`, so that a hook's `GIT_DIR` and `GIT_WORK_TREE` cannot
/// lead elsewhere (gitrepository-layout(5): `.git` as a file, `commondir`).
#[must_use]
pub fn main_checkout(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find_map(checkout_at)
}

fn checkout_at(dir: &Path) -> Option<PathBuf> {
    let dot_git = dir.join(".git");
    let found = fs::metadata(&dot_git).ok()?;
    if found.is_dir() {
        return dot_git.join("HEAD").exists().then(|| dir.to_owned());
    }
    let text = fs::read_to_string(&dot_git).ok()?;
    let git_dir = dir.join(text.strip_prefix("gitdir:")?.trim());
    let Ok(common) = fs::read_to_string(git_dir.join("commondir")) else {
        // A submodule has a repository of its own and no common one.
        return Some(dir.to_owned());
    };
    let common = normalize(&git_dir.join(common.trim()));
    Some(common.parent().unwrap_or(dir).to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{StoreOptions, resolve};
    use crate::sys::env::Env;

    fn fixed(pairs: &[(&str, &str)]) -> StoreOptions {
        let env = Env::Fixed(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
        StoreOptions { env, ..StoreOptions::default() }
    }

    fn repository(root: &Path) {
        fs::create_dir_all(root.join(".git/worktrees/side")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(".git/worktrees/side/commondir"), "../..\n").unwrap();
    }

    #[test]
    fn the_option_beats_the_environment_and_an_empty_variable_is_unset() {
        let cwd = Path::new("/somewhere");
        let env = fixed(&[("LEASE_STORE", "/env")]);
        let with_option = |dir: &str| StoreOptions { store: Some(dir.into()), ..env.clone() };
        assert_eq!(resolve(&with_option("opt/../x"), cwd).unwrap(), Path::new("/somewhere/x"));
        assert_eq!(resolve(&env, cwd).unwrap(), Path::new("/env"));
        assert_eq!(resolve(&fixed(&[("LEASE_STORE", "")]), cwd).unwrap(), Path::new("/somewhere/logs/leases"));
        assert!(resolve(&with_option(""), cwd).is_err());
    }

    #[test]
    fn every_folder_and_linked_worktree_of_a_repository_shares_one_store() {
        let temp = tempfile::tempdir().unwrap();
        let (main, side) = (temp.path().join("main"), temp.path().join("side"));
        repository(&main);
        fs::create_dir_all(main.join("deep/down")).unwrap();
        fs::create_dir_all(side.join("src")).unwrap();
        fs::write(side.join(".git"), format!("gitdir: {}\n", main.join(".git/worktrees/side").display())).unwrap();
        let hook = fixed(&[("GIT_DIR", "/elsewhere/.git"), ("GIT_WORK_TREE", "/elsewhere")]);
        for cwd in [main.clone(), main.join("deep/down"), side.clone(), side.join("src")] {
            assert_eq!(resolve(&hook, &cwd).unwrap(), main.join("logs/leases"), "{}", cwd.display());
        }
    }

    #[test]
    fn a_submodule_has_its_own() {
        let temp = tempfile::tempdir().unwrap();
        repository(temp.path());
        let sub = temp.path().join("sub");
        fs::create_dir_all(temp.path().join(".git/modules/sub")).unwrap();
        fs::create_dir_all(&sub).unwrap();
        fs::write(sub.join(".git"), "gitdir: ../.git/modules/sub\n").unwrap();
        assert_eq!(resolve(&fixed(&[]), &sub).unwrap(), sub.join("logs/leases"));
    }

    #[test]
    fn outside_of_repositories_the_given_folder_counts_from_everywhere() {
        let temp = tempfile::tempdir().unwrap();
        let temp = temp.path().canonicalize().unwrap();
        let project = temp.join("project");
        fs::create_dir_all(project.join("member/src")).unwrap();
        let ours = StoreOptions { outside: Some(project.clone()), ..fixed(&[]) };
        for cwd in [temp.clone(), project.clone(), project.join("member"), project.join("member/src")] {
            assert_eq!(resolve(&ours, &cwd).unwrap(), project.join("logs/leases"), "{}", cwd.display());
        }
        let relative = StoreOptions { outside: Some("..".into()), ..fixed(&[]) };
        assert_eq!(resolve(&relative, &project.join("member")).unwrap(), project.join("logs/leases"));
        let variable = StoreOptions { outside: Some(project.clone()), ..fixed(&[("LEASE_STORE", "/env")]) };
        assert_eq!(resolve(&variable, &project).unwrap(), Path::new("/env"));
        repository(&project);
        assert_eq!(resolve(&ours, &temp).unwrap(), project.join("logs/leases"));
        let elsewhere = temp.join("elsewhere");
        repository(&elsewhere);
        assert_eq!(resolve(&ours, &elsewhere).unwrap(), elsewhere.join("logs/leases"));
    }
}
