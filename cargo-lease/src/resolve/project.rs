//! The package and the workspace that a command line is about, as cargo sees them, and what their manifests say to us.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

use super::manifest::read_workspace;
use super::pattern::{matches_pattern, or_nearest};
use super::{Surroundings, programs};
use crate::exit::Failure;

/// The keys of our table in a manifest.
const KEYS: [&str; 3] = ["hold", "pool", "wrap"];

/// What a wrapped command line says about packages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selection {
    /// `-p`: names, package ids or patterns.
    packages: Vec<String>,
    /// `--manifest-path`.
    manifest: Option<PathBuf>,
    /// A folder to search from in place of the working directory (`--workspace-remap`).
    start: Option<PathBuf>,
    /// Whether `--workspace` asks for all packages.
    all: bool,
    /// `--exclude`.
    excluded: Vec<String>,
    /// Whether the tests come from an archive (`--archive-file`), so that their sources need not be there.
    archived: bool,
}

impl Selection {
    /// Reads the words of a wrapped command line, up to its `--`.
    pub(crate) fn of_words(words: &[OsString]) -> Self {
        let words = crate::inject::OwnWords::new(words);
        Self {
            packages: words.texts(&["--package", "-p"]),
            manifest: words.values(&["--manifest-path"]).pop().map(PathBuf::from),
            start: words.values(&["--workspace-remap"]).pop().map(PathBuf::from),
            all: words.has(&["--workspace", "--all"]),
            excluded: words.texts(&["--exclude"]),
            archived: !words.values(&["--archive-file"]).is_empty(),
        }
    }
}

/// What `cargo metadata` says, as far as it matters here.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    pub(super) packages: Vec<Package>,
    #[serde(default)]
    pub(super) workspace_default_members: Vec<String>,
    pub(super) workspace_root: PathBuf,
    #[serde(default)]
    pub(super) metadata: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) id: String,
    pub(super) manifest_path: PathBuf,
    #[serde(default)]
    pub(super) metadata: Value,
    /// `None` where only the manifest was read.
    pub(super) targets: Option<Vec<Target>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Target {
    name: String,
    kind: Vec<String>,
}

impl Package {
    /// The ids of the binaries that cargo makes of its targets, as nextest has them.
    fn binary_ids(&self) -> Option<impl Iterator<Item = String>> {
        let package = &self.name;
        let id = move |Target { name, kind }: &Target| match kind.first().map_or("", String::as_str) {
            "custom-build" => None,
            "test" => Some(format!("{package}::{name}")),
            kind @ ("bin" | "bench" | "example") => Some(format!("{package}::{kind}/{name}")),
            _library => Some(package.clone()),
        };
        Some(self.targets.as_ref()?.iter().filter_map(id))
    }

    /// Whether a `-p` of cargo's names this package: by name, `name@version`, package id, or a pattern.
    fn is_meant_by(&self, spec: &str) -> bool {
        let (name, version) = spec.split_once('@').unwrap_or((spec, ""));
        self.id == spec
            || (matches_pattern(name, &self.name) && self.version.starts_with(version))
            || spec.rsplit_once(['#', '/']).is_some_and(|(_, tail)| self.is_meant_by(tail))
    }
}

/// A workspace, and the packages in it that a command line selects.
#[derive(Debug)]
pub(super) struct Project {
    metadata: Metadata,
    /// The nearest manifest above the place where we were started, or the one that was named.
    nearest: PathBuf,
    selection: Selection,
}

impl Project {
    /// Asks cargo; beside an archive that cargo cannot read, the manifests themselves. `None` outside any project.
    pub(super) fn read(selection: &Selection, around: &Surroundings, cargo: Option<&OsStr>) -> Result<Option<Self>, Failure> {
        let start = selection.start.as_deref().map_or_else(|| around.cwd.clone(), |dir| around.absolute(dir));
        let nearest = match &selection.manifest {
            Some(manifest) => Some(around.absolute(manifest)),
            None => start.ancestors().map(|dir| dir.join("Cargo.toml")).find(|manifest| manifest.is_file()),
        };
        let Some(nearest) = nearest else { return Ok(None) };
        let metadata = cargo_metadata(cargo.unwrap_or("cargo".as_ref()), &nearest, &start).or_else(|failure| {
            let read = selection.archived.then(|| read_workspace(&nearest)).flatten();
            read.ok_or(failure)
        })?;
        Ok(Some(Self { metadata, nearest, selection: selection.clone() }))
    }

