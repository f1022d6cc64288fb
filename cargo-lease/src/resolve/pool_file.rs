//! The search for the pool file.
//!
//! First that is set: the option, the environment, the package's manifest, the workspace's manifest, `pool.json`
//! beside the workspace's manifest. Cargo itself says which package and workspace that is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

use super::Surroundings;
use crate::exit::Failure;

/// What a wrapped command line says about packages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selection {
    /// `-p`: names, package ids or patterns.
    pub(crate) packages: Vec<String>,
    /// `--manifest-path`.
    pub(crate) manifest: Option<PathBuf>,
    /// A folder to search from in place of the working directory (`--workspace-remap`).
    pub(crate) start: Option<PathBuf>,
}

/// Finds the pool file.
///
/// # Errors
///
/// None of the five places names one (the message lists them), a manifest names one in a wrong way, cargo cannot read
/// the workspace, or the selected packages name different ones.
pub(crate) fn find_pool_file(
    typed: Option<&Path>,
    selection: &Selection,
    around: &Surroundings,
    cargo: Option<&OsStr>,
) -> Result<PathBuf, Failure> {
    let given = typed.filter(|path| !path.as_os_str().is_empty());
    let given = given.or_else(|| around.var_os("LEASE_POOL_FILE").map(Path::new));
    if let Some(path) = given {
        return Ok(around.absolute(path));
    }
    match Project::read(selection, around, cargo)? {
        Some(project) => project.pool_file(selection),
        None => Err(nowhere("", &format!("no Cargo.toml above {}", around.cwd.display()))),
    }
}

/// The error of a search that found nothing.
fn nowhere(package: &str, workspace: &str) -> Failure {
    let package = if package.is_empty() { workspace } else { package };
    Failure::usage(format!(
        "no pool file; name one in any of these places:
  --pool FILE                      not given
  LEASE_POOL_FILE                  not set
  [package.metadata.lease] pool    {package}
  [workspace.metadata.lease] pool  {workspace}
  pool.json                        {workspace}"
    ))
}

/// What `cargo metadata` says, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
    #[serde(default)]
    metadata: Value,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    id: String,
    manifest_path: PathBuf,
    #[serde(default)]
    metadata: Value,
}

/// A workspace and where in it we are.
struct Project {
    metadata: Metadata,
    /// The nearest manifest above the place where we were started, or the one that was named.
    nearest: PathBuf,
}

impl Project {
    /// Asks cargo; `None` outside any project.
    fn read(selection: &Selection, around: &Surroundings, cargo: Option<&OsStr>) -> Result<Option<Self>, Failure> {
        let start = selection.start.as_deref().map_or_else(|| around.cwd.clone(), |dir| around.absolute(dir));
        let nearest = match &selection.manifest {
            Some(manifest) => Some(around.absolute(manifest)),
            None => start.ancestors().map(|dir| dir.join("Cargo.toml")).find(|manifest| manifest.is_file()),
        };
        let Some(nearest) = nearest else {
            return Ok(None);
        };
        let metadata = cargo_metadata(cargo.unwrap_or("cargo".as_ref()), &nearest, &start)?;
        Ok(Some(Self { metadata, nearest }))
    }

    fn pool_file(&self, selection: &Selection) -> Result<PathBuf, Failure> {
        let packages = self.selected(selection);
        let Some((first, others)) = packages.split_first() else {
            let none = format!("no package in {}", self.nearest.display());
            return self.pool_of_workspace()?.ok_or_else(|| self.nowhere(&none));
        };
        let pool = self.pool_of(first)?;
        for other in others {
            let different = self.pool_of(other)?;
            if different != pool {
                return Err(Failure::usage(format!(
                    "packages {} and {} use different pools ({} and {}); run them one by one, or say --pool",
                    first.name,
                    other.name,
                    shown(pool.as_deref()),
                    shown(different.as_deref()),
                )));
            }
        }
        pool.ok_or_else(|| self.nowhere(&format!("not in {}", first.manifest_path.display())))
    }

    /// The packages that `-p` names, else the one whose manifest is the nearest.
    fn selected(&self, selection: &Selection) -> Vec<&Package> {
        let packages = self.metadata.packages.iter();
        if selection.packages.is_empty() {
            return packages.filter(|package| same_file(&package.manifest_path, &self.nearest)).collect();
        }
        packages.filter(|package| selection.packages.iter().any(|spec| package.is_meant_by(spec))).collect()
    }

    fn pool_of(&self, package: &Package) -> Result<Option<PathBuf>, Failure> {
        match pool_key(&package.metadata, "package.metadata.lease", &package.manifest_path)? {
            Some(pool) => Ok(Some(pool)),
            None => self.pool_of_workspace(),
        }
    }

    fn pool_of_workspace(&self) -> Result<Option<PathBuf>, Failure> {
        let manifest = self.metadata.workspace_root.join("Cargo.toml");
        if let Some(pool) = pool_key(&self.metadata.metadata, "workspace.metadata.lease", &manifest)? {
            return Ok(Some(pool));
        }
        let beside = self.metadata.workspace_root.join("pool.json");
        Ok(beside.exists().then_some(beside))
    }

