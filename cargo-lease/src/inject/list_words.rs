//! The words of a run as those of a listing of the same tests.

use std::ffi::{OsStr, OsString};

use super::dashes;

/// What an option of `nextest run` is to `nextest list`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Both have it.
    Shared,
    /// Only a run has it, or it would get in the way of the run that follows.
    RunOnly,
    /// With it a listing would do something else than the run.
    Forbids,
}

use Kind::{Forbids, RunOnly, Shared};

/// Options with a value.
const WITH_VALUE: [(&str, Kind); 61] = [
    ("--color", Shared),
    ("--package", Shared),
    ("-p", Shared),
    ("--exclude", Shared),
    ("--bin", Shared),
    ("--example", Shared),
    ("--test", Shared),
    ("--bench", Shared),
    ("--features", Shared),
    ("-F", Shared),
    ("--build-jobs", Shared),
    ("--cargo-profile", Shared),
    ("--target", Shared),
    ("--target-dir", Shared),
    ("--manifest-path", Shared),
    ("--config", Shared),
    ("-Z", Shared),
    ("--run-ignored", Shared),
    ("--partition", Shared),
    ("--platform-filter", Shared),
    ("--filterset", Shared),
    ("--filter-expr", Shared),
    ("-E", Shared),
    ("--archive-file", Shared),
    ("--archive-format", Shared),
    ("--cargo-metadata", Shared),
    ("--workspace-remap", Shared),
    ("--binaries-metadata", Shared),
    ("--target-dir-remap", Shared),
    ("--build-dir-remap", Shared),
    ("--config-file", Shared),
    ("--user-config-file", Shared),
    ("--tool-config-file", Shared),
    ("--profile", Shared),
    ("-P", Shared),
    ("--test-threads", RunOnly),
    ("--jobs", RunOnly),
    ("-j", RunOnly),
    ("--retries", RunOnly),
    ("--flaky-result", RunOnly),
    ("--max-fail", RunOnly),
    ("--no-tests", RunOnly),
    ("--stress-count", RunOnly),
    ("--stress-duration", RunOnly),
    ("--failure-output", RunOnly),
    ("--success-output", RunOnly),
    ("--status-level", RunOnly),
    ("--final-status-level", RunOnly),
    ("--show-progress", RunOnly),
    ("--max-progress-running", RunOnly),
    ("--message-format", RunOnly),
    ("--message-format-version", RunOnly),
    ("--rerun", RunOnly),
    ("-R", RunOnly),
    ("--extract-to", Shared),
    ("--debugger", Forbids),
    ("--tracer", Forbids),
    ("--cargo-message-format", Forbids),
    ("--timings", Forbids),
    ("--unit-graph", Forbids),
    ("--list-type", Forbids),
];

/// Options without.
const FLAGS: [(&str, Kind); 41] = [
    ("--workspace", Shared),
    ("--all", Shared),
    ("--lib", Shared),
    ("--bins", Shared),
    ("--examples", Shared),
    ("--tests", Shared),
    ("--benches", Shared),
    ("--all-targets", Shared),
    ("--all-features", Shared),
    ("--no-default-features", Shared),
    ("--release", Shared),
    ("-r", Shared),
    ("--verbose", Shared),
    ("-v", Shared),
    ("--frozen", Shared),
    ("--locked", Shared),
    ("--offline", Shared),
    ("--cargo-quiet", Shared),
    ("--cargo-verbose", Shared),
    ("--ignore-rust-version", Shared),
    ("--future-incompat-report", Shared),
    ("--ignore-default-filter", Shared),
    ("--override-version-check", Shared),
    ("--no-pager", Shared),
    ("--fail-fast", RunOnly),
    ("--ff", RunOnly),
    ("--no-fail-fast", RunOnly),
    ("--nff", RunOnly),
    ("--no-output-indent", RunOnly),
    ("--hide-progress-bar", RunOnly),
    ("--no-input-handler", RunOnly),
    ("--extract-overwrite", Shared),
    // The folder is to be the run's, and to stay.
    ("--persist-extract-tempdir", Forbids),
    // Nothing runs, or one test after the other: then there is nothing to schedule.
    ("--no-run", Forbids),
    ("--no-capture", Forbids),
    ("--nocapture", Forbids),
    ("--help", Forbids),
    ("-h", Forbids),
    ("--version", Forbids),
    ("-V", Forbids),
    ("--unit-graph", Forbids),
];

/// Why there is no listing for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoList {
    /// Nothing runs, or one test after the other, or the listing would do something else than the run.
    OfNoUse,
    /// There is an option that is not known here. Nextest itself shall explain it, if it does not know it either.
    Unknown(String),
}

/// The words behind `list`, of those around the run command at `command`.
pub(crate) fn list_words(words: &[OsString], command: usize) -> Result<Vec<OsString>, NoList> {
    let (own, rest) = words.split_at(dashes(words));
    let mut listed = kept(&own[..command])?;
    listed.push("list".into());
    listed.extend(kept(&own[command + 1..])?);
    listed.extend(["--message-format".into(), "json".into()]);
    listed.extend(rest.iter().cloned());
    Ok(listed)
}

