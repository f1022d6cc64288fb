//! What `docs/ide.md` says of editors: their command lines take a slot for the test that is run, and for no other.

use std::fs;
use std::process::{Command, Stdio};

use lease_tests::{Finished, binary};
use serde_json::Value;

use super::cells::FORMS;
use super::project::Project;

fn page() -> String {
    fs::read_to_string(binary::workspace().join("docs/ide.md")).expect("the page is there")
}

/// The rows of the table that begins with this header: their cells without backquotes.
fn rows(header: &str) -> Vec<Vec<String>> {
    let page = page();
    let lines = page.lines().skip_while(|line| !line.starts_with(header)).skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect();
    let rows: Vec<_> = lines.map(cells).collect();
    assert!(!rows.is_empty(), "the page has a table with {header}");
    rows
}

/// A command line of the manual, with our program in the place of its name behind cargo.
fn command(project: &Project, line: &str) -> Command {
    let words: Vec<_> = line.split_whitespace().collect();
    match words[..] {
        ["cargo", "lease", ref words @ ..] | ["cargo-lease", ref words @ ..] => project.lease(words),
        ["cargo", ref words @ ..] => project.cargo(words),
        _ => panic!("not a command of cargo's: {line}"),
    }
}

#[track_caller]
fn check_seen(project: &Project, wanted: &[&str], what: &str) {
    let mut seen: Vec<_> = project.seen().into_iter().map(|seen| seen.test).collect();
    seen.sort();
    assert_eq!(seen, wanted, "{what}");
    assert_eq!(project.n_granted("one"), wanted.len(), "slots of {what}");
}

#[test]
fn every_command_of_an_editor_takes_slots_for_what_it_runs() {
    for row in rows("| who |") {
        let project = Project::new();
        project.run(command(&project, &row[1]));
        let wanted: &[&str] = match row[0].as_str() {
            "rust-analyzer, a module" => &["in_a_module", "in_a_module_too"],
            "rust-analyzer, an ignored test" => &["third"],
            "an editor that asks for part of a name" => &["in_a_module_too"],
            _ => &["in_a_module"],
        };
        check_seen(&project, wanted, &row[1]);
    }
}

/// Libtest takes these words only from a nightly toolchain, or with the variable that the editor sets.
#[test]
fn output_for_an_editor_is_libtests_as_well() {
    let project = Project::new();
    let mut command = project.lab.command(project.binary("process"));
    command.args(["first", "--exact", "-Z", "unstable-options", "--format=json", "--show-output"]);
    let run = project.run(project.within({
        command.env("RUSTC_BOOTSTRAP", "1");
        command
    }));
    assert!(run.stdout.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", run.account());
    check_seen(&project, &["first"], "a run with json output");
}

#[test]
fn a_word_that_is_not_libtests_takes_nothing() {
    for form in FORMS.into_iter().filter(|form| *form != "plain") {
        let project = Project::new();
        let mut command = project.lab.command(project.binary(form));
        command.args(["first", "--exact", "--editor-mode"]);
        let run = project.lab.run(project.within(command));
        assert!(!run.status.success() && format!("{}{}", run.stdout, run.stderr).contains("editor-mode"), "{}", run.account());
        assert_eq!(project.n_granted("one"), 0, "{form}");
    }
}

/// The settings of the page, with what rust-analyzer puts in for a test: also an empty word, where there is nothing.
#[test]
fn the_settings_of_the_manual_put_us_in_front() {
    let page = page();
    let settings: Vec<_> = page.split("```json\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    assert_eq!(settings.len(), 2);
    for setting in settings {
        let setting: Value = serde_json::from_str(setting).expect("the settings are JSON");
        let words = setting["rust-analyzer.runnables.test.overrideCommand"].as_array().expect("the page names the setting");
        for (values, wanted) in [
            (["--lib", "", "tests::in_a_module", "--exact", "--include-ignored"], &["in_a_module"][..]),
            (["--lib", "", "tests", "", ""], &["in_a_module", "in_a_module_too"]),
            (["--test", "process", "third", "--exact", "--include-ignored"], &["third"]),
            (["--test", "plain", "first", "--exact", ""], &["first"]),
        ] {
            let line = filled(words, values);
            let project = Project::new();
            project.run(command(&project, &line));
            check_in_front(&project, wanted, &line);
        }
    }
}

/// Each placeholder is a word; an empty one is left out.
fn filled(words: &[Value], values: [&str; 5]) -> String {
    let names = ["${target_arg}", "${target}", "${test_name}", "${exact}", "${include_ignored}"];
    let fill = |word: &Value| {
        let word = word.as_str().expect("a command is made of words").replace("${package}", "forms");
        names.iter().zip(values).fold(word, |word, (name, value)| word.replace(name, value))
    };
    words.iter().map(fill).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// All ran in slots of ours; those of one process share one.
#[track_caller]
fn check_in_front(project: &Project, wanted: &[&str], what: &str) {
    let seen = project.seen();
    let mut tests: Vec<_> = seen.iter().map(|seen| seen.test.as_str()).collect();
    tests.sort_unstable();
    assert_eq!(tests, wanted, "{what}");
    assert!(seen.iter().all(|seen| seen.is_outer && seen.tokens.len() == 1), "{what}: {seen:?}");
}

#[test]
fn our_program_in_the_place_of_cargo_runs_tests_and_no_programs() {
    let project = Project::new();
    project.run(command(&project, "cargo-lease test --package forms --lib -- tests::in_a_module --exact --no-capture"));
    check_in_front(&project, &["in_a_module"], "a test");
    let refused = project.lab.run(command(&project, "cargo-lease run --package forms --bin forms"));
    refused.expect_code(2);
}

/// The table of output and input.
#[test]
fn what_a_test_prints_and_reads() {
    for row in rows("| command |") {
        let project = Project::new();
        let line = &row[0];
        let behind = if line.contains("nextest") { " --test stays -E test(=asks)" } else { " --test stays asks" };
        let line = match line.split_once(" -- ") {
            Some((own, rest)) => format!("{own}{behind} -- {rest}"),
            None => format!("{line}{behind}"),
        };
        let run = run_with_input(&project, command(&project, &line));
        let is_shown = format!("{}{}", run.stdout, run.stderr).contains("the answer is");
        let has_read = fs::read_to_string(project.lab.path("read")).expect("the test wrote it") == "forty-two\n";
        let prints = if is_shown { "shown as it comes" } else { "shown if it fails" };
        let reads = if has_read { "yours" } else { "nothing" };
        assert_eq!((prints, reads), (row[1].as_str(), row[2].as_str()), "{}", run.account());
        check_seen(&project, &["asks"], &line);
    }
}

fn run_with_input(project: &Project, mut command: Command) -> Finished {
    let answer = project.lab.path("answer");
    fs::write(&answer, "forty-two\n").expect("the laboratory is writable");
    command.env("FORMS_ASKS", project.lab.path("read")).stdin(Stdio::from(fs::File::open(answer).expect("it was just written")));
    project.run(command)
}