    fn nowhere(&self, package: &str) -> Failure {
        nowhere(package, &format!("not in {}", self.metadata.workspace_root.display()))
    }
}

impl Package {
    /// Whether a `-p` of cargo's names this package: by name, `name@version`, package id, or a pattern.
    fn is_meant_by(&self, spec: &str) -> bool {
        let (name, version) = spec.split_once('@').unwrap_or((spec, ""));
        self.id == spec
            || (matches_pattern(name, &self.name) && self.version.starts_with(version))
            || spec.rsplit_once(['#', '/']).is_some_and(|(_, tail)| tail != spec && self.is_meant_by(tail))
    }
}

/// Whether a name matches a pattern with `*` and `?`.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let (mut pattern_chars, mut name_chars) = (pattern.chars(), name.chars());
    match (pattern_chars.next(), name_chars.next()) {
        (None, None) => true,
        (Some('*'), None) => matches_pattern(pattern_chars.as_str(), name),
        (Some('*'), Some(_)) => matches_pattern(pattern_chars.as_str(), name) || matches_pattern(pattern, name_chars.as_str()),
        (Some('?'), Some(_)) => matches_pattern(pattern_chars.as_str(), name_chars.as_str()),
        (Some(wanted), Some(found)) if wanted == found => matches_pattern(pattern_chars.as_str(), name_chars.as_str()),
        _ => false,
    }
}

/// `pool` of a manifest's metadata table, relative to that manifest.
fn pool_key(metadata: &Value, table: &str, manifest: &Path) -> Result<Option<PathBuf>, Failure> {
    let wrong = |key: &str, expected: &str, found: &Value| {
        Failure::usage(format!("{}: {key}: expected {expected}, found {found}", manifest.display()))
    };
    let Some(lease) = metadata.get("lease") else {
        return Ok(None);
    };
    let Some(lease) = lease.as_object() else {
        return Err(wrong(table, "a table", lease));
    };
    let Some(pool) = lease.get("pool") else {
        return Ok(None);
    };
    let key = format!("{table}.pool");
    match pool.as_str() {
        Some("") => Ok(None),
        Some(path) => Ok(Some(manifest.parent().unwrap_or(Path::new("")).join(path))),
        None => Err(wrong(&key, "a path", pool)),
    }
}

