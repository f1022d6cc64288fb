//! Where a thing of ours can lie.

use std::path::{Component, Path, PathBuf};

use crate::pool::{GRANT, is_place_of_grant};
use crate::store::{LeaseStore, ManagedResource};
use crate::sys::disk;

/// The path of a resource, if it is one where we make things.
pub(super) fn place_of(store: &LeaseStore, resource: &ManagedResource) -> Result<PathBuf, String> {
    let path = PathBuf::from(resource.path.as_deref().ok_or("it has no path")?);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::RootDir);
    // Compared by its bytes: what is written otherwise was not written by us.
    let is_plain = path.components().all(is_plain) && path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
    if !is_plain {
        return Err(format!("{} is no plain absolute path", path.display()));
    }
    let is_made = path.parent() == Some(&store.resources().made_dir());
    let is_of_grant = resource.owner_kind == GRANT && is_place_of_grant(store, &path, &resource.owner_id);
    if !is_made && !is_of_grant {
        return Err(format!("{} is outside of where things are made", path.display()));
    }
    check_folders(store.dir(), &path)?;
    Ok(path)
}

/// Nothing on the way from the store may lead elsewhere.
fn check_folders(store: &Path, path: &Path) -> Result<(), String> {
    let way = path.ancestors().skip(1).take_while(|folder| folder.starts_with(store));
    match way.into_iter().find(|folder| !disk::is_folder(folder)) {
        Some(folder) => Err(format!("{} is no folder, or a link to one", folder.display())),
        None => Ok(()),
    }
}
