//! Which tests of a libtest binary run in this process, told from its arguments and environment alone.
//!
//! A constructor runs before libtest reads its arguments, so the same reading is done here. What is not understood is
//! never guessed: the process may belong to another harness, to which the words mean something else.

use std::ffi::{OsStr, OsString};

/// Nextest says here whether it lists tests or runs one.
const NEXTEST_PHASE: &str = "NEXTEST_TEST_PHASE";
/// The one test that a nextest process runs.
const NEXTEST_NAME: &str = "NEXTEST_TEST_NAME";
/// With `panic = "abort"` libtest starts itself again for each test, whose name it passes here.
pub(super) const LIBTEST_INVOKE: &str = "__RUST_TEST_INVOKE";

/// What an option of libtest makes of the word after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
}

/// Every long option of libtest.
const OPTIONS: [(&str, Takes); 23] = [
    ("bench", Takes::Nothing),
    ("color", Takes::Value),
    ("ensure-time", Takes::Nothing),
    ("exact", Takes::Nothing),
    ("exclude-should-panic", Takes::Nothing),
    ("fail-fast", Takes::Nothing),
    ("force-run-in-process", Takes::Nothing),
    ("format", Takes::Value),
    ("help", Takes::Nothing),
    ("ignored", Takes::Nothing),
    ("include-ignored", Takes::Nothing),
    ("list", Takes::Nothing),
    ("logfile", Takes::Value),
    ("no-capture", Takes::Nothing),
    ("nocapture", Takes::Nothing),
    ("quiet", Takes::Nothing),
    ("report-time", Takes::Nothing),
    ("show-output", Takes::Nothing),
    ("shuffle", Takes::Nothing),
    ("shuffle-seed", Takes::Value),
    ("skip", Takes::Value),
    ("test", Takes::Nothing),
    ("test-threads", Takes::Value),
];

/// Which tests run in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// None: the process lists its tests, shows its help or runs benchmarks.
    Nothing,
    /// Those that this fits.
    Tests(Filter),
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// How libtest picks tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    names: Vec<String>,
    skipped: Vec<String>,
    matching: Matching,
    ignored: Ignored,
    exclude_should_panic: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Matching {
    #[default]
    Part,
    Whole,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ignored {
    #[default]
    Skipped,
    Only,
    Included,
}

/// What is known of a test before `main`.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Its name as libtest has it.
    pub(super) name: String,
    pub(super) ignored: bool,
    pub(super) should_panic: bool,
    /// Whether a generator makes tests called `name::something` of it.
    pub(super) several: bool,
}

impl Selection {
    /// Reads the arguments (without the program) and the environment; `None` if the arguments cannot be had.
    pub(super) fn read(args: Option<&[OsString]>, env: impl Fn(&str) -> Option<OsString>) -> Self {
        if env(NEXTEST_PHASE).is_some_and(|phase| phase == "list") {
            return Self::Nothing;
        }
        if let Some(name) = env(LIBTEST_INVOKE).and_then(|name| name.into_string().ok()) {
            return Self::Tests(Filter::only(name));
        }
        let nextest = env(NEXTEST_NAME).and_then(|name| name.into_string().ok());
        let Some(args) = args else {
            return match nextest {
                Some(name) => Self::Tests(Filter::only(name)),
                None => Self::Unknown("the arguments of this process cannot be read before main".to_owned()),
            };
        };
        match (read_args(args), nextest) {
            (Self::Unknown(reason), Some(name)) => match args {
                // Nextest puts these two first; the environment alone may be inherited from an outer test.
                [exact, test, ..] if exact == "--exact" && *test == *OsStr::new(&name) => Self::Tests(Filter::only(name)),
                _ => Self::Unknown(reason),
            },
            (selection, _) => selection,
        }
    }

    /// Whether the test may run here. Exact for tests that keep their name; for those of a generator, whose names are
    /// not known yet, it errs on the side of running.
    pub(super) fn may_run(&self, test: &Candidate) -> bool {
        match self {
            Self::Nothing | Self::Unknown(_) => false,
            Self::Tests(filter) => filter.may_run(test),
        }
    }

    /// The arguments with which libtest lists the tests that are selected, if names select them that a generator's tests may
    /// have or not.
    pub(super) fn to_list(&self) -> Option<Vec<String>> {
        match self {
            Self::Tests(filter) if filter.matching == Matching::Part && !filter.is_everything() => Some(filter.to_args()),
            _ => None,
        }
    }

    /// The names, if only tests with exactly these run.
    pub(super) fn whole_names(&self) -> Option<&[String]> {
        match self {
            Self::Tests(filter) if filter.matching == Matching::Whole && !filter.names.is_empty() => Some(&filter.names),
            _ => None,
        }
    }
}

impl Filter {
    fn is_everything(&self) -> bool {
        self.names.is_empty() && self.skipped.is_empty() && self.ignored != Ignored::Only
    }

