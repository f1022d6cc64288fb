//! `nextest` on a real package.

use std::fs;

use crate::lab::{Lab, PROGRAM, cargo, clean, expect_code, has, path_behind};

/// Each test says when it starts and ends; the folder then shows which ran at the same time.
const INTEGRATION: &str = r#"
use std::fs::{self, File};

fn in_slot(name: &str) {
    let seen = std::env::var("SEEN").unwrap();
    let slot = std::env::var("POOL_SLOT_ID").unwrap();
    let busy = format!("{seen}/busy-{slot}");
    File::create_new(&busy).expect("nobody else is in this slot");
    fs::write(format!("{seen}/{name}"), std::env::var("NEXTEST_TEST_GROUP").unwrap()).unwrap();
    fs::remove_file(busy).unwrap();
}

#[test] fn a() { in_slot("a") }
#[test] fn b() { in_slot("b") }
#[test] fn c() { in_slot("c") }
#[test] fn d() { in_slot("d") }
#[test] #[ignore] fn e() { in_slot("e") }
"#;

fn lab(slots: usize) -> Lab {
    let lab = Lab::new(slots);
    lab.package("", INTEGRATION);
    fs::create_dir(lab.path("seen")).expect("folder");
    lab
}

#[test]
fn every_test_has_a_slot_and_the_queue_forms_in_nextest() {
    let lab = lab(2);
    let words = ["--no-wait", "nextest", "run", "--test-threads", "8"];
    let (_, err) = expect_code(lab.lease(&words).env("SEEN", lab.path("seen")), 0);
    has(&err, &["4 tests run: 4 passed, 1 skipped"]);
    for test in ["a", "b", "c", "d"] {
        assert_eq!(lab.read(&format!("seen/{test}")), "@tool:lease:lab");
    }
    assert!(!lab.path("seen/e").exists());
    assert_eq!(lab.states(), ["free", "free"]);
}

#[test]
fn listing_takes_no_slot_and_a_refused_slot_fails_the_test() {
    let lab = lab(1);
    let _holder = lab.holder(&[]);
    let (out, _) = expect_code(&mut lab.lease(&["--no-wait", "nextest", "list"]), 0);
    has(&out, &["scratch::it", "d"]);
    let words = ["--no-wait", "nextest", "run", "--no-fail-fast"];
    let (_, err) = expect_code(lab.lease(&words).env("SEEN", lab.path("seen")), 100);
    has(&err, &["4 tests run: 0 passed, 4 failed", "error: "]);
    assert!(!lab.path("seen/a").exists());
}

#[test]
fn an_archive_runs_in_slots_too() {
    let lab = lab(1);
    let archive = lab.path("tests.tar.zst");
    let archive = archive.to_str().expect("text");
    expect_code(&mut lab.lease(&["nextest", "archive", "--archive-file", archive]), 0);
    let words = ["--no-wait", "nextest", "run", "--archive-file", archive];
    let (_, err) = expect_code(lab.lease(&words).env("SEEN", lab.path("seen")), 0);
    has(&err, &["4 passed"]);
    assert_eq!(lab.read("seen/a"), "@tool:lease:lab");
}

#[test]
fn wrapper_scripts_that_leave_us_out_are_warned_of() {
    let lab = lab(1);
    let wrapper = lab.write("wrap.sh", "#!/bin/sh\nexec \"$@\"\n");
    let config = format!(
        "experimental = ['wrapper-scripts']
         [scripts.wrapper.mine]
         command = {wrapper:?}
         [[profile.default.scripts]]
         filter = 'test(a)'
         run-wrapper = 'mine'"
    );
    lab.write(".config/nextest.toml", &config);
    let mut command = lab.lease(&["nextest", "run", "-E", "test(=b)"]);
    let (_, err) = expect_code(command.env("SEEN", lab.path("seen")), 0);
    has(&err, &["warning: ", "nextest.toml", "'mine'", "around-wrapper"]);
}

/// What the configuration says is looked at before the run, what happened after it.
#[test]
fn tests_that_never_reached_our_runner_are_named() {
    let lab = lab(1);
    lab.write("tests/it.rs", "#[test] fn a() {}\n#[test] fn b() {}");
    let wrapper = lab.write("wrap.sh", "#!/bin/sh\nexec \"$@\"\n");
    let config = format!(
        "experimental = ['wrapper-scripts']
         [scripts.wrapper.mine]
         command = {wrapper:?}
         [[profile.default.scripts]]
         filter = 'test(a)'
         run-wrapper = 'mine'"
    );
    lab.write(".config/nextest.toml", &config);
    let (_, err) = expect_code(&mut lab.lease(&["nextest", "run"]), 0);
    let named: Vec<_> = err.lines().filter(|line| line.contains("ran without a slot")).collect();
    assert!(matches!(named[..], [line] if line.ends_with(": scratch::it a")), "{err}");
}

