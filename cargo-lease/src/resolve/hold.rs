//! Whether slots are held for each test or for a whole run, and how many are useful.

use std::ffi::OsString;
use std::num::NonZero;
use std::thread::available_parallelism;

use toml::{Table, Value};

use super::project::Place;
use super::{Manifests, Surroundings};
use crate::exit::Failure;
use crate::inject::OwnWords;

/// For how long a slot is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    /// By each test process, as long as it lives.
    #[default]
    Test,
    /// By the parent of the run, which lends it to one test process after the other.
    Run,
}

/// Finds out which: the option, the package's manifest, the workspace's manifest, else a test.
///
/// # Errors
///
/// Another word; the message names where it stands.
pub(crate) fn find_hold(typed: Option<&str>, manifests: &Manifests<'_>) -> Result<Hold, Failure> {
    if let Some(text) = typed.filter(|text| !text.is_empty()) {
        return Hold::of_text(text).ok_or_else(|| Failure::usage(format!("--hold '{text}': expected {EXPECTED}")));
    }
    match manifests.project()? {
        Some(project) => project.agreed("--hold", hold_of, |hold| format!("hold = {hold:?}")),
        None => Ok(Hold::Test),
    }
}

const EXPECTED: &str = "test or run";

fn hold_of(place: &Place<'_>) -> Result<Hold, Failure> {
    let Some(setting) = place.setting("hold")? else { return Ok(Hold::Test) };
    setting.value.as_str().and_then(Hold::of_text).ok_or_else(|| setting.wrong(EXPECTED))
}

impl Hold {
    fn of_text(text: &str) -> Option<Self> {
        match text {
            "test" => Some(Self::Test),
            "run" => Some(Self::Run),
            _ => None,
        }
    }
}

/// How many tests nextest will run at once, as far as it was told; `config` is the text of its configuration.
pub(crate) fn nextest_threads(words: &OwnWords<'_>, config: &str, around: &Surroundings) -> usize {
    let n_cpus = available_parallelism().map_or(1, NonZero::get);
    if words.has(&["--no-capture", "--nocapture"]) {
        return 1;
    }
    let typed = words.texts(&["--test-threads", "--jobs", "-j"]).pop();
    let text = |name: &str| around.var(name).ok().flatten().map(str::to_owned);
    let said = typed.or_else(|| text("NEXTEST_TEST_THREADS"));
    let of_text = |text: String| text.parse().map_or(Value::String(text), Value::Integer);
    let profile = words.texts(&["--profile", "-P"]).pop().or_else(|| text("NEXTEST_PROFILE"));
    let value = said.map(of_text).or_else(|| of_profile(config, profile.as_deref().unwrap_or(DEFAULT)));
    // What nextest will refuse, nextest shall explain.
    value.map_or(n_cpus, |value| count(&value, n_cpus))
}

const DEFAULT: &str = "default";

/// A negative number is so many fewer than there are processors.
fn count(threads: &Value, n_cpus: usize) -> usize {
    match threads.as_integer() {
        Some(number) if number < 0 => {
            let fewer = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
            n_cpus.saturating_sub(fewer).max(1)
        }
        Some(number) => usize::try_from(number).unwrap_or(usize::MAX).max(1),
        None => n_cpus,
    }
}

/// What a profile says, or one that it inherits from, the default profile in the end.
fn of_profile(config: &str, profile: &str) -> Option<Value> {
    let config: Table = config.parse().ok()?;
    let profiles = config.get("profile")?.as_table()?;
    let mut seen = Vec::new();
    let mut name = profile;
    while !seen.contains(&name) {
        let table = profiles.get(name).and_then(Value::as_table);
        if let Some(value) = table.and_then(|table| table.get("test-threads")) {
            return Some(value.clone());
        }
        seen.push(name);
        name = table.and_then(|table| table.get("inherits")?.as_str()).unwrap_or(DEFAULT);
    }
    None
}

