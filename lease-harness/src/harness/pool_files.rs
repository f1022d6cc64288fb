//! Where a pool file is.
//!
//! Looked for when the test runs, never when it is compiled: a nextest archive runs on a machine where the paths of the
//! build do not exist, and a remapped workspace lies elsewhere. What runs the test says where its package is.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::iter::{once, once_with};
use std::path::{Path, PathBuf};

use strsim::osa_distance;

use super::error::{SlotError, SlotErrorKind};

/// Cargo and nextest set it to the package's folder when they run a test.
const PACKAGE: &str = "CARGO_MANIFEST_DIR";
/// Nextest sets it to the workspace's folder.
const WORKSPACE: &str = "NEXTEST_WORKSPACE_ROOT";

/// Finds the pool file: an absolute path stands; a relative one is looked for in the package's folder (without cargo in
/// the working directory), then in the workspace's.
pub(crate) fn find(pool: impl AsRef<Path>) -> Result<PathBuf, SlotError> {
    find_compiled(pool, None)
}

/// The same for a test of which it is known whether the file was there when it was compiled.
pub(crate) fn find_compiled(pool: impl AsRef<Path>, was_there: Option<bool>) -> Result<PathBuf, SlotError> {
    find_in(pool.as_ref(), was_there, places(|name| std::env::var_os(name)))
}

/// The file that a program names: as it is, else where the attribute looks. What is not found stays what it was.
pub(super) fn named(pool: PathBuf) -> PathBuf {
    if pool.is_absolute() || pool.exists() { pool } else { find(&pool).unwrap_or(pool) }
}

/// The same as an absolute path; none if it is not found.
pub(crate) fn found(pool: impl AsRef<Path>) -> Option<PathBuf> {
    std::path::absolute(find(pool).ok()?).ok()
}

/// The workspace of the package, or the package where there is none around it.
#[cfg(feature = "claims")]
pub(crate) fn workspace() -> Option<PathBuf> {
    std::path::absolute(places(|name| std::env::var_os(name)).last()?).ok()
}

/// The folders to look in, in order. Manifests are read for the second only if somebody wants to know it: most files are in the
/// first.
fn places(env: impl Fn(&str) -> Option<OsString>) -> impl Iterator<Item = PathBuf> {
    let folder = move |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let package = folder(PACKAGE).unwrap_or_else(|| PathBuf::from("."));
    let first = package.clone();
    let workspace = move || folder(WORKSPACE).or_else(|| workspace_above(&package)).filter(|workspace| *workspace != package);
    once(first).chain(once_with(workspace).flatten())
}

/// The nearest folder above whose manifest has a workspace.
fn workspace_above(package: &Path) -> Option<PathBuf> {
    let package = std::path::absolute(package).ok()?;
    package.ancestors().find(|folder| has_workspace(&folder.join("Cargo.toml"))).map(Path::to_owned)
}

fn has_workspace(manifest: &Path) -> bool {
    let is_header = |line: &str| line.trim_start().starts_with("[workspace]") || line.trim_start().starts_with("[workspace.");
    fs::read_to_string(manifest).is_ok_and(|text| text.lines().any(is_header))
}

fn find_in(pool: &Path, was_there: Option<bool>, places: impl IntoIterator<Item = PathBuf>) -> Result<PathBuf, SlotError> {
    if pool.is_absolute() {
        return Ok(pool.to_owned());
    }
    let mut looked_at = Vec::new();
    for place in places {
        let file = place.join(pool);
        match fs::metadata(&file) {
            Ok(_) => return Ok(file),
            Err(error) if is_absent(error.kind()) => looked_at.push(file),
            Err(error) => return Err(unusable(format!("pool file `{}`: {error}", file.display()))),
        }
    }
    Err(unusable(not_found(pool, was_there, &looked_at)))
}

fn not_found(pool: &Path, was_there: Option<bool>, looked_at: &[PathBuf]) -> String {
    let shown = |file: &PathBuf| format!("`{}`", std::path::absolute(file).unwrap_or_else(|_| file.clone()).display());
    let places = looked_at.iter().map(shown).collect::<Vec<_>>().join(" and no ");
    let near = looked_at.iter().find_map(|file| near_file(file)).map(|file| format!("; did you mean {}?", shown(&file)));
    let then = match was_there {
        Some(true) => {
            "; it was there when the test was compiled: an archive has no source files, so it is run beside a checkout, which \
             nextest's `--workspace-remap` names"
        }
        Some(false) => "; nor was there one when the test was compiled",
        None => "",
    };
    format!("pool file `{}` not found: there is no {places}{}{then}", pool.display(), near.unwrap_or_default())
}

