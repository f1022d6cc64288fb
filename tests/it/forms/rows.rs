//! One test for each row of the table, and one that there is a test for each row.

use std::fs;
use std::process::Command;

use super::cells::{FORMS, Seen, cell, of_form, tokens};
use super::project::{Project, cargo};
use super::table;

/// A row's first cell, what is run, and which tests of each form run in it.
struct Row {
    name: &'static str,
    tests: &'static [&'static str],
}

/// How many slots the pool has.
const N_SLOTS: usize = 3;
const BOTH: &[&str] = &["first", "second"];
const FIRST: &[&str] = &["first"];
const IGNORED: &[&str] = &["third"];

const ROWS: [Row; 24] = [
    Row { name: "`cargo test`", tests: BOTH },
    Row { name: "`cargo nextest run`", tests: BOTH },
    Row { name: "`cargo lease test`", tests: BOTH },
    Row { name: "`cargo lease nextest run`", tests: BOTH },
    Row { name: "`cargo lease --wrap annotated test`", tests: BOTH },
    Row { name: "`cargo lease --wrap annotated nextest run`", tests: BOTH },
    Row { name: "`cargo lease --hold run test`", tests: BOTH },
    Row { name: "`cargo lease --hold run nextest run`", tests: BOTH },
    Row { name: "`cargo lease --hold run --wrap annotated test`", tests: BOTH },
    Row { name: "`cargo lease --hold run --wrap annotated nextest run`", tests: BOTH },
    Row { name: "`cargo lease run -- cargo test`", tests: BOTH },
    Row { name: "`cargo lease run -- cargo nextest run`", tests: BOTH },
    Row { name: "`cargo nextest run` with the setup script", tests: BOTH },
    Row { name: "`cargo test first`", tests: FIRST },
    Row { name: "`cargo nextest run first`", tests: FIRST },
    Row { name: "`cargo test -- --ignored`", tests: IGNORED },
    Row { name: "`cargo nextest run --run-ignored only`", tests: IGNORED },
    Row { name: "`cargo test -- --no-capture`", tests: BOTH },
    Row { name: "`cargo nextest run --no-capture`", tests: BOTH },
    Row { name: "an archive, elsewhere", tests: BOTH },
    Row { name: "the binary itself, in a debugger", tests: FIRST },
    Row { name: "`cargo nextest run --debugger …`", tests: FIRST },
    Row { name: "`cargo lease nextest run --debugger …`", tests: FIRST },
    Row { name: "`cargo lease run -- cargo nextest run --debugger …`", tests: FIRST },
];

#[test]
fn every_row_of_the_manual_is_tested() {
    let named: Vec<_> = table::rows().into_keys().collect();
    let mut tested: Vec<_> = ROWS.iter().map(|row| row.name.to_owned()).collect();
    tested.sort();
    assert_eq!(named, tested);
}

#[test]
fn cargo_test() {
    check("`cargo test`", |project| vec![project.cargo(&["test"])]);
}

#[test]
fn nextest() {
    check("`cargo nextest run`", |project| vec![project.cargo(&["nextest", "run"])]);
}

#[test]
fn cargo_lease_test() {
    check("`cargo lease test`", |project| vec![project.lease(&["test"])]);
}

#[test]
fn cargo_lease_nextest() {
    check("`cargo lease nextest run`", |project| vec![project.lease(&["nextest", "run"])]);
}

#[test]
fn cargo_lease_test_of_annotated_tests() {
    check("`cargo lease --wrap annotated test`", |project| vec![project.lease(&["--wrap", "annotated", "test"])]);
}

#[test]
fn cargo_lease_nextest_of_annotated_tests() {
    let words = ["--wrap", "annotated", "nextest", "run"];
    check("`cargo lease --wrap annotated nextest run`", |project| vec![project.lease(&words)]);
}

#[test]
fn cargo_lease_test_with_slots_held_for_the_run() {
    check_held("`cargo lease --hold run test`", &["--hold", "run", "test"]);
}

#[test]
fn cargo_lease_nextest_with_slots_held_for_the_run() {
    check_held("`cargo lease --hold run nextest run`", &["--hold", "run", "nextest", "run"]);
}

#[test]
fn cargo_lease_test_of_annotated_tests_with_slots_held_for_the_run() {
    let words = ["--hold", "run", "--wrap", "annotated", "test"];
    check_held("`cargo lease --hold run --wrap annotated test`", &words);
}

/// Plain tests have none, and nothing tells them that they had.
#[test]
fn cargo_lease_nextest_of_annotated_tests_with_slots_held_for_the_run() {
    let words = ["--hold", "run", "--wrap", "annotated", "nextest", "run"];
    check_held("`cargo lease --hold run --wrap annotated nextest run`", &words);
}

#[test]
fn cargo_test_inside_a_lease() {
    check("`cargo lease run -- cargo test`", |project| vec![project.lease(&["run", "--", &cargo(), "test"])]);
}

#[test]
fn nextest_inside_a_lease() {
    let name = "`cargo lease run -- cargo nextest run`";
    check(name, |project| vec![project.lease(&["run", "--", &cargo(), "nextest", "run"])]);
}

/// Its configuration has the script in a profile of its own.
#[test]
fn nextest_with_the_setup_script() {
    let words = ["nextest", "run", "--profile", "setup"];
    check("`cargo nextest run` with the setup script", |project| vec![project.cargo(&words)]);
}

#[test]
fn cargo_test_of_one_name() {
    check("`cargo test first`", |project| vec![project.cargo(&["test", "first"])]);
}

#[test]
fn nextest_of_one_name() {
    check("`cargo nextest run first`", |project| vec![project.cargo(&["nextest", "run", "first"])]);
}

