use super::*;

fn names_in(dir: &Path) -> Vec<String> {
    let mut names = names(dir).unwrap();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_and_nothing_else_is_left() {
    let temp = tempfile::tempdir().unwrap();
    let (path, temporary) = (temp.path().join("file"), temp.path().join("temporary"));
    for text in ["new", "another", ""] {
        replace(&path, temporary.clone(), text.as_bytes()).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
        assert_eq!(names_in(temp.path()), ["file"]);
    }
    drop(Written::write(temporary.clone(), b"not placed").unwrap());
    assert_eq!(names_in(temp.path()), ["file"]);
    fs::remove_file(&path).unwrap();
    Written::write(temporary, b"placed").unwrap().swap_in(&path).unwrap();
    assert_eq!((names_in(temp.path()), read(&path).unwrap().unwrap()), (vec!["file".to_owned()], b"placed".to_vec()));
}

#[test]
fn a_new_file_takes_nobodys_place() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    write_new(&path, b"first").unwrap();
    assert!(write_new(&path, b"second").is_err());
    assert_eq!(read(&path).unwrap().unwrap(), b"first");
}

#[test]
fn a_folder_is_made_only_if_it_is_missing() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("a/b");
    let write = || append_line(&folder.join("log"), "line");
    for n_lines in 1..=2 {
        with_folder(&folder, write).unwrap();
        assert_eq!(read(&folder.join("log")).unwrap().unwrap(), "line\n".repeat(n_lines).into_bytes());
    }
    let file = temp.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(with_folder(&file, || append_line(&file.join("log"), "line")).is_err());
}

/// Below, at and above what is read at once.
#[test]
fn files_of_every_length_are_read_whole() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    for length in [0, 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20] {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
        fs::write(&path, &bytes).unwrap();
        assert!(read_file(&path).unwrap() == bytes, "{length}");
    }
    assert_eq!(read(&temp.path().join("absent")).unwrap(), None);
    assert_eq!(read_file(temp.path()).unwrap_err().raw_os_error(), Some(Errno::ISDIR.raw_os_error()));
}

#[test]
fn a_stamp_tells_a_file_from_what_it_became() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    assert!(stamp(&path).is_none());
    fs::write(&path, "one").unwrap();
    let first = stamp(&path);
    assert_eq!(stamp(&path), first);
    replace(&path, temp.path().join("temporary"), b"two").unwrap();
    assert_ne!(stamp(&path), first);
}
