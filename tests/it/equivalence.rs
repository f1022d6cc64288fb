//! `cargo nextest run` with and without us in front gives the same answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use lease_tests::{Finished, Lab, process, scratch};

use crate::support::lab;

#[test]
fn nextest_says_the_same_with_and_without_us() {
    let lab = lab();
    lab.write_slots(&["a", "b"]);
    let folder = scratch::fixture(&lab, "zoo", "zoo");
    let bare = Answers::of(&lab, &folder, lab.cargo(["nextest", "run"]));
    let wrapped = Answers::of(&lab, &folder, lab.lease(["nextest", "run"]));
    assert_eq!(bare.code, Some(100), "{}", bare.account);
    assert_eq!((bare.results.len(), bare.statuses.len()), (11, 12), "{}", bare.account);
    assert_eq!(wrapped.code, bare.code, "{}", wrapped.account);
    assert_eq!(wrapped.summary, bare.summary, "{}", wrapped.account);
    assert_eq!(wrapped.statuses, bare.statuses, "{}", wrapped.account);
    assert_eq!(wrapped.results, bare.results, "{}", wrapped.account);
    lab.check_all_given_back();
}

#[test]
fn a_listing_is_the_same_and_takes_no_slot() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let folder = scratch::fixture(&lab, "zoo", "zoo");
    let list = |mut command: Command| {
        command.current_dir(&folder);
        lab.run(command).expect_success().stdout
    };
    assert_eq!(list(lab.lease(["nextest", "list"])), list(lab.cargo(["nextest", "list"])));
    assert_eq!(lab.history().events().len(), 0, "nothing was provisioned");
}

/// What one run says.
struct Answers {
    code: Option<i32>,
    /// The line with the counts, without the time.
    summary: String,
    /// The last word about each test: `SIGABRT`, `FLAKY 2/3`, `TIMEOUT`, `LEAK`.
    statuses: BTreeMap<String, String>,
    /// The result of each test as the JUnit report has it.
    results: BTreeMap<String, Vec<String>>,
    account: String,
}

impl Answers {
    fn of(lab: &Lab, folder: &Path, mut command: Command) -> Self {
        command.current_dir(folder).arg("--status-level").arg("all").arg("--final-status-level").arg("all");
        let run = lab.run(command);
        end_leaked(lab);
        let report = fs::read_to_string(folder.join("target/nextest/default/junit.xml")).expect("nextest writes its report");
        Self {
            code: run.status.code(),
            summary: summary(&run),
            statuses: statuses(&run.stderr),
            results: results(&report),
            account: run.account(),
        }
    }
}

/// The process that the leaking test left behind would hold on for ever.
fn end_leaked(lab: &Lab) {
    for pid in lease_tests::reap::marked(lab.id()) {
        if process::arguments_of(pid).get(1).is_some_and(|argument| argument == "hold") {
            process::kill(pid);
        }
    }
}

fn summary(run: &Finished) -> String {
    let line = run.stderr.lines().find(|line| line.trim_start().starts_with("Summary"));
    let line = line.unwrap_or_else(|| panic!("no summary: {}", run.account()));
    line.split_once(']').map_or(line, |(_, counts)| counts).trim().to_owned()
}

/// Lines of the form `  STATUS [  0.012s] (1/12) binary test`; the last one about a test counts.
fn statuses(stderr: &str) -> BTreeMap<String, String> {
    let status = |line: &str| {
        let (word, rest) = line.split_once('[')?;
        let (_, test) = rest.split_once("] (")?.1.split_once(") ")?;
        let word = word.trim();
        let is_status = !word.is_empty() && word.chars().next().is_some_and(|c| c.is_ascii_uppercase());
        is_status.then(|| (test.trim().to_owned(), word.to_owned()))
    };
    stderr.lines().filter_map(status).collect()
}

/// Test to what the report says about it, without times, process ids and output.
fn results(report: &str) -> BTreeMap<String, Vec<String>> {
    let mut results = BTreeMap::new();
    for case in report.split("<testcase ").skip(1) {
        let name = format!("{} {}", attribute(case, "classname"), attribute(case, "name"));
        let kinds = ["failure", "flakyFailure", "rerunFailure", "skipped", "error"];
        let tags = case.split('<').skip(1).filter(|tag| kinds.iter().any(|kind| tag.starts_with(kind)));
        results.insert(
            name,
            tags.map(|tag| format!("{} {}", tag.split([' ', '/', '>']).next().unwrap_or_default(), attribute(tag, "type")))
                .collect(),
        );
    }
    results
}

fn attribute(text: &str, name: &str) -> String {
    let wanted = format!("{name}=\"");
    let starts = |at: usize| at == 0 || text[..at].ends_with(' ');
    let found = text.match_indices(&wanted).find(|(at, _)| starts(*at));
    found.and_then(|(at, _)| text[at + wanted.len()..].split('"').next()).unwrap_or_default().to_owned()
}
