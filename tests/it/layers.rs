//! The rules of the house, held on every source file of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use lease_tests::binary::workspace;
use lease_tests::layers::{Source, check};

/// Folders with Rust sources of ours. Fixtures are programs of their own.
const FOLDERS: [&str; 6] = ["lease-harness", "cargo-lease", "macros", "examples", "tests/src", "tests/it"];

#[test]
fn imports_go_down_and_every_file_is_short_and_finished() {
    let sources = sources();
    assert!(sources.len() > 20, "only {} sources were found", sources.len());
    let complaints: Vec<_> = sources.iter().flat_map(check).map(|complaint| complaint.to_string()).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

fn sources() -> Vec<Source> {
    let mut files = Vec::new();
    FOLDERS.iter().for_each(|folder| collect(&workspace().join(folder), &mut files));
    files.iter().map(|file| Source::load(workspace(), file)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        // Test cases of the macros are wrong on purpose, and need not even be Rust.
        if path.is_dir() && !matches!(path.file_name().and_then(|name| name.to_str()), Some("target" | "ui")) {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
