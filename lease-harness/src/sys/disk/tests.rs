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
    let pages = [1, 2, 3, 4].map(|n_pages| n_pages * 4096);
    let around = pages.into_iter().chain([1 << 20]).flat_map(|length| [length - 1, length, length + 1]);
    for length in [0, 1, 3 << 20].into_iter().chain(around) {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
        fs::write(&path, &bytes).unwrap();
        assert!(read_file(&path).unwrap() == bytes, "{length}");
        assert!(read_at_once(&path).unwrap().unwrap() == bytes, "{length} at once");
    }
    for read in [read, read_at_once] {
        assert_eq!(read(&temp.path().join("absent")).unwrap(), None);
        assert_eq!(read(temp.path()).unwrap_err().source.raw_os_error(), Some(Errno::ISDIR.raw_os_error()));
        for no_file in ["/dev/null", "/dev/zero"] {
            assert!(read(Path::new(no_file)).unwrap_err().source.to_string().contains("no file"), "{no_file}");
        }
        let pipe = temp.path().join("pipe");
        let _bell = super::super::bell::Bell::hang(&pipe).unwrap();
        assert!(read(&pipe).unwrap_err().source.to_string().contains("no file"));
    }
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

#[test]
fn what_may_change_unnoticed_has_no_settled_stamp() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    assert!(settled_stamp(&path).is_none());
    let is_fresh = || age_of(&path).unwrap().unwrap() < Duration::from_millis(10);
    // A look that takes longer than that says nothing.
    let unsettled = std::iter::repeat_with(|| {
        fs::write(&path, "text").unwrap();
        (settled_stamp(&path), is_fresh())
    });
    assert_eq!(unsettled.into_iter().find(|(_, is_fresh)| *is_fresh).unwrap().0, None);
    while settled_stamp(&path).is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(settled_stamp(&path), stamp(&path));
}

/// What a new file has of us.
fn maker(folder: &Path) -> KnownMaker {
    let path = folder.join("made");
    let maker = Maker::of(&File::create(&path).unwrap()).unwrap();
    fs::remove_file(path).unwrap();
    KnownMaker::default().or_guess(maker)
}

/// What is to be linked.
fn to_link(folder: &Path, text: &str) -> Written {
    Written::write_anew(Some(&Anew::linked(folder, "linked", maker(folder))), || folder.join("temporary"), text.as_bytes())
        .unwrap()
}