/// The file in the same folder whose name is nearly this one.
fn near_file(file: &Path) -> Option<PathBuf> {
    const MOST_EDITS: usize = 2;
    let wanted = file.file_name()?.to_str()?;
    let folder = file.parent()?;
    let names = fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let near = names.map(|name| (osa_distance(&name, wanted), name)).filter(|(edits, _)| *edits <= MOST_EDITS).min();
    near.map(|(_, name)| folder.join(name)).filter(|file| file.is_file())
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn unusable(message: String) -> SlotError {
    SlotError::new(SlotErrorKind::Usage, message)
}

/// What the attribute looks at when a test is compiled.
#[cfg(test)]
#[path = "../../../macros/src/workspace.rs"]
mod of_macros;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attribute_looks_where_the_test_does() {
        let (_dir, root, package) = workspace();
        fs::create_dir_all(root.join("nested/crates/api/src")).unwrap();
        fs::write(root.join("nested/Cargo.toml"), "  [workspace.package]\nversion = \"1.0.0\"\n").unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        let files =
            ["above.json", "crates/middle.json", "crates/api/own.json", "nested/nested.json", "nested/crates/api/src/deep.json"];
        for file in files {
            fs::write(root.join(file), "{}").unwrap();
        }
        let names = [
            "above.json",
            "middle.json",
            "own.json",
            "nested.json",
            "src/deep.json",
            "../middle.json",
            "folder",
            "none.json",
            "",
        ];
        let absolute = root.join("above.json");
        for package in [root.clone(), package, root.join("crates"), root.join("nested"), root.join("nested/crates/api")] {
            for name in names.into_iter().chain([absolute.to_str().unwrap()]) {
                let found = find_in(Path::new(name), None, places_of(&package, None)).is_ok();
                assert_eq!(of_macros::is_there(&package, name), found, "{name:?} from {}", package.display());
            }
        }
    }

    /// A workspace with one package; the folders of both.
    fn workspace() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        let package = root.join("crates/api");
        fs::create_dir_all(&package).unwrap();
        fs::write(root.join("Cargo.toml"), "# [workspace]\n[workspace]\nmembers = []\n").unwrap();
        fs::write(package.join("Cargo.toml"), "[package]\nname = \"api\"\n").unwrap();
        (dir, root, package)
    }

    fn places_of(package: &Path, workspace: Option<&Path>) -> Vec<PathBuf> {
        places(|name| match name {
            PACKAGE => Some(package.into()),
            WORKSPACE => workspace.map(Into::into),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn the_package_comes_before_the_workspace() {
        let (_dir, root, package) = workspace();
        let places = places_of(&package, None);
        assert_eq!(places, [package.clone(), root.clone()]);
        fs::write(root.join("pool.json"), "{}").unwrap();
        assert_eq!(find_in(Path::new("pool.json"), None, places.clone()).unwrap(), root.join("pool.json"));
        fs::write(package.join("pool.json"), "{}").unwrap();
        assert_eq!(find_in(Path::new("pool.json"), None, places.clone()).unwrap(), package.join("pool.json"));
    }

    #[test]
    fn nextest_knows_the_workspace_better_than_the_manifests() {
        let (_dir, _, package) = workspace();
        assert_eq!(places_of(&package, Some(Path::new("/remapped"))), [package, PathBuf::from("/remapped")]);
    }

    #[test]
    fn a_package_that_is_its_workspace_is_looked_at_once() {
        let (_dir, root, _) = workspace();
        assert_eq!(places_of(&root, None), [root]);
    }

    #[test]
    fn without_cargo_the_working_directory_stands_for_the_package() {
        assert_eq!(places(|_| None).next().unwrap(), Path::new("."));
        assert_eq!(places(|name| (name == PACKAGE).then(OsString::new)).next().unwrap(), Path::new("."));
    }

    #[test]
    fn an_absolute_path_stands_as_it_is() {
        assert_eq!(find_in(Path::new("/no/such/pool.json"), None, []).unwrap(), Path::new("/no/such/pool.json"));
    }

    #[test]
    fn what_is_nowhere_names_every_place() {
        let (_dir, root, package) = workspace();
        let error = find_in(Path::new("db/pool.json"), None, places_of(&package, None)).unwrap_err();
        assert_eq!(error.kind(), SlotErrorKind::Usage);
        for place in [package, root] {
            let file = place.join("db/pool.json");
            assert!(error.to_string().contains(&format!("`{}`", file.display())), "{error}");
        }
    }

    #[test]
    fn a_file_in_the_place_of_a_folder_is_no_hit() {
        let (_dir, root, package) = workspace();
        fs::write(package.join("db"), "").unwrap();
        fs::create_dir(root.join("db")).unwrap();
        fs::write(root.join("db/pool.json"), "{}").unwrap();
        let found = find_in(Path::new("db/pool.json"), None, places_of(&package, None)).unwrap();
        assert_eq!(found, root.join("db/pool.json"));
    }

    #[track_caller]
    fn check_message(pool: &str, was_there: Option<bool>, parts: &[&str], absent: &[&str]) {
        let (_dir, root, package) = workspace();
        fs::write(package.join("pool.json"), "{}").unwrap();
        fs::write(root.join("ports.json"), "{}").unwrap();
        fs::create_dir(root.join("dbs")).unwrap();
        let message = find_in(Path::new(pool), was_there, places_of(&package, None)).unwrap_err().to_string();
        for part in parts {
            let part = part.replace("PACKAGE", package.to_str().unwrap()).replace("ROOT", root.to_str().unwrap());
            assert!(message.contains(&part), "{part:?} in {message}");
        }
        for part in absent {
            assert!(!message.contains(part), "{part:?} in {message}");
        }
    }

    #[test]
    fn the_near_file_is_named() {
        check_message(
            "pool.jsn",
            None,
            &["no `PACKAGE/pool.jsn` and no `ROOT/pool.jsn`; did you mean `PACKAGE/pool.json`?"],
            &[],
        );
        check_message("prots.json", None, &["did you mean `ROOT/ports.json`?"], &["when the test was compiled"]);
        check_message("keys.json", None, &["no `ROOT/keys.json`"], &["did you mean"]);
        check_message("db", None, &[], &["did you mean"]);
    }

    #[test]
    fn what_was_when_the_test_was_compiled() {
        check_message("keys.json", Some(true), &["it was there when the test was compiled", "--workspace-remap"], &["nor was"]);
        check_message("keys.json", Some(false), &["; nor was there one when the test was compiled"], &["remap"]);
    }
}
