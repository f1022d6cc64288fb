//! Cases of one `#[rstest]` of which only some are leased.
//!
//! rstest gives an attribute that stands between it and a `#[case]` to that case alone; below all cases it goes to each. The
//! attribute itself sees one case at a time, so whether others were left out is asked of the program: it lists its tests.
//! Only a program with such a case pays for that, and not a process that runs leased cases alone if two of them have the
//! attribute from one place. That place is below all cases, or a macro has repeated it: the processes of the other cases find
//! out which.

use std::collections::BTreeMap;

use super::own_tests;
use super::selection::{Candidate, Selection, is_below};
use super::site::{CaseOf, Site};

/// What is wrong with the cases of this process's leased tests.
#[derive(Debug, Default)]
pub(super) struct Cases {
    mixed: Vec<Mixed>,
}

/// A test of which some cases are not leased, or may be not.
#[derive(Debug)]
struct Mixed {
    test: String,
    leased: Vec<String>,
    /// Or why the program's tests could not be listed.
    unleased: Result<Vec<String>, String>,
}

impl Cases {
    /// Looks at the tests of the process form of which a case may run here. Of a test with a slot as its parameter no case can
    /// be left out: that one would be a test with a parameter, which does not compile.
    pub(super) fn look(sites: &[&'static Site], selection: &Selection) -> Self {
        let mut tests = BTreeMap::<String, Vec<CaseOf>>::new();
        for case in sites.iter().filter_map(|site| site.case()) {
            tests.entry(case.test.clone()).or_default().push(case);
        }
        let is_leased = |name: &str| sites.iter().any(|site| site.covers(name));
        let is_unclear = |(test, cases): &(String, Vec<CaseOf>)| {
            let is_known = || have_one_attribute(cases) && runs_no_other_of(selection, test, &is_leased);
            may_run_any_of(selection, test) && !is_known()
        };
        let tests: Vec<_> = tests.into_iter().filter(is_unclear).collect();
        if tests.is_empty() {
            return Self::default();
        }
        let names = own_tests::list(&[]);
        let mixed = tests.into_iter().filter_map(|(test, cases)| Mixed::of(test, &cases, &names, &is_leased));
        Self { mixed: mixed.collect() }
    }

    /// Why the test at this place must not run: others of its cases are not leased.
    pub(super) fn refuse(&self, site: &Site) -> Result<(), String> {
        let Some(case) = site.case() else { return Ok(()) };
        match self.mixed.iter().find(|mixed| mixed.test == case.test) {
            Some(mixed) => Err(mixed.explain()),
            None => Ok(()),
        }
    }

    /// Why the process must not run: it would run cases that are not leased, and none beside them that would say so.
    pub(super) fn refuse_process(&self, sites: &[&'static Site], selection: &Selection) -> Result<(), String> {
        let mut ignored = None;
        for mixed in &self.mixed {
            let Ok(unleased) = &mixed.unleased else { continue };
            let says_so = |site: &&&Site| site.case().is_some_and(|case| case.test == mixed.test);
            if sites.iter().filter(says_so).any(|site| selection.may_run(&site.candidate())) {
                continue;
            }
            let may_run = |name: &String, ignored| selection.may_run(&case_called(name, ignored));
            if !unleased.iter().any(|name| may_run(name, true) || may_run(name, false)) {
                continue;
            }
            let ignored = ignored.get_or_insert_with(|| own_tests::list(&["--ignored".to_owned()]).unwrap_or_default());
            if unleased.iter().any(|name| may_run(name, ignored.contains(name))) {
                return Err(mixed.explain());
            }
        }
        Ok(())
    }
}

impl Mixed {
    fn of(test: String, cases: &[CaseOf], names: &Result<Vec<String>, String>, is_leased: &dyn Fn(&str) -> bool) -> Option<Self> {
        let below = format!("{test}::");
        let unleased = names
            .as_ref()
            .map_err(Clone::clone)
            .map(|names| names.iter().filter(|name| name.starts_with(&below) && !is_leased(name)).cloned().collect::<Vec<_>>());
        if unleased.as_ref().is_ok_and(Vec::is_empty) {
            return None;
        }
        let mut leased: Vec<_> = cases.iter().map(|case| format!("{below}{}", case.case)).collect();
        leased.sort();
        leased.dedup();
        Some(Self { test, leased, unleased })
    }

    fn explain(&self) -> String {
        let Self { test, leased, unleased } = self;
        let (test, leased) = (test.as_str(), short(leased, test));
        match unleased {
            Ok(unleased) => format!(
                "only some cases of `{test}` are leased: {leased}, and not {}; rstest gives an attribute that stands between \
                 #[rstest] and a #[case] to that case alone, so write #[leased_slot] below every #[case], or above #[rstest]",
                short(unleased, test),
            ),
            Err(reason) => format!("whether all cases of `{test}` are leased, as {leased} is, cannot be told: {reason}"),
        }
    }
}

/// The first names below the test, and how many more there are.
fn short(names: &[String], test: &str) -> String {
    const N_SHOWN: usize = 4;
    let below = |name: &String| format!("`{}`", name.strip_prefix(test).unwrap_or(name).trim_start_matches("::"));
    let mut text = names.iter().take(N_SHOWN).map(below).collect::<Vec<_>>().join(", ");
    if N_SHOWN < names.len() {
        text += &format!(" and {} more", names.len() - N_SHOWN);
    }
    text
}

/// Two cases with the attribute from one place most likely have it from below all cases.
fn have_one_attribute(cases: &[CaseOf]) -> bool {
    cases.iter().any(|one| cases.iter().any(|other| one.case != other.case && one.place == other.place))
}

fn may_run_any_of(selection: &Selection, test: &str) -> bool {
    selection.may_run(&Candidate { name: test.to_owned(), ignored: false, should_panic: false, several: true })
}

/// Whether this process runs, of this test, named cases alone, all of them leased. One that is not has a process of its own.
fn runs_no_other_of(selection: &Selection, test: &str, is_leased: &dyn Fn(&str) -> bool) -> bool {
    let whole = selection.whole_names();
    whole.is_some_and(|names| names.iter().filter(|name| is_below(name, test)).all(|name| is_leased(name)))
}

fn case_called(name: &str, ignored: bool) -> Candidate {
    Candidate { name: name.to_owned(), ignored, should_panic: false, several: false }
}