/// What is to be swapped.
fn to_swap(folder: &Path, text: &str) -> Written {
    Written::write_anew(Some(&Anew::swapped(folder, "swapped", maker(folder))), || folder.join("temporary"), text.as_bytes())
        .unwrap()
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
            assert_eq!(names_in(temp.path()), [".anew", "file"]);
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
            assert_eq!(names_in(temp.path()), [".anew", "file"]);
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
        assert_eq!(names_in(temp.path()), [".anew", "temporary"]);
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
            (vec![".anew".to_owned(), "file".to_owned()], b"newer".to_vec())
        );
    }

    #[test]
    fn something_else_in_its_place_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let [path, precious, place] = ["file", "precious", ".anew/linked"].map(|name| temp.path().join(name));
        fs::create_dir(temp.path().join(".anew")).unwrap();
        fs::write(&precious, "precious").unwrap();
        let write = || {
            to_link(temp.path(), "new").place(&path).unwrap();
            assert_eq!(
                (read(&path).unwrap().unwrap(), read(&precious).unwrap().unwrap()),
                (b"new".to_vec(), b"precious".to_vec())
            );
            fs::remove_file(&path).unwrap();
        };
        symlink(&precious, &place).unwrap();
        write();
        fs::remove_file(&place).unwrap();
        fs::hard_link(&precious, &place).unwrap();
        write();
        assert_ne!(inode(&place), inode(&precious), "a link is taken away, and there is a file of ours");
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        write();
        remove_tree(&temp.path().join(".anew")).unwrap();
        fs::write(temp.path().join(".anew"), "no folder").unwrap();
        write();
    }

    #[test]
    fn what_is_retired_is_written_anew() {
        let temp = tempfile::tempdir().unwrap();
        let (path, anew) = (temp.path().join("file"), Anew::swapped(temp.path(), "swapped", maker(temp.path())));
        let mut inodes = Vec::new();
        for text in ["one", "another"] {
            to_swap(temp.path(), text).swap_in(&path).unwrap();
            inodes.push(inode(&path));
            retire(&path, Some(&anew)).unwrap();
            assert_eq!(read(&path).unwrap(), None);
        }
        assert_eq!(inodes[0], inodes[1]);
        // Nor is there one where nothing was written anew before.
        remove_tree(&temp.path().join(".anew")).unwrap();
        fs::write(&path, "of somebody else").unwrap();
        retire(&path, Some(&anew)).unwrap();
        assert_eq!(read(&path).unwrap(), None);
        // Beside one there is no place for another.
        to_swap(temp.path(), "first").swap_in(&path).unwrap();
        to_swap(temp.path(), "second").swap_in(&path).unwrap();
        retire(&path, Some(&anew)).unwrap();
        retire(&path, Some(&anew)).unwrap();
        assert_eq!(names_in(temp.path()), [".anew"]);
    }

    /// Whoever is stopped there would stand in the way of readers.
    #[test]
    fn what_is_swapped_never_has_two_names() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        for text in ["first", "second", "third"] {
            to_swap(temp.path(), text).swap_in(&path).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().nlink(), 1, "{text}");
        }
    }

    /// The folder is deleted and made anew by somebody else while a text waits for its place.
    #[test]
    fn nobody_gives_a_place_to_the_text_of_somebody_else() {
        for is_linked in [true, false] {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("file");
            let write = |text| if is_linked { to_link(temp.path(), text) } else { to_swap(temp.path(), text) };
            fs::write(&path, "old").unwrap();
            let first = write("first");
            remove_tree(&temp.path().join(".anew")).unwrap();
            first.swap_in(&path).unwrap();
            assert_eq!(read(&path).unwrap().unwrap(), b"first");
            if is_linked {
                let first = write("first again");
                remove_tree(&temp.path().join(".anew")).unwrap();
                let second = write("second");
                first.swap_in(&path).unwrap();
                assert_eq!(read(&path).unwrap().unwrap(), b"first again");
                drop(second);
            }
        }
    }

    /// Else it would show others what they may not see, or not what they may.
    #[test]
    fn what_others_may_read_or_not_is_as_with_a_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let mode = || fs::metadata(&path).unwrap().mode();
        to_link(temp.path(), "first").place(&path).unwrap();
        let usual = mode();
        fs::remove_file(&path).unwrap();
        fs::set_permissions(temp.path().join(".anew/linked"), fs::Permissions::from_mode(0o640)).unwrap();
        to_link(temp.path(), "second").place(&path).unwrap();
        assert_eq!(mode(), usual);
        fs::remove_file(&path).unwrap();
        to_link(temp.path(), "third").place(&path).unwrap();
        assert!(temp.path().join(".anew/linked").exists(), "there is one of ours again");
    }

    /// In a folder that gives its files a group, say.
    #[test]
    fn a_guess_that_was_wrong_costs_one_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let [path, other] = ["file", "other"].map(|name| temp.path().join(name));
        fs::write(&other, "").unwrap();
        fs::set_permissions(&other, fs::Permissions::from_mode(0o640)).unwrap();
        let known = KnownMaker::default().or_guess(Maker::of(&File::open(&other).unwrap()).unwrap());
        let anew = Anew::linked(temp.path(), "linked", known);
        let mut inodes = Vec::new();
        drop(to_link(temp.path(), "of another process"));
        for text in ["first", "second"] {
            write_new(&path, Some(&anew), text.as_bytes()).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().nlink(), 2);
            inodes.push(inode(&path));
            fs::remove_file(&path).unwrap();
        }
        assert_eq!(inodes[0], inodes[1]);
    }

    #[test]
    fn what_was_not_written_for_long_goes() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(".anew/linked");
        drop(to_link(temp.path(), "text"));
        tidy_anew(temp.path());
        assert!(path.exists());
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(24 * 3600)).unwrap();
        tidy_anew(temp.path());
        assert!(!path.exists());
    }

    #[test]
    fn a_place_that_is_taken_is_replaced_or_left() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        fs::write(&path, "in the way").unwrap();
        assert!(write_new(&path, Some(&Anew::linked(temp.path(), "linked", maker(temp.path()))), b"new").is_err());
        assert!(!to_link(temp.path(), "new").place_new(&path).unwrap());
        assert!(!Written::write(temp.path().join("temporary"), b"new").unwrap().place_new(&path).unwrap());
        assert_eq!(read(&path).unwrap().unwrap(), b"in the way");
        to_link(temp.path(), "new").place(&path).unwrap();
        assert_eq!(
            (read(&path).unwrap().unwrap(), names_in(temp.path())),
            (b"new".to_vec(), vec![".anew".to_owned(), "file".to_owned()])
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
