//! The search for the pool file.
//!
//! First that is set: the option, the environment, the package's manifest, the workspace's manifest, `pool.json`
//! beside the workspace's manifest. Cargo itself says which package and workspace that is.

use std::path::{Path, PathBuf};

use super::project::{Place, Setting};
use super::{Manifests, Surroundings};
use crate::exit::Failure;

/// Finds the pool file.
///
/// # Errors
///
/// None of the five places names one (the message lists them), a manifest names one in a wrong way, cargo cannot read
/// the workspace, or the selected packages name different ones.
pub(crate) fn find_pool_file(typed: Option<&Path>, around: &Surroundings, manifests: &Manifests<'_>) -> Result<PathBuf, Failure> {
    if let Some(path) = given(typed, around) {
        return Ok(path);
    }
    match manifests.project()? {
        Some(project) => project.agreed("--pool", pool_of, |pool| pool.display().to_string()),
        None => {
            let outside = format!("no Cargo.toml above {}", around.cwd.display());
            Err(nowhere(&outside, &outside, pool_in(&around.cwd)))
        }
    }
}

/// Of packages that are tested along with others in one pool, although their manifests name another: a warning each.
///
/// # Errors
///
/// Cargo cannot read the workspace.
pub(crate) fn passed_over(
    typed: Option<&Path>,
    around: &Surroundings,
    manifests: &Manifests<'_>,
    pool: &Path,
) -> Result<Vec<String>, Failure> {
    // Then the workspace is not read.
    if given(typed, around).is_some() {
        return Ok(Vec::new());
    }
    let Some(project) = manifests.project()? else { return Ok(Vec::new()) };
    let warning = |(package, own): (&str, PathBuf)| {
        let (own, pool) = (own.display(), pool.display());
        format!("package {package} is tested in pool {pool}, not in its own, {own}; run it by itself: -p {package}")
    };
    Ok(project.dissenters(&pool.to_owned(), pool_of).into_iter().map(warning).collect())
}

/// The one that was named for this command.
fn given(typed: Option<&Path>, around: &Surroundings) -> Option<PathBuf> {
    let typed = typed.filter(|path| !path.as_os_str().is_empty());
    typed.or_else(|| around.var_os("LEASE_POOL_FILE").map(Path::new)).map(|path| around.absolute(path))
}

fn pool_of(place: &Place<'_>) -> Result<PathBuf, Failure> {
    let setting = place.setting("pool")?;
    if let Some(pool) = setting.as_ref().map(path_of).transpose()?.flatten() {
        return Ok(pool);
    }
    let root = place.workspace_root();
    if let Some(beside) = pool_in(root) {
        return Ok(beside);
    }
    let package = match place.package_manifest() {
        Ok(manifest) => format!("not in {}", manifest.display()),
        Err(manifest) => format!("no package in {}", manifest.display()),
    };
    Err(nowhere(&package, &format!("not in {}", root.display()), place.folders().find_map(pool_in)))
}

/// A file of the usual name in a folder.
fn pool_in(dir: &Path) -> Option<PathBuf> {
    Some(dir.join("pool.json")).filter(|path| path.exists())
}

fn path_of(setting: &Setting<'_>) -> Result<Option<PathBuf>, Failure> {
    match setting.value.as_str() {
        Some("") => Ok(None),
        Some(path) => Ok(Some(setting.path(path))),
        None => Err(setting.wrong("a path")),
    }
}

