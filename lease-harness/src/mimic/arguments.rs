//! The arguments of the process, in libtest's reading where libtest-mimic's is narrower.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::process::exit;

use libtest_mimic::{Arguments, Trial};

use crate::__private::say;

/// Libtest-mimic's exit code for arguments that it does not know.
const USAGE: i32 = 2;

/// Options of libtest-mimic that have a value, which may be the next word.
const WITH_VALUE: [&str; 6] = ["--color", "--format", "--logfile", "--skip", "--test-threads", "-Z"];

/// Reads the arguments, the program's name first, and gives the trials that they are about; of those libtest-mimic picks
/// what runs. Ends the process on arguments that it does not know, and after `--help`.
pub(super) fn read(
    words: impl IntoIterator<Item = OsString>,
    test_threads: Option<OsString>,
    trials: Vec<Trial>,
) -> (Arguments, Vec<Trial>) {
    let Words { mut known, filters } = Words::read(words);
    if let [filter] = &filters[..] {
        known.extend(["--".into(), filter.clone()]);
    }
    let mut arguments = Arguments::from_iter(known);
    if arguments.test_threads == Some(0) {
        // Libtest-mimic would start no thread, and wait for one.
        say("argument for --test-threads must not be 0");
        exit(USAGE);
    }
    arguments.test_threads = arguments.test_threads.or_else(|| number(&test_threads?));
    if filters.len() < 2 {
        return (arguments, trials);
    }
    let filters: Vec<_> = filters.iter().map(|filter| filter.to_string_lossy().into_owned()).collect();
    with_filters(arguments, &filters, trials)
}

/// Libtest refuses a number that it cannot use; zero or a word is none here.
fn number(text: &OsStr) -> Option<usize> {
    text.to_str()?.parse().ok().filter(|number| 0 < *number)
}

/// The arguments without their filters.
struct Words {
    known: Vec<OsString>,
    filters: Vec<OsString>,
}

impl Words {
    fn read(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut words = words.into_iter();
        let mut read = Self { known: words.next().into_iter().collect(), filters: Vec::new() };
        while let Some(word) = words.next() {
            match word.to_str() {
                Some("--") => read.filters.extend(words.by_ref()),
                Some("--no-capture") => read.known.push("--nocapture".into()),
                Some(option) if WITH_VALUE.contains(&option) => {
                    read.known.push(word);
                    read.known.extend(words.next());
                }
                _ if is_option(&word) => read.known.push(word),
                _ => read.filters.push(word),
            }
        }
        read
    }
}

fn is_option(word: &OsStr) -> bool {
    word.len() > 1 && word.as_encoded_bytes().starts_with(b"-")
}

/// Libtest-mimic knows one filter, so what none of several picks is skipped by its whole name: it is counted as filtered
/// out then.
fn with_filters(arguments: Arguments, filters: &[String], trials: Vec<Trial>) -> (Arguments, Vec<Trial>) {
    let each: Vec<_> = filters.iter().map(|filter| Arguments { filter: Some(filter.clone()), ..arguments.clone() }).collect();
    let is_picked = |trial: &Trial| each.iter().any(|arguments| !arguments.is_filtered_out(trial));
    let picked: HashSet<_> = trials.iter().filter(|trial| is_picked(trial)).map(|trial| trial.name().to_owned()).collect();
    // One whose name a picked one has too, of another kind, would take that along.
    let trials: Vec<_> = trials.into_iter().filter(|trial| is_picked(trial) || !picked.contains(trial.name())).collect();
    let skip = trials.iter().filter(|trial| !is_picked(trial)).map(whole_name).collect();
    (Arguments { skip, exact: true, ..arguments }, trials)
}

/// The name as it is listed.
pub(super) fn whole_name(trial: &Trial) -> String {
    match trial.kind() {
        "" => trial.name().to_owned(),
        kind => format!("[{kind}] {}", trial.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the trials that these arguments leave, of three.
    #[track_caller]
    fn check(args: &str, left: &[&str]) {
        let trial = |name: &str| Trial::test(name, || Ok(()));
        let trials = vec![trial("db::reads"), trial("db::writes").with_ignored_flag(true), trial("web").with_kind("slow")];
        let words = ["program"].into_iter().chain(args.split_whitespace()).map(OsString::from);
        let (arguments, trials) = read(words, None, trials);
        assert_eq!(trials.len(), 3, "{args}");
        let names: Vec<_> = trials.iter().filter(|trial| !arguments.is_filtered_out(trial)).map(Trial::name).collect();
        assert_eq!(names, left, "{args}");
    }

    #[test]
    fn filters_are_libtests() {
        check("", &["db::reads", "db::writes", "web"]);
        check("reads", &["db::reads"]);
        check("reads web", &["db::reads", "web"]);
        check("reads writes --ignored", &["db::writes"]);
        check("reads web --skip slow", &["db::reads"]);
        check("reads web --exact", &["web"]);
        check("db::reads [slow]", &["db::reads", "web"]);
        check("--test-threads 1 --skip=db web db", &["web"]);
        check("--color never -Z unstable-options --format terse db", &["db::reads", "db::writes"]);
        check("--exact -- db::reads", &["db::reads"]);
        check("no such", &[]);
    }

    #[test]
    fn a_filter_may_look_like_an_option() {
        check("-- --list", &[]);
        check("db -- --list", &["db::reads", "db::writes"]);
    }

    #[test]
    fn one_picked_beside_one_of_its_name_is_left() {
        let trials = vec![Trial::test("web", || Ok(())), Trial::test("web", || Ok(())).with_kind("slow")];
        let words = ["program", "--exact", "[slow] web", "other"].map(OsString::from);
        let (arguments, trials) = read(words, None, trials);
        assert_eq!((trials.len(), arguments.is_filtered_out(&trials[0]), trials[0].kind()), (1, false, "slow"));
    }

    #[test]
    fn the_number_of_threads_is_an_argument_or_a_variable() {
        let threads = |args: &[&str], variable: &str| {
            let words = ["program"].iter().chain(args).map(OsString::from);
            read(words, Some(variable.into()), Vec::new()).0.test_threads
        };
        assert_eq!(threads(&[], "3"), Some(3));
        assert_eq!(threads(&["--test-threads", "2", "--no-capture"], "3"), Some(2));
        assert_eq!((threads(&[], "0"), threads(&[], "many")), (None, None));
    }
}
