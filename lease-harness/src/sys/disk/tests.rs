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
    write_new(&path, None, b"first").unwrap();
    assert!(write_new(&path, None, b"second").is_err());
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

/// What is to be linked.
fn to_link(folder: &Path, text: &str) -> Written {
    Written::write_anew(Some(Anew::linked(folder, "spare")), || folder.join("temporary"), text.as_bytes()).unwrap()
}

/// What is to be swapped.
fn to_swap(folder: &Path, text: &str) -> Written {
    Written::write_anew(Some(Anew::swapped(folder, "swapped")), || folder.join("temporary"), text.as_bytes()).unwrap()
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// Where files can be written anew: Linux, and most of its file systems.
#[cfg(target_os = "linux")]
mod anew {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_that_was_removed_is_written_anew() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let mut inodes = Vec::new();
        for text in ["long enough to be cut", "short", "", "longer again"] {
            to_link(temp.path(), text).place(&path).unwrap();
            assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
            assert_eq!(names_in(temp.path()), [".spare", "file"]);
            inodes.push(inode(&path));
            assert!(remove_file(&path).unwrap());
        }
        inodes.dedup();
        assert_eq!(inodes.len(), 1, "it was made anew");
    }

    #[test]
    fn two_files_take_turns_in_one_place() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let mut inodes = Vec::new();
        for text in ["1", "22", "333", "4444", "5"] {
            to_swap(temp.path(), text).swap_in(&path).unwrap();
            assert_eq!(read(&path).unwrap().unwrap(), text.as_bytes());
            assert_eq!(names_in(temp.path()), [".spare", "file"]);
            inodes.push(inode(&path));
        }
        assert_ne!(inodes[0], inodes[1], "what has a name is not written");
        assert_eq!([inodes[2], inodes[3]], [inodes[0], inodes[1]]);
    }

    #[test]
    fn what_somebody_reads_is_not_written() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        to_link(temp.path(), "old").place(&path).unwrap();
        let (mut reader, _) = open_file(&path, OFlags::empty()).unwrap();
        fs::remove_file(&path).unwrap();
        to_link(temp.path(), "new").place(&path).unwrap();
        let mut seen = String::new();
        reader.read_to_string(&mut seen).unwrap();
        assert_eq!((seen.as_str(), read(&path).unwrap().unwrap()), ("old", b"new".to_vec()));
    }

    #[test]
    fn what_has_another_name_is_not_written() {
        let temp = tempfile::tempdir().unwrap();
        let [path, copy] = ["file", "copy"].map(|name| temp.path().join(name));
        to_link(temp.path(), "old").place(&path).unwrap();
        fs::hard_link(&path, &copy).unwrap();
        fs::remove_file(&path).unwrap();
        to_link(temp.path(), "new").place(&path).unwrap();
        assert_eq!((read(&copy).unwrap().unwrap(), read(&path).unwrap().unwrap()), (b"old".to_vec(), b"new".to_vec()));
    }

    #[test]
    fn of_two_who_write_one_makes_a_file() {
        let temp = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| temp.path().join(name));
        let (one, other) = (to_link(temp.path(), "one"), to_link(temp.path(), "other"));
        assert_eq!(names_in(temp.path()), [".spare", "temporary"]);
        other.place(&second).unwrap();
        one.place(&first).unwrap();
        assert_eq!((read(&first).unwrap().unwrap(), read(&second).unwrap().unwrap()), (b"one".to_vec(), b"other".to_vec()));
    }

    #[test]
    fn what_is_not_placed_changes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        to_swap(temp.path(), "old").swap_in(&path).unwrap();
        to_swap(temp.path(), "newer").swap_in(&path).unwrap();
        drop(to_swap(temp.path(), "not placed"));
        assert_eq!(
            (names_in(temp.path()), read(&path).unwrap().unwrap()),
            (vec![".spare".to_owned(), "file".to_owned()], b"newer".to_vec())
        );
    }

    #[test]
    fn something_else_in_the_place_of_the_spare_file_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let [path, precious, spare] = ["file", "precious", ".spare/spare"].map(|name| temp.path().join(name));
        fs::create_dir(temp.path().join(".spare")).unwrap();
        fs::write(&precious, "precious").unwrap();
        let write = || {
            to_link(temp.path(), "new").place(&path).unwrap();
            assert_eq!(
                (read(&path).unwrap().unwrap(), read(&precious).unwrap().unwrap()),
                (b"new".to_vec(), b"precious".to_vec())
            );
            fs::remove_file(&path).unwrap();
        };
        symlink(&precious, &spare).unwrap();
        write();
        fs::remove_file(&spare).unwrap();
        fs::hard_link(&precious, &spare).unwrap();
        write();
        fs::remove_file(&spare).unwrap();
        fs::create_dir(&spare).unwrap();
        write();
        remove_tree(&temp.path().join(".spare")).unwrap();
        fs::write(temp.path().join(".spare"), "no folder").unwrap();
        write();
    }

    #[test]
    fn a_place_that_is_taken_is_replaced_or_left() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        fs::write(&path, "in the way").unwrap();
        assert!(write_new(&path, Some(Anew::linked(temp.path(), "spare")), b"new").is_err());
        assert_eq!(read(&path).unwrap().unwrap(), b"in the way");
        to_link(temp.path(), "new").place(&path).unwrap();
        assert_eq!(
            (read(&path).unwrap().unwrap(), names_in(temp.path())),
            (b"new".to_vec(), vec![".spare".to_owned(), "file".to_owned()])
        );
    }

    /// As many readers as writers, of a file that is written, removed and replaced all the time.
    #[test]
    fn nobody_sees_half_a_file() {
        const ROUNDS: usize = 2000;
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let text = |round: usize| char::from(b'a' + (round % 26) as u8).to_string().repeat(100 + round % 1000);
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let (path, is_over) = (&path, &is_over);
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(move || {
                        let mut n_read = 0;
                        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                            let Some(seen) = read(path).unwrap() else { continue };
                            assert!(100 <= seen.len() && seen.iter().all(|byte| *byte == seen[0]), "{seen:?}");
                            n_read += 1;
                        }
                        n_read
                    })
                })
                .collect();
            for round in 0..ROUNDS {
                match round % 3 {
                    0 => to_link(temp.path(), &text(round)).place(path),
                    1 => to_link(temp.path(), &text(round)).swap_in(path),
                    _ => to_swap(temp.path(), &text(round)).swap_in(path),
                }
                .unwrap();
                if round % 5 == 0 {
                    remove_file(path).unwrap();
                }
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(readers.into_iter().all(|reader| 0 < reader.join().unwrap()));
        });
    }
}
