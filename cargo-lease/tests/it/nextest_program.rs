//! Which nextest is started, by whom, and which compiler is asked about the host: as cargo would, with programs in their places
//! that say what they were given.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::lab::{Lab, expect_code, has, path_behind};

/// Says its name, its `CARGO` and its words.
const FAKE: &str = "#!/bin/sh
case $1 in -vV) echo 'host: x86_64-unknown-linux-gnu'; exit ;; esac
printf '%s %s ' \"$0\" \"$CARGO\"
printf '[%s]' \"$@\"
";
const CONFIG: &str = ".cargo/config.toml";

/// A toolchain, and a nextest in `PATH`.
fn lab() -> Lab {
    let lab = Lab::new(2);
    for program in ["toolchain/bin/cargo", "toolchain/bin/rustc", "bin/cargo-nextest"] {
        lab.write(program, FAKE);
    }
    // Without our library in it there is nothing to list.
    lab.write("Cargo.lock", "version = 4\n");
    lab
}

fn lease(lab: &Lab, words: &[&str]) -> Command {
    let mut command = lab.lease(words);
    command.env("CARGO", lab.path("toolchain/bin/cargo")).env("PATH", path_behind(&lab.path("bin")));
    command.env("CARGO_HOME", lab.path("home")).env_remove("MAKEFLAGS").env_remove("MFLAGS");
    command
}

/// The program that was started, with what it was given.
fn started(command: &mut Command) -> String {
    expect_code(command, 0).0
}

#[test]
fn nextest_gets_from_us_what_it_gets_from_cargo() {
    let lab = lab();
    let (cargo, nextest) = (lab.path("toolchain/bin/cargo"), lab.path("bin/cargo-nextest"));
    let by_us = started(&mut lease(&lab, &["nextest", "list", "-E", "all()", "--", "--skip"]));
    assert_eq!(by_us, format!("{} {} [nextest][list][-E][all()][--][--skip]", nextest.display(), cargo.display()));
    let run = started(&mut lease(&lab, &["nextest", "run", "name"]));
    assert!(run.starts_with(&format!("{} {} [nextest][run][--config]", nextest.display(), cargo.display())), "{run}");
}

#[test]
fn the_nextest_that_cargo_would_choose_is_chosen() {
    let lab = lab();
    let by_us = |home: &str| started(lease(&lab, &["nextest", "list"]).env("CARGO_HOME", lab.path(home)));
    lab.write("home/bin/cargo-nextest", FAKE);
    assert!(by_us("home").starts_with(lab.path("home/bin/cargo-nextest").to_str().expect("text")));
    assert!(by_us("none").starts_with(lab.path("bin/cargo-nextest").to_str().expect("text")));
    // Who names that folder in `PATH` says when it is its turn.
    let both = std::env::join_paths([lab.path("bin"), lab.path("home/bin")]).expect("no colon in it");
    let by_us = started(lease(&lab, &["nextest", "list"]).env("PATH", path_behind_all(&both)));
    assert!(by_us.starts_with(lab.path("bin/cargo-nextest").to_str().expect("text")));
}

fn path_behind_all(folders: &std::ffi::OsStr) -> std::ffi::OsString {
    let mut path = folders.to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

#[test]
fn cargo_is_asked_where_it_would_do_more_than_start_nextest() {
    /// What there is beside the lab, and whether cargo is asked then.
    type Case = (&'static [(&'static str, &'static str)], &'static [(&'static str, &'static str)], bool);
    let cases: [Case; 13] = [
        (&[], &[], false),
        (&[(CONFIG, "[alias]\nnextest = 'test'")], &[], true),
        (&[(CONFIG, "alias.nextest = ['test']")], &[], true),
        (&[("home/config.toml", "[alias]\nnextest = 'test'")], &[], true),
        (&[(CONFIG, "include = ['more.toml']"), (".cargo/more.toml", "[alias]\nnextest = 'test'")], &[], true),
        (&[(CONFIG, "[alias]\nn = 'nextest'\n[build]\njobs = 1")], &[], false),
        (&[(CONFIG, "alias = 'nextest'")], &[], true),
        (&[(CONFIG, "no TOML")], &[], true),
        (&[], &[("CARGO_ALIAS_NEXTEST", "test")], true),
        (&[], &[("CARGO_ALIAS_NEXTEST", "")], true),
        (&[], &[("CARGO_ALIAS_N", "nextest")], false),
        (&[], &[("MAKEFLAGS", " -j4 --jobserver-auth=3,4")], true),
        // A folder of proxies, each of which chooses a toolchain first.
        (&[("toolchain/bin/rustup", FAKE)], &[], true),
    ];
    for (files, env, asks_cargo) in cases {
        let lab = lab();
        files.iter().for_each(|(file, text)| drop(lab.write(file, text)));
        let by_us = started(lease(&lab, &["nextest", "list"]).envs(env.iter().copied()));
        let expected = lab.path(if asks_cargo { "toolchain/bin/cargo" } else { "bin/cargo-nextest" });
        assert!(by_us.starts_with(expected.to_str().expect("text")), "{files:?} {env:?}: {by_us}");
        has(&by_us, &["[nextest][list]"]);
    }
}

#[test]
fn a_cargo_that_did_not_start_us_is_asked() {
    let lab = lab();
    let mut command = lease(&lab, &["nextest", "list"]);
    let path = std::env::join_paths([lab.path("toolchain/bin"), lab.path("bin")]).expect("no colon in it");
    let by_us = started(command.env("PATH", path_behind_all(&path)).env_remove("CARGO"));
    assert!(by_us.starts_with(lab.path("toolchain/bin/cargo").to_str().expect("text")), "{by_us}");
}

/// Nothing is asked of a proxy about a toolchain that it has chosen already.
#[test]
fn the_chosen_toolchains_compiler_says_what_the_host_is() {
    let lab = lab();
    lab.write("bin/rustup", "#!/bin/sh\nexit 1\n");
    symlink("rustup", lab.path("bin/rustc")).expect("link");
    let compiler = |host: &str| format!("#!/bin/sh\necho 'host: {host}'\n");
    lab.write("rustup/toolchains/chosen/bin/rustc", &compiler("the-chosen-one"));
    let by_us = |more: &[(&str, &std::path::Path)]| {
        let mut command = lease(&lab, &["nextest", "run"]);
        command.env("RUSTUP_HOME", lab.path("rustup")).env("RUSTUP_TOOLCHAIN", "chosen").env_remove("RUSTC");
        started(command.envs(more.iter().copied()))
    };
    has(&by_us(&[]), &["target.the-chosen-one.runner"]);
    let other = lab.write("other", &compiler("the-other-one"));
    has(&by_us(&[("RUSTC", &other)]), &["target.the-other-one.runner"]);
    lab.write(CONFIG, &format!("build.rustc = {other:?}"));
    has(&by_us(&[]), &["target.the-other-one.runner"]);
}
