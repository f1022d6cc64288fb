//! Every byte below a folder, to be compared with what was there before.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a process that ends leaves in a store to the next one, whatever it has done: rooms for guards, and files to be written anew.
fn is_left_to_the_next(name: &str) -> bool {
    name == ".anew" || name.starts_with(".idle-room-")
}

/// The files below a folder and their bytes, and the folders with no bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    entries: BTreeMap<PathBuf, Option<Vec<u8>>>,
}

impl Snapshot {
    /// Reads everything below `root`. A folder that does not exist is different from an empty one.
    pub fn of(root: &Path) -> Self {
        let mut entries = BTreeMap::new();
        collect(root, root, &mut entries);
        Self { entries }
    }

    /// What differs, a line each; empty if nothing does.
    pub fn differences(&self, later: &Self) -> Vec<String> {
        let paths: std::collections::BTreeSet<_> = self.entries.keys().chain(later.entries.keys()).collect();
        paths.into_iter().filter_map(|path| difference(path, self.entries.get(path), later.entries.get(path))).collect()
    }
}

fn difference(path: &Path, before: Option<&Option<Vec<u8>>>, after: Option<&Option<Vec<u8>>>) -> Option<String> {
    let shown = path.display();
    match (before, after) {
        (before, after) if before == after => None,
        (Some(_), None) => Some(format!("{shown} is gone")),
        (None, Some(bytes)) => Some(format!("{shown} is new: {}", text(bytes))),
        (before, after) => {
            Some(format!("{shown} was {} and is {}", before.map_or(String::new(), text), after.map_or(String::new(), text)))
        }
    }
}

fn text(bytes: &Option<Vec<u8>>) -> String {
    bytes.as_ref().map_or_else(|| "a folder".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn collect(root: &Path, folder: &Path, entries: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    let Ok(listing) = fs::read_dir(folder) else { return };
    entries.insert(relative(root, folder), None);
    for entry in listing.filter_map(Result::ok) {
        let path = entry.path();
        if is_left_to_the_next(&entry.file_name().to_string_lossy()) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, entries);
        } else if let Ok(bytes) = fs::read(&path) {
            entries.insert(relative(root, &path), Some(bytes));
        }
    }
}

fn relative(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).expect("the path lies below the folder").to_owned()
}