/// Whether this is an option of nextest's whose value is the next word.
pub(crate) fn takes_value(word: &OsStr) -> bool {
    WITH_VALUE.iter().any(|(known, _)| word == *known)
}

fn kept(words: &[OsString]) -> Result<Vec<OsString>, NoList> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let unknown = || NoList::Unknown(word.to_string_lossy().into_owned());
        let text = word.to_str().ok_or_else(unknown)?;
        if !text.starts_with('-') || text == "-" {
            kept.push(word.clone());
            continue;
        }
        if text
            .strip_prefix("-j")
            .or_else(|| text.strip_prefix("--test-threads"))
            .is_some_and(|rest| rest.trim_matches('=') == "1")
        {
            return Err(NoList::OfNoUse);
        }
        let (kind, takes_next) = kind_of(text).ok_or_else(unknown)?;
        let value = if takes_next { words.next() } else { None };
        match kind {
            Forbids => return Err(NoList::OfNoUse),
            RunOnly if is_one_thread(text, value) => return Err(NoList::OfNoUse),
            RunOnly => {}
            Shared => kept.extend(std::iter::once(word).chain(value).cloned()),
        }
    }
    Ok(kept)
}

fn is_one_thread(option: &str, value: Option<&OsString>) -> bool {
    ["-j", "--test-threads", "--jobs"].contains(&option) && value.is_some_and(|value| value == OsStr::new("1"))
}

/// What this option is, and whether its value is the next word.
fn kind_of(word: &str) -> Option<(Kind, bool)> {
    if let Some((name, _)) = word.split_once('=').filter(|_| word.starts_with("--")) {
        return known(&WITH_VALUE, name).map(|kind| (kind, false));
    }
    let whole = known(&FLAGS, word).map(|kind| (kind, false)).or_else(|| known(&WITH_VALUE, word).map(|kind| (kind, true)));
    whole.or_else(|| kind_of_letters(word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?))
}

/// Several letters behind one dash: options without a value, and at most one with, whose value is what follows it. They stay
/// together, so they have to be of one kind.
fn kind_of_letters(letters: &str) -> Option<(Kind, bool)> {
    let mut kinds = Vec::new();
    let mut takes_next = false;
    for (at, letter) in letters.char_indices() {
        let name = format!("-{letter}");
        if let Some(kind) = known(&FLAGS, &name) {
            kinds.push(kind);
            continue;
        }
        kinds.push(known(&WITH_VALUE, &name)?);
        takes_next = at + letter.len_utf8() == letters.len();
        break;
    }
    let kind = *kinds.first()?;
    kinds.iter().all(|other| *other == kind).then_some((kind, takes_next))
}

fn known(table: &[(&str, Kind)], name: &str) -> Option<Kind> {
    table.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(run: &str) -> Result<String, NoList> {
        let words: Vec<OsString> = run.split_whitespace().map(OsString::from).collect();
        let command = words.iter().position(|word| word == "run").expect("a run");
        list_words(&words, command).map(|words| words.join(" ".as_ref()).into_string().expect("text"))
    }

    #[track_caller]
    fn check(run: &str, list: &str) {
        assert_eq!(listed(run).as_deref(), Ok(list), "{run}");
    }

    #[test]
    fn what_only_a_run_has_is_left_out() {
        check("run", "list --message-format json");
        check("--profile ci run -E test(a) db", "--profile ci list -E test(a) db --message-format json");
        check("run -j4 -j 8 --test-threads=3 --retries 2 -p api", "list -p api --message-format json");
        check("run --no-fail-fast --features=x,y -Fz -vv", "list --features=x,y -Fz -vv --message-format json");
        check("run -rv -rpapi -rp api -vr", "list -rv -rpapi -rp api -vr --message-format json");
        check(
            "run --archive-file a --extract-to b --extract-overwrite",
            "list --archive-file a --extract-to b --extract-overwrite --message-format json",
        );
        check("run --message-format libtest-json -R latest", "list --message-format json");
        check("run db -- --skip -j --no-run", "list db --message-format json -- --skip -j --no-run");
    }

    #[test]
    fn where_there_is_nothing_to_schedule_there_is_no_listing() {
        let words = ["--no-run", "--no-capture", "-j1", "-j 1", "-j=1", "--test-threads=1", "--debugger gdb", "--timings"];
        for words in words.into_iter().chain(["--timings=html", "--persist-extract-tempdir", "-h"]) {
            assert_eq!(listed(&format!("run {words}")), Err(NoList::OfNoUse), "{words}");
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        for word in ["--no-such-option", "--no-such=option", "-x", "-rx", "-rj4", "-"] {
            let expected =
                if word == "-" { Ok("list - --message-format json".to_owned()) } else { Err(NoList::Unknown(word.to_owned())) };
            assert_eq!(listed(&format!("run {word}")), expected);
        }
    }
}