fn cargo_metadata(cargo: &OsStr, manifest: &Path, start: &Path) -> Result<Metadata, Failure> {
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"]);
    command.arg(manifest).current_dir(start).stdin(Stdio::null());
    let output = command.output().map_err(|error| Failure::start(cargo, error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("error: ").to_owned();
        return Err(Failure::usage("cannot read the workspace to find its pool file").because(said));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Failure::internal("cannot read what cargo metadata printed", error))
}

fn same_file(left: &Path, right: &Path) -> bool {
    left == right || matches!((left.canonicalize(), right.canonicalize()), (Ok(left), Ok(right)) if left == right)
}

fn shown(pool: Option<&Path>) -> String {
    pool.map_or_else(|| "none".to_owned(), |path| path.display().to_string())
}

impl Selection {
    /// Reads the words of a wrapped command line, up to its `--`.
    pub(crate) fn of_words(words: &[OsString]) -> Self {
        let words = crate::inject::OwnWords::new(words);
        Self {
            packages: words.texts(&["--package", "-p"]),
            manifest: words.values(&["--manifest-path"]).pop().map(PathBuf::from),
            start: words.values(&["--workspace-remap"]).pop().map(PathBuf::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    /// A workspace of two packages and a folder deep in the first.
    fn workspace(root_tables: &str, api_tables: &str) -> TempDir {
        let dir = tempfile::tempdir().expect("temporary folder");
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("inside")).expect("folder");
            fs::write(path, text).expect("file");
        };
        let package =
            |name: &str, tables: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{tables}");
        write("Cargo.toml", &format!("[workspace]\nmembers = [\"api\", \"db-core\"]\nresolver = \"3\"\n{root_tables}"));
        write("api/Cargo.toml", &package("api", api_tables));
        write("api/src/lib.rs", "");
        write("api/src/deep/er/x.txt", "");
        write("db-core/Cargo.toml", &package("db-core", ""));
        write("db-core/src/lib.rs", "");
        dir
    }

    fn find(dir: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<PathBuf, Failure> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let around = Surroundings::of_test(dir, env);
        find_pool_file(None, &Selection::of_words(&words), &around, None)
    }

    const IN_API: &str = "[package.metadata.lease]\npool = \"own/api.json\"\n";
    const IN_ROOT: &str = "[workspace.metadata.lease]\npool = \"shared.json\"\n";

    #[test]
    fn places_count_in_their_order() {
        let dir = workspace(IN_ROOT, IN_API);
        let root = dir.path().canonicalize().expect("path");
        let api = root.join("api");
        fs::write(root.join("pool.json"), "{}").expect("file");
        let env = [("LEASE_POOL_FILE", "env.json")];

        let around = Surroundings::of_test(&api, &env);
        let typed = find_pool_file(Some("t.json".as_ref()), &Selection::default(), &around, None);
        assert_eq!(typed.expect("found"), api.join("t.json"));
        let empty = find_pool_file(Some("".as_ref()), &Selection::default(), &around, None);
        assert_eq!(empty.expect("found"), api.join("env.json"));
        assert_eq!(find(&api, &[], &[("LEASE_POOL_FILE", "")]).expect("found"), api.join("own/api.json"));
        assert_eq!(find(&api.join("src/deep/er"), &[], &[]).expect("found"), api.join("own/api.json"));
        assert_eq!(find(&root.join("db-core"), &[], &[]).expect("found"), root.join("shared.json"));
        assert_eq!(find(&root, &[], &[]).expect("found"), root.join("shared.json"));
        let plain = workspace("", "");
        let root = plain.path().canonicalize().expect("path");
        fs::write(root.join("pool.json"), "{}").expect("file");
        assert_eq!(find(&root.join("api"), &[], &[]).expect("found"), root.join("pool.json"));
    }

    #[test]
    fn wrapped_words_select_the_package() {
        let dir = workspace(IN_ROOT, IN_API);
        let root = dir.path().canonicalize().expect("path");
        let (own, shared) = (root.join("api/own/api.json"), root.join("shared.json"));
        let table = [
            (&["-p", "api"][..], &own),
            (&["-papi"], &own),
            (&["--package=api@0.1.0", "--lib"], &own),
            (&["--package", "a*"], &own),
            (&["-p", "db-core"], &shared),
            (&["-p", "db-?ore"], &shared),
            (&["--manifest-path", "api/Cargo.toml"], &own),
            (&["--workspace-remap", "api"], &own),
            (&["--", "-p", "api"], &shared),
        ];
        for (words, pool) in table {
            assert_eq!(&find(&root, words, &[]).expect("found"), pool, "{words:?}");
        }
        let url = format!("path+file://{}/api#0.1.0", root.display());
        assert_eq!(find(&root, &["-p", &url], &[]).expect("found"), own);
        let error = find(&root, &["-p", "api", "-p", "db-core"], &[]).expect_err("two pools").to_string();
        for part in ["api", "db-core", "own/api.json", "shared.json", "--pool"] {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }

    #[test]
    fn a_package_outside_the_workspace_is_its_own() {
        let dir = workspace(&format!("exclude = [\"alone\"]\n{IN_ROOT}"), "");
        let alone = dir.path().canonicalize().expect("path").join("alone");
        fs::create_dir_all(alone.join("src")).expect("folder");
        let manifest = "[package]\nname = \"alone\"\nversion = \"0.1.0\"\n[package.metadata.lease]\npool = \"p.json\"\n";
        fs::write(alone.join("Cargo.toml"), manifest).expect("file");
        fs::write(alone.join("src/lib.rs"), "").expect("file");
        assert_eq!(find(&alone, &[], &[]).expect("found"), alone.join("p.json"));
    }

    #[test]
    fn nothing_found_names_all_five_places() {
        let dir = workspace("", "");
        let outside = tempfile::tempdir().expect("temporary folder");
        for at in [&dir.path().join("api"), dir.path(), outside.path()] {
            let error = find(at, &[], &[]).expect_err("none").to_string();
            let places =
                ["--pool", "LEASE_POOL_FILE", "[package.metadata.lease] pool", "[workspace.metadata.lease] pool", "pool.json"];
            for place in places {
                assert!(error.contains(place), "{place:?} is not in: {error}");
            }
        }
    }

    #[test]
    fn wrong_types_name_file_key_and_value() {
        let table = [
            ("[package.metadata]\nlease = 3\n", "package.metadata.lease: expected a table, found 3"),
            ("[package.metadata.lease]\npool = [1]\n", "package.metadata.lease.pool: expected a path, found [1]"),
        ];
        for (tables, text) in table {
            let dir = workspace("", tables);
            let error = find(&dir.path().join("api"), &[], &[]).expect_err("wrong").to_string();
            assert!(error.contains(text) && error.contains("Cargo.toml"), "{text:?} is not in: {error}");
        }
    }

    #[test]
    fn a_broken_manifest_is_reported_as_cargo_says_it() {
        let dir = workspace("", "");
        fs::write(dir.path().join("api/Cargo.toml"), "[package\n").expect("file");
        let error = find(dir.path(), &[], &[]).expect_err("broken");
        let cause = std::error::Error::source(&error).expect("cause").to_string();
        assert!(cause.contains("api/Cargo.toml"), "{cause}");
    }

    #[test]
    fn patterns() {
        for (pattern, name, matches) in [
            ("api", "api", true),
            ("api", "api2", false),
            ("*", "", true),
            ("a*i", "api", true),
            ("a*x", "api", false),
            ("?pi", "api", true),
            ("", "a", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), matches, "{pattern} {name}");
        }
    }
}
