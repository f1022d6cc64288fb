//! Where a relative pool file is: the runtime looks in the same places, and a test of it compares.

use std::path::Path;

/// Whether the pool file is in the package or in its workspace.
pub(crate) fn is_there(package: &Path, pool: &str) -> bool {
    let is_workspace = |folder: &&Path| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.trim_start().starts_with("[workspace]") || line.trim_start().starts_with("[workspace."))
    };
    package.join(pool).exists() || package.ancestors().find(is_workspace).is_some_and(|root| root.join(pool).exists())
}