#[test]
fn a_pools_name_need_not_be_a_groups_name() {
    let lab = lab(1);
    lab.write("pool.json", r#"{"name": "9.x", "slots": [{"id": "only-one"}]}"#);
    expect_code(lab.lease(&["nextest", "run", "-E", "test(=b)"]).env("SEEN", lab.path("seen")), 0);
    assert_eq!(lab.read("seen/b"), "@tool:lease:pool-9-x");
}

#[test]
fn only_the_named_binaries_are_wrapped_and_grouped() {
    let lab = lab(1);
    lab.write(
        "src/lib.rs",
        "#[test]\nfn bystander() {
        assert_eq!(std::env::var(\"POOL_SLOT_ID\").ok(), None);
        assert_eq!(std::env::var(\"NEXTEST_TEST_GROUP\").as_deref(), Ok(\"@global\"));
    }\n",
    );
    let words = ["--wrap", "scratch::i*", "--no-wait", "nextest", "run"];
    let (_, err) = expect_code(lab.lease(&words).env("SEEN", lab.path("seen")), 0);
    has(&err, &["5 tests run: 5 passed"]);
    assert_eq!(lab.read("seen/a"), "@tool:lease:lab");
}

/// Without a lock file nobody knows yet whether there are annotated tests, so that a list is asked for first.
/// These letters are not taken apart, since one is for the run alone.
#[test]
fn what_keeps_a_run_from_being_listed_is_noted() {
    let lab = lab(1);
    lab.write("tests/it.rs", "#[test] fn passes() {}");
    for (word, is_noted) in [("-vj2", true), ("-j2", false)] {
        let _ = fs::remove_file(lab.path("Cargo.lock"));
        let (_, err) = expect_code(lab.lease(&[]).args(["nextest", "run", word]), 0);
        assert_eq!(err.contains("does not know nextest's option -vj2"), is_noted, "{word}: {err}");
    }
}

#[test]
fn what_is_wrong_is_told_once_and_in_nextests_words() {
    let lab = lab(1);
    let cases: [(&[&str], i32); 6] = [
        (&["-E", "nosuch("], 94),
        (&["-P", "nosuch"], 96),
        (&["--partition", "nosuch"], 2),
        (&["--no-such"], 2),
        (&["-p", "nosuch"], 101),
        (&["--run-ignored", "all", "nosuch"], 4),
    ];
    let said = |command: &mut std::process::Command, words: &[&str], code: i32| {
        let _ = fs::remove_file(lab.path("Cargo.lock"));
        let (out, err) = expect_code(command.args(["nextest", "run"]).args(words), code);
        // What differs from one run to the next.
        let is_same = |line: &&str| {
            !["Blocking", "Compiling", "Finished", "run ID", "Summary", "Usage", "target runner"]
                .iter()
                .any(|other| line.contains(other))
        };
        (out, err.lines().filter(is_same).map(str::to_owned).collect::<Vec<_>>())
    };
    lab.write("tests/it.rs", "#[test] fn passes() {}");
    for (words, code) in cases {
        let plain = said(&mut lab.command("cargo"), words, code);
        assert_eq!(said(&mut lab.lease(&[]), words, code), plain, "{words:?}");
    }
    lab.write("tests/it.rs", "compile_error!(\"broken\");");
    let plain = said(&mut lab.command("cargo"), &[], 101);
    assert_eq!(said(&mut lab.lease(&[]), &[], 101), plain);
    assert!(!lab.path("store").exists(), "nothing ran");
}

#[test]
fn a_build_and_warnings_are_told_once() {
    let lab = lab(1);
    lab.write(".config/nextest.toml", "unknown = 1\n");
    lab.write("tests/it.rs", "#[test] fn passes() { let unused = 1; }");
    let (_, err) = expect_code(&mut lab.lease(&["nextest", "run"]), 0);
    assert!(!err.contains("without a slot") && !err.contains("waiting for slots"), "{err}");
    for once in ["Compiling scratch", "Finished", "configuration key: unknown", "unused variable", "1 test run: 1 passed"] {
        assert_eq!(err.matches(once).count(), 1, "{once:?}: {err}");
    }
}

#[test]
fn a_run_of_cargos_inside_a_test_of_nextests_is_not_taken_for_that_test() {
    let lab = Lab::new(1);
    let script = format!(
        "cd inner && export CARGO_TARGET_DIR=target || exit
        {PROGRAM} --no-wait --wrap inner::it test --test it || exit
        {PROGRAM} --no-wait --wrap '*::it' test --lib || exit
        {PROGRAM} run -- env -u LEASE_GRANTS {PROGRAM} --no-wait test --test it -- --list"
    );
    let outer = format!(
        "#[test] fn outer() {{
            assert_eq!(std::env::var(\"NEXTEST_BINARY_ID\").as_deref(), Ok(\"outer::it\"));
            let status = std::process::Command::new(\"sh\").args([\"-c\", {script:?}]).status().unwrap();
            assert_eq!(status.code(), Some(0));
        }}"
    );
    let manifest = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n");
    lab.write("Cargo.toml", &manifest("outer"));
    lab.write("src/lib.rs", "");
    lab.write("tests/it.rs", &outer);
    lab.write("inner/Cargo.toml", &manifest("inner"));
    lab.write("inner/src/lib.rs", "#[test] fn none() { assert_eq!(std::env::var(\"POOL_SLOT_ID\").ok(), None) }");
    let one = "#[test] fn one() {
        assert_eq!(std::env::var(\"POOL_SLOT_ID\").as_deref(), Ok(\"1\"));
        assert_eq!(std::env::var(\"NEXTEST_BINARY_ID\").as_deref(), Ok(\"outer::it\"), \"the test's own environment\");
    }";
    lab.write("inner/tests/it.rs", one);
    let mut nextest = lab.command("cargo");
    expect_code(nextest.args(["nextest", "run", "--no-capture"]), 0);
    assert_eq!(lab.states(), ["free"]);
}

/// Nextest is what runs only if the configuration says nothing else.
#[test]
fn an_alias_in_the_place_of_nextest_is_obeyed() {
    let lab = lab(1);
    lab.write(".cargo/config.toml", "[alias]\nnextest = 'test --no-run'\n");
    let said = |mut command: std::process::Command, words: &[&str]| {
        let (out, err) = expect_code(command.args(words).env("CARGO", cargo()), 0);
        let is_same = |line: &&str| !["Blocking", "Compiling", "Finished"].iter().any(|other| line.contains(other));
        (out, err.lines().filter(is_same).map(str::to_owned).collect::<Vec<_>>())
    };
    let plain = said(lab.command(cargo().to_str().expect("text")), &["nextest", "--package", "scratch"]);
    assert!(plain.1.iter().any(|line| line.contains("Executable")), "{plain:?}");
    assert_eq!(said(lab.lease(&[]), &["nextest", "--package", "scratch"]), plain);
}

/// As nextest is, which is started by `cargo nextest`.
#[test]
fn tests_know_the_cargo_that_started_us() {
    let lab = lab(1);
    let test = "#[test] fn knows() {
        assert_eq!(std::env::var(\"CARGO\").ok(), std::env::var(\"EXPECTED\").ok());
        assert_eq!(std::env::var(\"POOL_SLOT_ID\").as_deref(), Ok(\"1\"));
    }";
    lab.write("tests/it.rs", test);
    for program in [PROGRAM, cargo().to_str().expect("text")] {
        let mut command = lab.command(program);
        command.env("CARGO", cargo()).env("EXPECTED", cargo()).env("POOL_SLOT_ID", "1");
        expect_code(command.args(["nextest", "run"]), 0);
    }
}

#[test]
fn cargo_finds_us_as_its_subcommand() {
    let lab = lab(1);
    let mut command = std::process::Command::new("cargo");
    clean(&mut command);
    let programs = std::path::Path::new(PROGRAM).parent().expect("folder");
    command.args(["lease", "--pool", "pool.json", "nextest", "run", "-E", "test(=a)"]);
    command.current_dir(lab.path("")).env("PATH", path_behind(programs)).env("SEEN", lab.path("seen"));
    command.env("LEASE_STORE", lab.path("store")).env("CARGO_TARGET_DIR", lab.path("target"));
    expect_code(&mut command, 0);
    assert_eq!(lab.read("seen/a"), "@tool:lease:lab");
}