    fn to_args(&self) -> Vec<String> {
        let ignored = (self.ignored == Ignored::Only).then(|| "--ignored".to_owned());
        let skipped = self.skipped.iter().map(|name| format!("--skip={name}"));
        ignored.into_iter().chain(skipped).chain(["--".to_owned()]).chain(self.names.iter().cloned()).collect()
    }

    /// One test, which is run even if it is ignored: whoever names it has looked.
    fn only(name: String) -> Self {
        Self { names: vec![name], matching: Matching::Whole, ignored: Ignored::Included, ..Self::default() }
    }

    fn may_run(&self, test: &Candidate) -> bool {
        let ignored_fits = match self.ignored {
            Ignored::Included => true,
            // A generator's tests may be ignored one by one.
            Ignored::Only => test.ignored || test.several,
            Ignored::Skipped => !test.ignored || test.several,
        };
        let named = self.names.is_empty() || self.names.iter().any(|name| self.may_match(test, name));
        let skipped = self.skipped.iter().any(|name| self.surely_matches(test, name));
        let excluded = self.exclude_should_panic && test.should_panic && !test.several;
        ignored_fits && named && !skipped && !excluded
    }

    fn may_match(&self, test: &Candidate, filter: &str) -> bool {
        match (self.matching, test.several) {
            (Matching::Part, false) => test.name.contains(filter),
            (Matching::Part, true) => true,
            (Matching::Whole, false) => test.name == filter,
            (Matching::Whole, true) => test.name == filter || is_below(filter, &test.name),
        }
    }

    fn surely_matches(&self, test: &Candidate, filter: &str) -> bool {
        match self.matching {
            Matching::Part => test.name.contains(filter),
            Matching::Whole => test.name == filter && !test.several,
        }
    }
}

/// Whether `name` is `parent::something`.
pub(super) fn is_below(name: &str, parent: &str) -> bool {
    name.strip_prefix(parent).is_some_and(|rest| rest.starts_with("::"))
}

/// What the arguments said so far.
#[derive(Default)]
struct Seen {
    filter: Filter,
    flags: Vec<&'static str>,
}

fn read_args(args: &[OsString]) -> Selection {
    match try_read_args(args) {
        Ok(seen) => seen.selection(),
        Err(word) => Selection::Unknown(format!("the argument `{word}` of this process is not one of libtest's")),
    }
}

/// The words in libtest's reading; `Err` is the word that it does not have.
fn try_read_args(args: &[OsString]) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let mut words = args.iter().map(|word| word.to_str().ok_or_else(|| word.to_string_lossy().into_owned()));
    while let Some(word) = words.next() {
        let word = word?;
        if word == "--" {
            for name in words {
                seen.filter.names.push(name?.to_owned());
            }
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            seen.long(name, value, || words.next()).ok_or_else(|| word.to_owned())?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            seen.short(letters, || words.next()).ok_or_else(|| word.to_owned())?;
        } else {
            seen.filter.names.push(word.to_owned());
        }
    }
    Ok(seen)
}

type Word<'a> = Option<Result<&'a str, String>>;

impl Seen {
    fn long<'a>(&mut self, name: &str, value: Option<&'a str>, next: impl FnOnce() -> Word<'a>) -> Option<()> {
        let (name, takes) = OPTIONS.into_iter().find(|(option, _)| *option == name)?;
        match (takes, value) {
            (Takes::Nothing, None) => self.flags.push(name),
            (Takes::Nothing, Some(_)) => return None,
            (Takes::Value, value) => {
                let value = match value {
                    Some(value) => value,
                    None => next()?.ok()?,
                };
                if name == "skip" {
                    self.filter.skipped.push(value.to_owned());
                }
            }
        }
        Some(())
    }

    /// Letters behind one dash: `-q`, `-h`, and `-Z` with its value behind it or as the next word.
    fn short<'a>(&mut self, letters: &str, next: impl FnOnce() -> Word<'a>) -> Option<()> {
        for (letter_idx, letter) in letters.char_indices() {
            match letter {
                'q' => self.flags.push("quiet"),
                'h' => self.flags.push("help"),
                'Z' if letter_idx + 1 == letters.len() => return next()?.ok().map(drop),
                'Z' => return Some(()),
                _ => return None,
            }
        }
        Some(())
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    fn selection(self) -> Selection {
        let ignored = match (self.has("ignored"), self.has("include-ignored")) {
            (false, false) => Ignored::Skipped,
            (true, false) => Ignored::Only,
            (false, true) => Ignored::Included,
            // Libtest refuses both together.
            (true, true) => return Selection::Nothing,
        };
        let only_benches = self.has("bench") && !self.has("test");
        if self.has("list") || self.has("help") || only_benches {
            return Selection::Nothing;
        }
        let matching = if self.has("exact") { Matching::Whole } else { Matching::Part };
        let exclude_should_panic = self.has("exclude-should-panic");
        Selection::Tests(Filter { matching, ignored, exclude_should_panic, ..self.filter })
    }
}

#[cfg(test)]
mod tests;
