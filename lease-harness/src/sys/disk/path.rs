//! Paths below a folder.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The path of a name below a folder, which is given in parts. It is made in one piece; [`Path::join`] moves what it has copied.
pub(crate) fn path_in(folder: &Path, name: &[&str]) -> PathBuf {
    /// Few names are longer.
    const USUAL_LEN: usize = 96;
    let mut path = OsString::with_capacity(folder.as_os_str().len() + USUAL_LEN);
    path.push(folder);
    if !matches!(path.as_bytes().last(), None | Some(b'/')) {
        path.push("/");
    }
    for part in name {
        path.push(part);
    }
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_one_piece_is_the_one_that_is_joined() {
        for folder in ["/store", "/store/", "/", "store", "."] {
            let folder = Path::new(folder);
            assert_eq!(path_in(folder, &["db"]), folder.join("db"));
            assert_eq!(path_in(folder, &["db", "/", "a", ".json"]), folder.join("db/a.json"));
        }
        assert_eq!(path_in(Path::new(""), &["a", "b"]), Path::new("ab"));
    }
}