    /// What all selected packages agree on.
    ///
    /// # Errors
    ///
    /// Two of them differ; the message names them, what they say, and the option that decides.
    pub(super) fn agreed<T: PartialEq>(
        &self,
        option: &str,
        of: impl Fn(&Place<'_>) -> Result<T, Failure>,
        shown: impl Fn(&T) -> String,
    ) -> Result<T, Failure> {
        let packages = self.selected();
        let Some((first, others)) = packages.split_first() else {
            return of(&Place { project: self, package: None });
        };
        let at = |package| of(&Place { project: self, package: Some(package) });
        let agreed = at(first)?;
        for other in others {
            let different = at(other)?;
            if different != agreed {
                let (one, two) = (shown(&agreed), shown(&different));
                return Err(Failure::usage(format!(
                    "packages {} and {} differ ({one} and {two}); run them one by one, or say {option}",
                    first.name, other.name
                )));
            }
        }
        Ok(agreed)
    }

    /// Packages that are tested along with the selected one although they say something else, and what they say.
    pub(super) fn dissenters<T: PartialEq>(&self, agreed: &T, of: impl Fn(&Place<'_>) -> Result<T, Failure>) -> Vec<(&str, T)> {
        let at_root = same_file(&self.metadata.workspace_root.join("Cargo.toml"), &self.nearest);
        let along = |package: &&Package| match (self.selection.packages.is_empty(), self.selection.all) {
            (false, _) => false,
            (true, true) => !self.selection.excluded.iter().any(|spec| package.is_meant_by(spec)),
            (true, false) => at_root && self.metadata.workspace_default_members.contains(&package.id),
        };
        let said = |package| Some((package, of(&Place { project: self, package: Some(package) }).ok()?));
        let packages = self.metadata.packages.iter().filter(along).filter_map(said);
        packages.filter(|(_, said)| said != agreed).map(|(package, said)| (package.name.as_str(), said)).collect()
    }

    /// The ids of all binaries of the workspace; `None` where they are not known.
    pub(super) fn binary_ids(&self) -> Option<Vec<String>> {
        let of_packages: Option<Vec<_>> = self.metadata.packages.iter().map(Package::binary_ids).collect();
        Some(of_packages?.into_iter().flatten().collect())
    }

    /// The packages that `-p` names, else the one whose manifest is the nearest.
    fn selected(&self) -> Vec<&Package> {
        let packages = self.metadata.packages.iter();
        if self.selection.packages.is_empty() {
            return packages.filter(|package| same_file(&package.manifest_path, &self.nearest)).collect();
        }
        packages.filter(|package| self.selection.packages.iter().any(|spec| package.is_meant_by(spec))).collect()
    }
}

/// A package, or the workspace's root where that is none.
pub(super) struct Place<'a> {
    project: &'a Project,
    package: Option<&'a Package>,
}

impl Place<'_> {
    /// The folder of the workspace's manifest.
    pub(super) fn workspace_root(&self) -> &Path {
        &self.project.metadata.workspace_root
    }

    /// Says where the package's table was looked for.
    pub(super) fn package_manifest(&self) -> Result<&Path, &Path> {
        self.package.map(|package| package.manifest_path.as_path()).ok_or(&self.project.nearest)
    }

    /// The folder of the package, or of every package of a workspace whose root is none.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        let packages = self.project.metadata.packages.iter();
        let meant = packages.filter(|package| self.package.is_none_or(|one| one.id == package.id));
        meant.filter_map(|package| package.manifest_path.parent())
    }

    /// A key of `[package.metadata.lease]`, else of `[workspace.metadata.lease]`.
    pub(super) fn setting(&self, key: &str) -> Result<Option<Setting<'_>>, Failure> {
        if let Some(package) = self.package
            && let Some(setting) = setting(&package.metadata, "package", key, package.manifest_path.clone())?
        {
            return Ok(Some(setting));
        }
        let metadata = &self.project.metadata;
        setting(&metadata.metadata, "workspace", key, metadata.workspace_root.join("Cargo.toml"))
    }
}

/// A value in a manifest, and where it stands.
pub(super) struct Setting<'a> {
    pub(super) value: &'a Value,
    name: String,
    manifest: PathBuf,
}

impl Setting<'_> {
    /// A path, relative to the manifest.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.manifest.parent().unwrap_or(Path::new("")).join(path)
    }

    /// The error for a value of another kind.
    pub(super) fn wrong(&self, expected: &str) -> Failure {
        wrong(&self.manifest, &self.name, expected, self.value)
    }
}

fn setting<'a>(metadata: &'a Value, of: &str, key: &str, manifest: PathBuf) -> Result<Option<Setting<'a>>, Failure> {
    let Some(lease) = metadata.get("lease") else { return Ok(None) };
    let table = format!("{of}.metadata.lease");
    let Some(members) = lease.as_object() else { return Err(wrong(&manifest, &table, "a table", lease)) };
    if let Some(unknown) = members.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let (manifest, meant) = (manifest.display(), or_nearest(unknown, KEYS));
        return Err(Failure::usage(format!("{manifest}: {table}.{unknown}: there is no such key{meant}")));
    }
    Ok(members.get(key).map(|value| Setting { value, name: format!("{table}.{key}"), manifest }))
}

fn wrong(manifest: &Path, name: &str, expected: &str, found: &Value) -> Failure {
    Failure::usage(format!("{}: {name}: expected {expected}, found {found}", manifest.display()))
}

fn cargo_metadata(cargo: &OsStr, manifest: &Path, start: &Path) -> Result<Metadata, Failure> {
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"]);
    command.arg(manifest).current_dir(start).stdin(Stdio::null());
    if programs::is_of_one_toolchain(cargo) {
        // It would read all certificates of the machine first, which takes half of its time, and calls nobody.
        command.env("SSL_CERT_FILE", "/dev/null");
    }
    let output = command.output().map_err(|error| {
        let program = cargo.display();
        Failure::usage(format!("cannot run {program} to find the pool file; name it with --pool or LEASE_POOL_FILE"))
            .because(error)
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("error: ").to_owned();
        let advice = "cannot read the workspace to find its pool file; name it with --pool or LEASE_POOL_FILE";
        return Err(Failure::usage(advice).because(said));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Failure::internal("cannot read what cargo metadata printed", error))
}

fn same_file(left: &Path, right: &Path) -> bool {
    left == right || matches!((left.canonicalize(), right.canonicalize()), (Ok(left), Ok(right)) if left == right)
}