#[test]
fn cargo_test_of_ignored_tests() {
    check("`cargo test -- --ignored`", |project| vec![project.cargo(&["test", "--", "--ignored"])]);
}

#[test]
fn nextest_of_ignored_tests() {
    let words = ["nextest", "run", "--run-ignored", "only"];
    check("`cargo nextest run --run-ignored only`", |project| vec![project.cargo(&words)]);
}

#[test]
fn cargo_test_that_captures_nothing() {
    check("`cargo test -- --no-capture`", |project| vec![project.cargo(&["test", "--", "--no-capture"])]);
}

#[test]
fn nextest_that_captures_nothing() {
    check("`cargo nextest run --no-capture`", |project| vec![project.cargo(&["nextest", "run", "--no-capture"])]);
}

/// The package is not where it was when the archive was made: only manifest and pool files are in the other folder.
#[test]
fn an_archive() {
    check("an archive, elsewhere", |project| {
        let (archive, elsewhere) = (project.lab.path("forms.tar.zst"), project.lab.path("elsewhere"));
        let archive_word = archive.to_str().expect("the laboratory's path is text");
        project.run(project.cargo(&["nextest", "archive", "--archive-file", archive_word]));
        fs::create_dir(&elsewhere).expect("the laboratory is writable");
        for name in ["Cargo.toml", "pool.json", "other.json"] {
            fs::copy(project.folder.join(name), elsewhere.join(name)).expect("the laboratory is writable");
        }
        let remap = elsewhere.to_str().expect("the laboratory's path is text");
        let mut command = project.cargo(&["nextest", "run", "--archive-file", archive_word, "--workspace-remap", remap]);
        command.current_dir(&elsewhere);
        vec![command]
    });
}

/// A debugger starts the binary without cargo, in the folder of the package.
#[test]
fn the_binary_itself() {
    check("the binary itself, in a debugger", |project| {
        let start = |form: &&str| {
            let mut command = project.lab.command(project.binary(form));
            command.args(["first", "--exact"]);
            project.within(command)
        };
        FORMS.iter().map(start).collect()
    });
}

/// Nextest hands a debugger one test at a time. What matters here is what nextest does for it, so one that only starts the test
/// will do.
#[test]
fn nextest_with_a_debugger() {
    check("`cargo nextest run --debugger …`", |project| {
        FORMS.iter().map(|form| project.cargo(&debugged(form).each_ref().map(String::as_str))).collect()
    });
}

#[test]
fn cargo_lease_nextest_with_a_debugger() {
    check("`cargo lease nextest run --debugger …`", |project| {
        FORMS.iter().map(|form| project.lease(&debugged(form).each_ref().map(String::as_str))).collect()
    });
}

#[test]
fn nextest_with_a_debugger_inside_a_lease() {
    check("`cargo lease run -- cargo nextest run --debugger …`", |project| {
        let start = |form: &&str| {
            let (cargo, words) = (cargo(), debugged(form));
            let words: Vec<_> = ["run", "--", &cargo].into_iter().chain(words.iter().map(String::as_str)).collect();
            project.lease(&words)
        };
        FORMS.iter().map(start).collect()
    });
}

fn debugged(form: &str) -> [String; 6] {
    ["nextest", "run", "--debugger", "env", "-E", &format!("binary(={form}) & test(=first)")].map(str::to_owned)
}

/// Runs what the row names, and compares what came out with the table's cells. Every slot that was granted was seen by a test
/// that was to run, so nothing else took one.
#[track_caller]
fn check(name: &str, commands: impl FnOnce(&Project) -> Vec<Command>) {
    let project = Project::new();
    for command in commands(&project) {
        project.run(command);
    }
    let seen = compare(name, &project, cell);
    assert_eq!(project.n_granted("one"), tokens(&seen, 0).len(), "{name}: slots of the pool");
    assert_eq!(project.n_granted("other"), tokens(&seen, 1).len(), "{name}: slots of the other pool");
}

/// The same for a run that holds slots. Which of them a test gets is chance, and one may stay idle.
#[track_caller]
fn check_held(name: &str, words: &[&str]) {
    let project = Project::new();
    project.run(project.lease(words));
    let seen = compare(name, &project, |of_form, seen| lent(&cell(of_form, seen)));
    let (n_granted, n_lent) = (project.n_granted("one"), tokens(&seen, 0).len());
    assert!(n_lent <= n_granted && n_granted <= N_SLOTS, "{name}: {n_lent} of {n_granted} slots of the pool");
    assert!(n_lent < seen.len(), "{name}: slots are lent more than once");
    assert_eq!(project.n_granted("other"), tokens(&seen, 1).len(), "{name}: slots of the other pool");
}

/// The kind of a cell, without its scope.
fn lent(cell: &str) -> String {
    match cell.split_once(',') {
        Some((kind, _)) => format!("{kind}, lent"),
        None => cell.to_owned(),
    }
}

/// Compares what the tests of each form saw, in the words of `cell`, with the row's cells.
#[track_caller]
fn compare(name: &str, project: &Project, cell: impl Fn(&[&Seen], &[Seen]) -> String) -> Vec<Seen> {
    project.wait_for_keepers();
    let row = ROWS.iter().find(|row| row.name == name).expect("the row is listed");
    let seen = project.seen();
    let told = table::rows().remove(name).unwrap_or_else(|| panic!("the manual has no row {name}"));
    for (form, told) in FORMS.iter().zip(told) {
        let of_form = of_form(&seen, form);
        let mut ran: Vec<_> = of_form.iter().map(|seen| seen.test.as_str()).collect();
        ran.sort_unstable();
        assert_eq!(ran, row.tests, "{name}: tests of the form {form}");
        assert_eq!(cell(&of_form, &seen), told, "{name}: the form {form}; {of_form:?}");
    }
    seen
}
