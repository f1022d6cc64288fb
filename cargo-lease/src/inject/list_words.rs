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
    ("--extract-to", RunOnly),
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
    ("--extract-overwrite", RunOnly),
    ("--persist-extract-tempdir", RunOnly),
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

/// The words behind `list`, of those around the run command at `command`; `None` if such a listing is not to be made: nothing
/// runs, or one test after the other, or there is an option that is not known here. Then nextest itself shall explain it.
pub(crate) fn list_words(words: &[OsString], command: usize) -> Option<Vec<OsString>> {
    let (own, rest) = words.split_at(dashes(words));
    let mut listed = kept(&own[..command])?;
    listed.push("list".into());
    listed.extend(kept(&own[command + 1..])?);
    listed.extend(["--message-format".into(), "json".into()]);
    listed.extend(rest.iter().cloned());
    Some(listed)
}

fn kept(words: &[OsString]) -> Option<Vec<OsString>> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_str()?;
        if !text.starts_with('-') || text == "-" {
            kept.push(word.clone());
            continue;
        }
        if text
            .strip_prefix("-j")
            .or_else(|| text.strip_prefix("--test-threads"))
            .is_some_and(|rest| rest.trim_matches('=') == "1")
        {
            return None;
        }
        let (kind, takes_next) = kind_of(text)?;
        let value = if takes_next { words.next() } else { None };
        match kind {
            Forbids => return None,
            RunOnly if is_one_thread(text, value) => return None,
            RunOnly => {}
            Shared => kept.extend(std::iter::once(word).chain(value).cloned()),
        }
    }
    Some(kept)
}

fn is_one_thread(option: &str, value: Option<&OsString>) -> bool {
    ["-j", "--test-threads", "--jobs"].contains(&option) && value.is_some_and(|value| value == OsStr::new("1"))
}

/// What this option is, and whether its value is the next word.
fn kind_of(word: &str) -> Option<(Kind, bool)> {
    let known = |table: &[(&str, Kind)], name: &str| table.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    if let Some((name, _)) = word.split_once('=').filter(|_| word.starts_with("--")) {
        return known(&WITH_VALUE, name).map(|kind| (kind, false));
    }
    if let Some(kind) = known(&FLAGS, word) {
        return Some((kind, false));
    }
    if let Some(kind) = known(&WITH_VALUE, word) {
        return Some((kind, true));
    }
    // A short option with its value behind it; several letters behind one dash are not taken apart.
    let short = word.get(..2).filter(|_| !word.starts_with("--"))?;
    if word.len() > 2 && word.bytes().skip(1).all(|letter| letter == b'v') {
        return Some((Shared, false));
    }
    known(&WITH_VALUE, short).map(|kind| (kind, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(run: &str, list: Option<&str>) {
        let words: Vec<OsString> = run.split_whitespace().map(OsString::from).collect();
        let command = words.iter().position(|word| word == "run").expect("a run");
        let listed = list_words(&words, command).map(|words| words.join(" ".as_ref()).into_string().expect("text"));
        assert_eq!(listed.as_deref(), list, "{run}");
    }

    #[test]
    fn what_only_a_run_has_is_left_out() {
        check("run", Some("list --message-format json"));
        check("--profile ci run -E test(a) db", Some("--profile ci list -E test(a) db --message-format json"));
        check("run -j4 -j 8 --test-threads=3 --retries 2 -p api", Some("list -p api --message-format json"));
        check("run --no-fail-fast --features=x,y -Fz -vv", Some("list --features=x,y -Fz -vv --message-format json"));
        check("run --archive-file a --extract-to b --extract-overwrite", Some("list --archive-file a --message-format json"));
        check("run --message-format libtest-json -R latest", Some("list --message-format json"));
        check("run db -- --skip -j --no-run", Some("list db --message-format json -- --skip -j --no-run"));
    }

    #[test]
    fn where_there_is_nothing_to_schedule_or_something_unknown_there_is_no_listing() {
        for words in ["--no-run", "--no-capture", "-j1", "-j 1", "-j=1", "--test-threads=1", "--debugger gdb", "--timings"] {
            check(&format!("run {words}"), None);
        }
        for words in ["--no-such-option", "--no-such=option", "-x", "--timings=html", "-rv"] {
            check(&format!("run {words}"), None);
        }
    }
}
