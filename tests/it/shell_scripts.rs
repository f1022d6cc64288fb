//! The check of all shell scripts finds them, and neither it nor what CI asks of rustup passes in silence.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use lease_tests::binary::workspace;
use lease_tests::{Lab, scratch};

use crate::support::lab;

/// A repository with the check in it.
fn repository(lab: &Lab) -> PathBuf {
    let folder = lab.path("a \"repository\"");
    fs::create_dir_all(folder.join("scripts")).unwrap();
    fs::copy(workspace().join("scripts/check-shell"), folder.join("scripts/check-shell")).unwrap();
    scratch::into_repository(lab, &folder);
    folder
}

/// The check, on a path that has what it needs, and `shellcheck` only if it is put there.
fn check(lab: &Lab, folder: &Path) -> Command {
    let bin = lab.path("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        let find = "for name in bash cat dirname env git; do type -P \"$name\"; done";
        let mut which = lab.command("bash");
        which.args(["-c", find]);
        for found in lab.run(which).expect_success().stdout.lines() {
            symlink(found, bin.join(Path::new(found).file_name().expect("a program has a name"))).unwrap();
        }
    }
    let mut command = lab.command(folder.join("scripts/check-shell"));
    command.env("PATH", bin);
    command
}

#[test]
fn a_script_is_known_by_its_ending_and_by_its_first_line() {
    let lab = lab();
    let folder = repository(&lab);
    for (name, text) in [
        ("by ending.sh", "echo\n"),
        ("by-ending.bash", ""),
        ("hook", "#!/bin/sh\n"),
        ("program", "#!/usr/bin/env bash\n"),
        ("-strange\nname", "#! /bin/dash -e\n"),
        ("fish", "#!/usr/bin/env fish\n"),
        ("python", "#!/usr/bin/env python3\n# sh\n"),
        ("text", "#!/bin/sh is how it begins\n".get(2..).expect("a text")),
        ("binary", "\x7fELF\0\0#!/bin/sh\n"),
        ("target/built.sh", "echo\n"),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).unwrap();
        fs::write(path, text).unwrap();
    }
    symlink("hook", folder.join("link.sh")).unwrap();
    let command = check(&lab, &folder);
    // It is only asked what it was given.
    fs::write(lab.path("bin/shellcheck"), "#!/usr/bin/env bash\nprintf '<%s>' \"$@\"\n").unwrap();
    executable(&lab.path("bin/shellcheck"));
    let run = lab.run(command).expect_success();
    let names: Vec<_> = ["by ending.sh", "by-ending.bash", "hook", "program", "-strange\nname", "scripts/check-shell"].into();
    for name in &names {
        assert!(run.stdout.contains(&format!("<{name}>")), "{name:?}: {}", run.account());
    }
    assert!(
        run.stdout.starts_with("<-->") && run.stdout.contains(&format!("check-shell: {} scripts", names.len())),
        "{}",
        run.account()
    );
}

#[test]
fn without_shellcheck_nothing_passes() {
    let lab = lab();
    let folder = repository(&lab);
    let run = lab.run(check(&lab, &folder)).expect_code(1);
    assert!(run.stderr.contains("no shell script was checked"), "{}", run.account());
}

#[test]
fn a_complaint_fails_the_check() {
    let lab = lab();
    let folder = repository(&lab);
    let command = check(&lab, &folder);
    symlink("/bin/false", lab.path("bin/shellcheck")).unwrap();
    lab.run(command).expect_code(1);
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What is printed and the exit code, with a `rustup` that ends so, or none, and this in the variable that allows it to fail.
#[track_caller]
fn check_musl(rustup: Option<i32>, allowed: &str, expected: (&str, i32, &str)) {
    let lab = lab();
    let bin = lab.path("bin");
    fs::create_dir(&bin).unwrap();
    let mut which = lab.command("bash");
    which.args(["-c", "for name in bash env timeout uname; do type -P \"$name\"; done"]);
    for found in lab.run(which).expect_success().stdout.lines() {
        symlink(found, bin.join(Path::new(found).file_name().expect("a program has a name"))).unwrap();
    }
    if let Some(code) = rustup {
        fs::write(bin.join("rustup"), format!("#!/usr/bin/env bash\necho \"rustup $*\"\nexit {code}\n")).unwrap();
        fs::set_permissions(bin.join("rustup"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = lab.command(workspace().join("scripts/musl-feature"));
    command.env("PATH", bin).env("CI_WITHOUT_MUSL", allowed);
    let run = lab.run(command);
    let (feature, code, said) = expected;
    assert_eq!((run.stdout.trim(), run.status.code()), (feature, Some(code)), "{}", run.account());
    assert!(run.stderr.contains(said), "{}", run.account());
}

#[test]
fn tests_for_musl_are_left_out_only_where_that_is_allowed_or_nothing_can_bring_the_target() {
    check_musl(Some(0), "", ("lease-tests/musl", 0, "rustup target add"));
    check_musl(Some(1), "", ("", 1, "CI_WITHOUT_MUSL"));
    check_musl(Some(1), "no", ("", 1, "CI_WITHOUT_MUSL"));
    check_musl(Some(1), "yes", ("", 0, "left out"));
    check_musl(None, "", ("", 0, "there is no rustup: the tests with the feature musl are left out"));
}
