//! Scratch workspaces and repositories, made from the folders in `tests/fixtures`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Lab;

/// Copies the fixture `name` into the laboratory as the folder `target`. Files whose name ends in `.in` lose that ending
/// (no cargo or editor takes them for a workspace while they lie in ours).
///
/// # Panics
///
/// If there is no such fixture.
pub fn fixture(lab: &Lab, name: &str, target: &str) -> PathBuf {
    let to = lab.path(target);
    write_fixture(name, &to, &|from, to| {
        fs::copy(from, to).expect("a fixture can be copied");
    });
    to
}

/// Puts each file of the fixture `name` into the folder `to` as `write` does it, which is given both paths.
///
/// # Panics
///
/// If there is no such fixture.
pub fn write_fixture(name: &str, to: &Path, write: &dyn Fn(&Path, &Path)) {
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name), to, write);
}

fn copy(from: &Path, to: &Path, write: &dyn Fn(&Path, &Path)) {
    fs::create_dir_all(to).expect("the folder of a fixture is writable");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("a fixture can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let target = to.join(name.strip_suffix(".in").unwrap_or(&name));
        if entry.path().is_dir() {
            copy(&entry.path(), &target, write);
        } else {
            write(&entry.path(), &target);
        }
    }
}

/// Makes the folder a git repository with one commit of everything in it.
pub fn into_repository(lab: &Lab, folder: &Path) {
    fs::write(folder.join(".gitignore"), "target/\n").expect("the laboratory is writable");
    git(lab, folder, &["init", "--quiet", "--initial-branch", "main"]);
    git(lab, folder, &["add", "."]);
    git(lab, folder, &["commit", "--quiet", "--message", "The first state"]);
}

/// Adds a linked worktree of `repository` as the folder `name` of the laboratory.
pub fn add_worktree(lab: &Lab, repository: &Path, name: &str) -> PathBuf {
    let folder = lab.path(name);
    let shown = folder.to_str().expect("the laboratory's path is text").to_owned();
    git(lab, repository, &["worktree", "add", "--quiet", "-b", name, &shown]);
    folder
}

/// What `git status` sees in a worktree that is not committed.
pub fn changes(lab: &Lab, folder: &Path) -> String {
    git(lab, folder, &["status", "--porcelain"])
}

fn git(lab: &Lab, folder: &Path, args: &[&str]) -> String {
    let mut command = lab.command("git");
    command.args(["-c", "user.name=lab", "-c", "user.email=lab@example.org"]).args(args).current_dir(folder);
    lab.run(command).expect_success().stdout
}