/// The error of a search that found nothing, except perhaps a file where it does not look.
fn nowhere(package: &str, workspace: &str, elsewhere: Option<PathBuf>) -> Failure {
    let hint = elsewhere.map_or_else(String::new, |path| {
        format!("\nthere is {0}, which is in none of them; say --pool {0}, or name it in a manifest", path.display())
    });
    Failure::without_pool(format!(
        "no pool file; name one in any of these places:
  --pool FILE                      not given
  LEASE_POOL_FILE                  not set
  [package.metadata.lease] pool    {package}
  [workspace.metadata.lease] pool  {workspace}
  pool.json                        {workspace}{hint}"
    ))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::resolve::{Hold, Wrap, find_hold, find_wrap};

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
        find_pool_file(None, &around, &Manifests::new(&words, &around, None))
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
        let none = Manifests::new(&[], &around, None);
        let typed = find_pool_file(Some("t.json".as_ref()), &around, &none);
        assert_eq!(typed.expect("found"), api.join("t.json"));
        let empty = find_pool_file(Some("".as_ref()), &around, &none);
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
    fn packages_in_a_pool_that_is_not_theirs_are_told() {
        let dir = workspace(IN_ROOT, IN_API);
        let root = dir.path().canonicalize().expect("path");
        let warnings = |at: &Path, words: &[&str], env: &[(&str, &str)]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let around = Surroundings::of_test(at, env);
            let manifests = Manifests::new(&words, &around, None);
            let pool = find_pool_file(None, &around, &manifests).expect("found");
            passed_over(None, &around, &manifests, &pool).expect("read").join("\n")
        };
        for (at, words, package) in [
            (root.clone(), &[][..], "package api "),
            (root.clone(), &["--workspace"], "package api "),
            (root.join("api"), &["--workspace"], "package db-core "),
        ] {
            let warnings = warnings(&at, words, &[]);
            assert!(warnings.starts_with(package) && warnings.lines().count() == 1, "{at:?} {words:?}: {warnings}");
        }
        for (at, words) in [
            (root.clone(), &["-p", "api"][..]),
            (root.clone(), &["--workspace", "--exclude", "api"]),
            (root.join("api"), &[]),
            (root.join("db-core"), &[]),
        ] {
            assert_eq!(warnings(&at, words, &[]), "", "{at:?} {words:?}");
        }
        assert_eq!(warnings(&root, &[], &[("LEASE_POOL_FILE", "chosen.json")]), "");
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
    fn a_file_in_a_package_is_pointed_at() {
        let dir = workspace("", "");
        let root = dir.path().canonicalize().expect("path");
        let file = root.join("api/pool.json");
        fs::write(&file, "{}").expect("file");
        let hint = format!("--pool {}", file.display());
        for (at, words) in [(root.join("api/src"), &[][..]), (root.clone(), &[]), (root.clone(), &["-p", "api"])] {
            let error = find(&at, words, &[]).expect_err("none").to_string();
            assert!(error.contains(&hint), "{hint:?} is not in: {error}");
        }
        let error = find(&root.join("db-core"), &[], &[]).expect_err("none").to_string();
        assert!(!error.contains("api/pool.json"), "{error}");
        let outside = tempfile::tempdir().expect("temporary folder");
        fs::write(outside.path().join("pool.json"), "{}").expect("file");
        let error = find(outside.path(), &[], &[]).expect_err("none").to_string();
        assert!(error.contains("--pool /"), "{error}");
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
        assert!(error.to_string().contains("--pool"), "{error}");
    }

    /// Beside an archive there are manifests and no sources, which cargo refuses to read.
    #[test]
    fn beside_an_archive_the_manifests_are_read_without_the_sources() {
        let root_tables = format!("exclude = [\"elsewhere\"]\n{IN_ROOT}wrap = \"annotated\"\n");
        let dir = workspace(&root_tables, &format!("{IN_API}hold = \"run\"\nwrap = \"api\"\n"));
        let root = dir.path().canonicalize().expect("path");
        fs::remove_dir_all(root.join("api/src")).expect("sources");
        fs::remove_dir_all(root.join("db-core/src")).expect("sources");
        let manifest =
            fs::read_to_string(root.join("Cargo.toml")).expect("manifest").replace("\"db-core\"", "\"db-*\", \"gone\"");
        fs::write(root.join("Cargo.toml"), manifest).expect("file");
        let (annotated, own) = (Wrap::Annotated, Wrap::parse("--wrap", "api").expect("an id"));
        let table: [(&[&str], &str, &Wrap, Hold); 5] = [
            (&[], "shared.json", &annotated, Hold::Test),
            (&["-p", "db-core"], "shared.json", &annotated, Hold::Test),
            (&["-p", "api"], "api/own/api.json", &own, Hold::Run),
            (&["--workspace-remap", "api"], "api/own/api.json", &own, Hold::Run),
            (&["--manifest-path", "db-core/Cargo.toml"], "shared.json", &annotated, Hold::Test),
        ];
        for (words, pool, wrap, hold) in table {
            let around = Surroundings::of_test(&root, &[]);
            let words: Vec<OsString> = words.iter().chain(&["--archive-file", "tests.tar.zst"]).map(OsString::from).collect();
            let manifests = Manifests::new(&words, &around, None);
            let found = find_pool_file(None, &around, &manifests).expect("found");
            assert_eq!(found, root.join(pool), "{words:?}");
            let warnings = passed_over(None, &around, &manifests, &found).expect("read");
            assert_eq!(warnings.len(), usize::from(words.len() == 2), "{words:?}: {warnings:?}");
            assert_eq!(&find_wrap(None, &manifests).expect("found"), wrap, "{words:?}");
            assert_eq!(find_hold(None, &manifests).expect("found"), hold, "{words:?}");
        }
        assert!(find(&root, &[], &[]).is_err(), "without an archive cargo is right");
        fs::write(root.join("api/Cargo.toml"), "[package\n").expect("file");
        let error = find(&root, &["--archive-file", "tests.tar.zst"], &[]).expect_err("broken");
        assert!(std::error::Error::source(&error).expect("cause").to_string().contains("api/Cargo.toml"), "{error}");
    }

    #[test]
    fn beside_an_archive_the_usual_file_is_enough() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = dir.path().canonicalize().expect("path");
        fs::write(root.join("Cargo.toml"), "[package]\nname = \"p\"\nversion.workspace = true\n").expect("file");
        fs::write(root.join("pool.json"), "{}").expect("file");
        assert_eq!(find(&root, &["--archive-file=t.tar.zst"], &[]).expect("found"), root.join("pool.json"));
    }
}
