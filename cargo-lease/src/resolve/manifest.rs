//! Manifests as they stand in files, where cargo does not read them: beside an archive of tests the sources need not be there,
//! and cargo wants each target's.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::pattern::matches_pattern;
use super::project::{Metadata, Package};

/// What of a manifest matters here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Manifest {
    package: Option<PackageTable>,
    workspace: Option<WorkspaceTable>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct PackageTable {
    name: String,
    /// A text, or where to inherit it from.
    version: Option<toml::Value>,
    metadata: Option<toml::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct WorkspaceTable {
    #[serde(default)]
    members: Vec<String>,
    default_members: Option<Vec<String>>,
    #[serde(default)]
    exclude: Vec<String>,
    metadata: Option<toml::Value>,
}

/// What `cargo metadata` would say of the workspace of this manifest, as far as it matters here; `None` if a manifest that is
/// there is none. Members that are not there are left out.
pub(super) fn read_workspace(nearest: &Path) -> Option<Metadata> {
    let own = read(nearest)?;
    let root = root_above(nearest).unwrap_or_else(|| nearest.to_owned());
    let dir = root.parent()?;
    let Manifest { package, workspace } = read(&root)?;
    let mut packages: Vec<_> = package.map(|package| package.found_in(&root)).into_iter().collect();
    let is_package = !packages.is_empty();
    let mut members = workspace.iter().flat_map(|workspace| &workspace.members).flat_map(|member| manifests(dir, member));
    members.try_for_each(|member| {
        if packages.iter().all(|known| known.manifest_path != member) {
            packages.extend(read(&member)?.package.map(|package| package.found_in(&member)));
        }
        Some(())
    })?;
    // A member by its place in a path of another is not found by the list.
    if packages.iter().all(|known| known.manifest_path != nearest) {
        packages.extend(own.package.map(|package| package.found_in(nearest)));
    }
    let defaults = workspace.as_ref().and_then(|workspace| workspace.default_members.as_ref());
    let defaults = match defaults {
        Some(defaults) => defaults.iter().flat_map(|member| manifests(dir, member)).map(|member| id_of(&member)).collect(),
        None if is_package => vec![id_of(&root)],
        None => packages.iter().map(|package| package.id.clone()).collect(),
    };
    Some(Metadata {
        packages,
        workspace_default_members: defaults,
        workspace_root: dir.to_owned(),
        metadata: json(workspace.and_then(|workspace| workspace.metadata)),
    })
}

fn read(manifest: &Path) -> Option<Manifest> {
    toml::from_str(&fs::read_to_string(manifest).ok()?).ok()
}

/// The nearest manifest with a workspace that does not exclude this one.
fn root_above(nearest: &Path) -> Option<PathBuf> {
    let own = nearest.parent()?;
    own.ancestors().map(|dir| dir.join("Cargo.toml")).find(|manifest| {
        let workspace = read(manifest).and_then(|manifest| manifest.workspace);
        let dir = manifest.parent().unwrap_or(own);
        workspace.is_some_and(|workspace| !workspace.exclude.iter().any(|excluded| own.starts_with(dir.join(excluded))))
    })
}

/// The manifests in the folders that a member of a workspace names; each part of its path may be a pattern.
fn manifests(root: &Path, member: &str) -> Vec<PathBuf> {
    let mut folders = vec![root.to_owned()];
    for part in member.split('/').filter(|part| !part.is_empty() && *part != ".") {
        folders = folders.iter().flat_map(|folder| folders_in(folder, part)).collect();
    }
    folders.into_iter().map(|folder| folder.join("Cargo.toml")).filter(|manifest| manifest.is_file()).collect()
}

fn folders_in(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    if !pattern.contains(['*', '?']) {
        return vec![folder.join(pattern)];
    }
    let names = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<_> = names.filter(|name| matches_pattern(pattern, name)).map(|name| folder.join(name)).collect();
    found.sort();
    found
}

impl PackageTable {
    fn found_in(self, manifest: &Path) -> Package {
        Package {
            name: self.name,
            version: self.version.and_then(|version| version.as_str().map(str::to_owned)).unwrap_or_default(),
            id: id_of(manifest),
            manifest_path: manifest.to_owned(),
            metadata: json(self.metadata),
            targets: None,
        }
    }
}

fn id_of(manifest: &Path) -> String {
    manifest.display().to_string()
}

/// A value as cargo would print it.
fn json(value: Option<toml::Value>) -> Value {
    value.and_then(|value| serde_json::to_value(value).ok()).unwrap_or_default()
}
