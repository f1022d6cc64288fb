//! The command finds what it would find without the wrapper.

use std::ffi::OsString;
use std::process::Command;

use libtest_mimic::Trial;

use super::roles::{EXEC, TALK, UNDER};
use super::scene::{Scene, program, talking, wrapped};

pub(crate) fn tests() -> Vec<Trial> {
    let tests: &[(&str, fn())] = &[
        ("signals_are_disposed_of_as_without_us", signals_are_disposed_of_as_without_us),
        ("exit_codes_are_known_although_child_signals_are_ignored", exit_codes_are_known_although_child_signals_are_ignored),
        ("descriptors_are_those_of_our_caller", descriptors_are_those_of_our_caller),
        ("group_session_folder_and_environment_are_ours", group_session_folder_and_environment_are_ours),
        ("exec_keeps_the_process_number", exec_keeps_the_process_number),
    ];
    let trial = |(name, run): &(&str, fn())| {
        let run = *run;
        Trial::test(format!("inherits::{name}"), move || {
            run();
            Ok(())
        })
    };
    tests.iter().map(trial).collect()
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn after(mut first: Vec<OsString>, mut then: Vec<OsString>) -> Vec<OsString> {
    first.append(&mut then);
    first
}

/// What the command prints directly, behind a wrapper, and in place of one.
#[track_caller]
fn assert_same_output(around: &[OsString], command: &[OsString]) -> String {
    let output = |words: Vec<OsString>| {
        let outcome = Scene::start(after(around.to_vec(), words)).end();
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        outcome.stdout
    };
    let direct = output(command.to_vec());
    assert_eq!(output(wrapped(&[], command.to_vec())), direct, "wrapped");
    assert_eq!(output(after(program(EXEC, &[]), command.to_vec())), direct, "in place");
    direct
}

fn signals_are_disposed_of_as_without_us() {
    let print = words(&["grep", "-E", "^Sig(Blk|Ign|Cgt):", "/proc/self/status"]);
    let under = |options: &[&str]| assert_same_output(&after(program(UNDER, options), words(&["--"])), &print);
    let plain = under(&[]);
    for options in [
        &["--ignore=1", "--ignore=2", "--ignore=3"][..],
        &["--ignore=13"],
        &["--ignore=17"],
        &["--block=15", "--block=10", "--block=20"],
        &["--ignore=13", "--ignore=17", "--ignore=14", "--block=1"],
    ] {
        assert_ne!(under(options), plain, "{options:?} ought to be seen");
    }
}

fn exit_codes_are_known_although_child_signals_are_ignored() {
    let around = program(UNDER, &["--ignore=17", "--"]);
    let (mut scene, _) = Scene::ready(after(around, talking(&[])));
    scene.tell("exit 7");
    assert_eq!(scene.end().status.code(), Some(7));
}

fn descriptors_are_those_of_our_caller() {
    // The shell hands on a descriptor of its own, beside what the test was given.
    let around = words(&["sh", "-c", "exec 7</dev/null; exec \"$@\"", "sh"]);
    let direct = assert_same_output(&around, &words(&["ls", "/proc/self/fd"]));
    assert!(direct.lines().any(|number| number == "7"), "{direct}");
}

fn group_session_folder_and_environment_are_ours() {
    let dir = tempfile::tempdir().unwrap();
    let facts = "ps -o pgid=,sid= -p $$ | tr -s ' ' >&2; pwd; env | grep -v '^_='; cat";
    let run = |words: Vec<OsString>| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(dir.path()).env("FACT", "a b").stdin(std::process::Stdio::null());
        command.output().unwrap()
    };
    let script = words(&["sh", "-c", facts]);
    let (direct, behind) = (run(script.clone()), run(wrapped(&[], script)));
    assert_eq!(String::from_utf8(behind.stdout).unwrap(), String::from_utf8(direct.stdout).unwrap());
    let group = String::from_utf8(direct.stderr).unwrap();
    assert!(!group.trim().is_empty());
    assert_eq!(String::from_utf8(behind.stderr).unwrap(), format!("{group}Exited(0)\n"));
}

fn exec_keeps_the_process_number() {
    let (mut scene, command) = Scene::ready(after(program(EXEC, &[]), program(TALK, &[])));
    assert_eq!(command.pid, scene.pid());
    scene.tell("exit 5");
    assert_eq!(scene.end().status.code(), Some(5));
    let outcome = Scene::start(program(EXEC, &["/no/such/program"])).end();
    assert_eq!(outcome.status.code(), Some(127));
    assert!(outcome.stderr.starts_with("NotFound: cannot run /no/such/program: "), "{}", outcome.stderr);
}
