//! The rules one by one, and the whole against what libtest itself does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn no_env(_: &str) -> Option<OsString> {
    None
}

fn read(line: &str) -> Selection {
    Selection::read(Some(&words(line)), no_env)
}

fn candidate(name: &str) -> Candidate {
    Candidate { name: name.to_owned(), ignored: false, should_panic: false, several: false }
}

#[track_caller]
fn check_unknown(line: &str, word: &str) {
    match read(line) {
        Selection::Unknown(reason) => assert!(reason.contains(&format!("`{word}`")), "{line}: {reason}"),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn what_libtest_does_not_know_is_not_guessed() {
    check_unknown("--port 80", "--port");
    check_unknown("name --exakt", "--exakt");
    check_unknown("-v", "-v");
    check_unknown("-qv", "-qv");
    check_unknown("--exact=yes", "--exact=yes");
    check_unknown("--skip", "--skip");
    check_unknown("--test-threads", "--test-threads");
    check_unknown("-Z", "-Z");
}

#[cfg(unix)]
#[test]
fn a_word_that_is_no_text_is_not_guessed() {
    use std::os::unix::ffi::OsStringExt as _;
    let args = [OsString::from_vec(vec![b'a', 0xff])];
    assert!(matches!(Selection::read(Some(&args), no_env), Selection::Unknown(_)));
}

#[track_caller]
fn check_nothing(line: &str) {
    assert_eq!(read(line), Selection::Nothing, "{line}");
}

#[test]
fn listing_help_and_benches_run_no_test() {
    check_nothing("--list");
    check_nothing("--list --format terse");
    check_nothing("--list --format terse --ignored");
    check_nothing("-h");
    check_nothing("-qh");
    check_nothing("name --help");
    check_nothing("--bench");
    check_nothing("--ignored --include-ignored");
}

#[track_caller]
fn check_several(line: &str, expected: bool) {
    let test = Candidate { several: true, ..candidate("db::insert") };
    assert_eq!(read(line).may_run(&test), expected, "{line}");
}

#[test]
fn tests_of_a_generator_may_run_unless_they_surely_do_not() {
    check_several("", true);
    check_several("insert", true);
    check_several("case_1", true);
    check_several("--exact db::insert", true);
    check_several("--exact db::insert::case_1", true);
    check_several("--exact db::inserted", false);
    check_several("--exact db", false);
    check_several("--ignored", true);
    check_several("--skip insert", false);
    check_several("--skip case_1", true);
    check_several("--exact --skip db::insert", true);
    check_several("--list", false);
}

type Variables = &'static [(&'static str, &'static str)];

#[track_caller]
fn check_env(args: Option<&str>, variables: Variables, name: &str, expected: bool) {
    let env = |wanted: &str| variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| OsString::from(value));
    let args = args.map(words);
    let selection = Selection::read(args.as_deref(), env);
    assert_eq!(selection.may_run(&candidate(name)), expected, "{args:?} {variables:?}: {selection:?}");
}

#[test]
fn nextest_lists_and_runs() {
    const LIST: Variables = &[("NEXTEST_TEST_PHASE", "list")];
    const RUN: Variables = &[("NEXTEST_TEST_PHASE", "run"), ("NEXTEST_TEST_NAME", "a::b")];
    check_env(Some("--list --format terse"), LIST, "a::b", false);
    check_env(Some(""), LIST, "a::b", false);
    check_env(None, LIST, "a::b", false);
    check_env(Some("--exact a::b --nocapture"), RUN, "a::b", true);
    check_env(Some("--exact a::b --nocapture"), RUN, "a::c", false);
    check_env(None, RUN, "a::b", true);
    check_env(None, RUN, "a::c", false);
}

#[test]
fn nextest_with_arguments_for_another_harness() {
    const RUN: Variables = &[("NEXTEST_TEST_PHASE", "run"), ("NEXTEST_TEST_NAME", "a::b")];
    check_env(Some("--exact a::b --nocapture --gpu"), RUN, "a::b", true);
    check_env(Some("--exact a::b --nocapture --gpu"), RUN, "a::c", false);
}

#[test]
fn a_process_started_by_a_nextest_test_goes_by_its_own_arguments() {
    const OUTER: Variables = &[("NEXTEST_TEST_PHASE", "run"), ("NEXTEST_TEST_NAME", "outer")];
    check_env(Some("--exact inner"), OUTER, "inner", true);
    check_env(Some("--exact inner"), OUTER, "outer", false);
    check_env(Some("--serve"), OUTER, "outer", false);
}

#[test]
fn panic_abort_runs_the_named_test() {
    const INVOKE: Variables = &[("__RUST_TEST_INVOKE", "a::b")];
    check_env(Some(""), INVOKE, "a::b", true);
    check_env(Some(""), INVOKE, "a::c", false);
}

/// Tests that say their name when they really run.
const PROBE: &str = r#"
// In one write: the text of a panic on another thread does not wait for the lock of `eprintln`.
fn ran(name: &str) { std::io::Write::write_all(&mut std::io::stderr(), format!("\nran {name}\n").as_bytes()).unwrap(); }
mod alpha {
    #[test] fn one() { super::ran("alpha::one"); }
    #[test] fn two() { super::ran("alpha::two"); }
    #[test] #[ignore] fn slow() { super::ran("alpha::slow"); }
}
mod beta {
    #[test] fn one() { super::ran("beta::one"); }
    #[test] #[should_panic] fn breaks() { super::ran("beta::breaks"); panic!() }
    #[test] #[ignore = "why"] fn r#type() { super::ran("beta::r#type"); }
}
#[test] fn one() { ran("one"); }
"#;

fn probe_candidates() -> Vec<Candidate> {
    ["alpha::one", "alpha::two", "alpha::slow", "beta::one", "beta::breaks", "beta::r#type", "one"]
        .into_iter()
        .map(|name| Candidate {
            ignored: matches!(name, "alpha::slow" | "beta::r#type"),
            should_panic: name == "beta::breaks",
            ..candidate(name)
        })
        .collect()
}

fn compile_probe(dir: &Path) -> PathBuf {
    let (source, binary) = (dir.join("probe.rs"), dir.join("probe"));
    std::fs::write(&source, PROBE).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let done = Command::new(rustc).args(["--test", "--edition=2024", "-o"]).args([&binary, &source]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    binary
}

fn really_ran(probe: &Path, line: &str) -> BTreeSet<String> {
    let mut command = Command::new(probe);
    // With `RUSTC_BOOTSTRAP` a stable libtest takes its unstable options.
    command.args(words(line)).arg("--nocapture").env("RUST_TEST_THREADS", "1").env("RUSTC_BOOTSTRAP", "1");
    for name in [NEXTEST_PHASE, NEXTEST_NAME, LIBTEST_INVOKE, "RUST_TEST_NOCAPTURE"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().filter_map(|line| line.strip_prefix("ran ")).map(str::to_owned).collect()
}

/// Arguments of every kind, without those that come after `--`.
const LINES: &[&str] = &[
    "",
    "one",
    "alpha",
    "alpha::one",
    "alpha beta::one",
    "nothing_like_it",
    "--exact one",
    "--exact alpha::one one",
    "--exact alpha",
    "--exact r#type --include-ignored",
    "type --include-ignored",
    "--skip one",
    "--skip=alpha",
    "alpha --skip two",
    "--exact --skip one",
    "--exact one --skip on",
    "--skip alpha --skip beta",
    "--ignored",
    "--include-ignored",
    "slow --ignored",
    "--ignored --exact alpha::slow",
    "--ignored --include-ignored",
    "--test",
    "--bench",
    "--bench --test",
    "-q",
    "--quiet alpha",
    "--test-threads 2",
    "--test-threads=2 beta",
    "--color always one",
    "--color=never",
    "--format pretty two",
    "--format=terse",
    "--logfile /dev/null beta",
    "--show-output",
    "--no-capture one",
    "-Z unstable-options --exclude-should-panic",
    "-Zunstable-options --shuffle --shuffle-seed 7 alpha",
    "--list",
    "--list --ignored",
    "--help",
    "-h",
    "--unknown",
    "alpha -x",
    "--exact=1",
];

/// What comes after `--` is a name, whatever it looks like; `--nocapture` cannot be added there.
const LINES_WITH_REST: &[&str] = &["-- alpha", "beta -- one", "-- --list", "--exact -- one"];

#[test]
fn libtest_runs_what_is_expected() {
    let dir = tempfile::tempdir().unwrap();
    let probe = compile_probe(dir.path());
    let candidates = probe_candidates();
    for line in LINES {
        let selection = read(line);
        let expected = candidates.iter().filter(|test| selection.may_run(test)).map(|test| test.name.clone()).collect();
        assert_eq!(really_ran(&probe, line), expected, "arguments: {line:?}, read as {selection:?}");
    }
    for line in LINES_WITH_REST {
        let selection = read(line);
        let expected = candidates.iter().filter(|test| selection.may_run(test)).map(|test| test.name.clone()).collect();
        assert_eq!(really_ran(&probe, &format!("--nocapture {line}")), expected, "arguments: {line:?}");
    }
}