/// Whether nextest puts a program of the user's in front of a test, and so in front of what else is in front of it.
pub(crate) fn has_debugger(words: &[OsString]) -> bool {
    !OwnWords::new(words).values(&["--debugger", "--tracer"]).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_what_nextest_was_told() {
        let config = "
            [profile.default]
            test-threads = 3
            [profile.ci]
            retries = 2
            [profile.wide]
            test-threads = 'num-cpus'
            [profile.narrow]
            test-threads = 1
            [profile.child]
            inherits = 'narrow'
            [profile.loop]
            inherits = 'loop'
        ";
        let n_cpus = available_parallelism().map_or(1, NonZero::get);
        type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str, usize);
        let table: [Case<'_>; 17] = [
            (&["run"], &[], "", n_cpus),
            (&["run"], &[], config, 3),
            (&["run"], &[], "[broken", n_cpus),
            (&["run", "-j4"], &[], config, 4),
            (&["run", "-j", "4"], &[], config, 4),
            (&["run", "--jobs=4"], &[], config, 4),
            (&["run", "--test-threads", "4", "--", "-j8"], &[("NEXTEST_TEST_THREADS", "5")], config, 4),
            (&["run", "-j", "num-cpus"], &[], config, n_cpus),
            (&["run", "-j", "-1000"], &[], config, 1),
            (&["run"], &[("NEXTEST_TEST_THREADS", "5")], config, 5),
            (&["run", "--profile", "ci"], &[], config, 3),
            (&["run", "-P", "wide"], &[], config, n_cpus),
            (&["run", "-Pnarrow"], &[], config, 1),
            (&["run"], &[("NEXTEST_PROFILE", "child")], config, 1),
            (&["run", "-P", "loop"], &[], config, n_cpus),
            (&["run", "--no-capture", "-j4"], &[], config, 1),
            (&["run", "-j", "many"], &[], config, n_cpus),
        ];
        for (words, env, config, threads) in table {
            let typed: Vec<OsString> = words.iter().map(OsString::from).collect();
            let around = Surroundings::of_test("/", env);
            assert_eq!(nextest_threads(&OwnWords::new(&typed), config, &around), threads, "{words:?} {env:?}");
        }
    }

    #[test]
    fn manifests_say_it_in_their_order() {
        let dir = tempfile::tempdir().expect("temporary folder");
        std::fs::create_dir(dir.path().join("src")).expect("folder");
        std::fs::write(dir.path().join("src/lib.rs"), "").expect("file");
        let around = Surroundings::of_test(dir.path(), &[]);
        let find = |typed: Option<&str>, tables: &str| {
            let text = format!("[package]\nname = \"p\"\nversion = \"0.1.0\"\n[workspace]\n{tables}");
            std::fs::write(dir.path().join("Cargo.toml"), text).expect("file");
            find_hold(typed, &Manifests::new(&[], &around, None))
        };
        let workspace = "[workspace.metadata.lease]\nhold = \"run\"\n";
        let both = format!("{workspace}[package.metadata.lease]\nhold = \"test\"\n");
        assert_eq!(find(None, "").expect("found"), Hold::Test);
        assert_eq!(find(None, workspace).expect("found"), Hold::Run);
        assert_eq!(find(None, &both).expect("found"), Hold::Test);
        assert_eq!(find(Some("run"), &both).expect("found"), Hold::Run);
        assert_eq!(find(Some(""), workspace).expect("found"), Hold::Run);
        for (value, shown) in [("3", "found 3"), ("\"runs\"", "runs"), ("[\"run\"]", "[\"run\"]")] {
            let error = find(None, &format!("[package.metadata.lease]\nhold = {value}\n")).expect_err("wrong").to_string();
            for part in ["Cargo.toml", "package.metadata.lease.hold", "test or run", shown] {
                assert!(error.contains(part), "{part:?} is not in: {error}");
            }
        }
    }

    #[test]
    fn a_debugger_is_one_of_nextests_own_words() {
        let table: [(&[&str], bool); 5] = [
            (&["run", "--debugger", "gdb --args"], true),
            (&["run", "--tracer=strace"], true),
            (&["run", "name"], false),
            (&["run", "--", "--debugger", "gdb"], false),
            (&["run", "--debugger"], false),
        ];
        for (words, expected) in table {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(has_debugger(&words), expected, "{words:?}");
        }
    }
}
