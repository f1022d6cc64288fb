//! The places where the attribute stands.

use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use super::selection::{Candidate, is_below};
use crate::harness::{LeasedTest, NamedPool, SlotError, Wait, find_compiled_pool_file, found_pool_file};

/// One use of the attribute: which test, which pool, which options.
#[derive(Debug)]
pub struct Site {
    /// The place that was put on the list before this one.
    before: AtomicPtr<Site>,
    module: &'static str,
    function: &'static str,
    pool: &'static str,
    /// The test takes a slot of each of these as well.
    other_pools: &'static [&'static str],
    /// Whether the files of the pools were there when the test was compiled, if that is known.
    were_there: &'static [bool],
    ttl_minutes: Option<f64>,
    wait: Wait,
    owner: Option<&'static str>,
    resets: bool,
    ignored: bool,
    should_panic: bool,
    several: bool,
    /// Whether it is compiled for libtest.
    in_libtest: bool,
    form: TestForm,
    /// A macro made the function's name at this word of the source.
    made_of: Option<(&'static str, Place)>,
}

/// Who takes the slots of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestForm {
    /// Its process, before `main`.
    Process,
    /// The test, when it starts.
    Test,
}

/// Line and column of an attribute.
type Place = (usize, usize);

/// One case of an `#[rstest]` that is itself leased.
#[derive(Clone, Debug)]
pub(super) struct CaseOf {
    /// The name of the test that has the cases.
    pub(super) test: String,
    /// `case_1`, below it.
    pub(super) case: String,
    /// Where its attribute stands.
    pub(super) place: Place,
}

impl Site {
    /// The test `function` in `module` (as `module_path!` has it), on the pool of this file.
    pub const fn new(module: &'static str, function: &'static str, pool: &'static str) -> Self {
        Self {
            before: AtomicPtr::new(ptr::null_mut()),
            module,
            function,
            pool,
            other_pools: &[],
            were_there: &[],
            ttl_minutes: None,
            wait: Wait::Forever,
            owner: None,
            resets: false,
            ignored: false,
            should_panic: false,
            several: false,
            in_libtest: false,
            form: TestForm::Process,
            made_of: None,
        }
    }

    /// Further pools, of each of which the test takes a slot.
    pub const fn and_pools(self, others: &'static [&'static str]) -> Self {
        Self { other_pools: others, ..self }
    }

    /// Whether the file of each pool was there when the test was compiled.
    pub const fn pools_were_there(self, were_there: &'static [bool]) -> Self {
        Self { were_there, ..self }
    }

    /// TTL in minutes.
    pub const fn ttl_minutes(self, minutes: f64) -> Self {
        Self { ttl_minutes: Some(minutes), ..self }
    }

    /// Wait at most so many milliseconds for a slot.
    pub const fn wait_millis(self, millis: u64) -> Self {
        Self { wait: Wait::For(Duration::from_millis(millis)), ..self }
    }

    /// Do not wait for a slot.
    pub const fn wait_not(self) -> Self {
        Self { wait: Wait::No, ..self }
    }

    /// Who asks.
    pub const fn owner(self, owner: &'static str) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// The test wants the process's slot clean, also behind another test.
    pub const fn resets(self) -> Self {
        Self { resets: true, ..self }
    }

    /// Whether the test is `#[ignore]`d.
    pub const fn ignored(self, ignored: bool) -> Self {
        Self { ignored, ..self }
    }

    /// Whether the test passes by panicking.
    pub const fn should_panic(self, should_panic: bool) -> Self {
        Self { should_panic, ..self }
    }

    /// A generator makes tests called `function::something` of it, which libtest can list if it is compiled for that.
    pub const fn makes_several_tests(self, in_libtest: bool) -> Self {
        Self { several: true, in_libtest, ..self }
    }

    /// The function's name does not stand in the source: a macro made it of this word. The attribute stands at this place.
    pub const fn made_of(self, word: &'static str, line: usize, column: usize) -> Self {
        Self { made_of: Some((word, (line, column))), ..self }
    }

    /// The test takes its slots by itself.
    pub const fn takes_its_slots(self) -> Self {
        Self { form: TestForm::Test, ..self }
    }

    /// Puts the place on the list that the constructor reads. Each place does so in a constructor of its own, earlier than
    /// ours: unlike entries of a linker section, constructors survive every linker's garbage collection.
    pub fn register(&'static self) {
        // Every process pays for this once for each place, so the list costs no lock and no memory. The loader runs one
        // constructor at a time.
        self.before.store(LAST.load(Ordering::Acquire), Ordering::Relaxed);
        LAST.store(ptr::from_ref(self).cast_mut(), Ordering::Release);
    }

    fn before(&self) -> Option<&'static Self> {
        of_list(self.before.load(Ordering::Relaxed))
    }

    /// The test's name as libtest has it: without the crate.
    pub(super) fn test_name(&self) -> String {
        match self.module.split_once("::") {
            Some((_, module)) => format!("{module}::{}", self.function),
            None => self.function.to_owned(),
        }
    }

    pub(super) fn candidate(&self) -> Candidate {
        Candidate { name: self.test_name(), ignored: self.ignored, should_panic: self.should_panic, several: self.several }
    }

    /// Whether one of these may be the whole name of a test of this place. Costs less than making its name.
    pub(super) fn may_be_one_of(&self, names: &[String]) -> bool {
        self.several || names.iter().any(|name| self.is_called(name))
    }

    fn is_called(&self, name: &str) -> bool {
        // Mostly one byte says that it is not.
        if let ([.., last], [.., wanted]) = (self.function.as_bytes(), name.as_bytes())
            && last != wanted
        {
            return false;
        }
        let Some(before) = name.strip_suffix(self.function) else { return false };
        match before.strip_suffix("::") {
            Some(module) => self.module.strip_suffix(module).is_some_and(is_crate_and_colons),
            None => before.is_empty() && !self.module.contains("::"),
        }
    }

    /// Whether which tests come of it is asked of libtest.
    pub(super) fn is_known_to_libtest(&self) -> bool {
        self.several && self.in_libtest
    }

    /// Whether a test of this name is one of this place.
    pub(super) fn covers(&self, name: &str) -> bool {
        let ours = self.test_name();
        name == ours || self.several && is_below(name, &ours)
    }

    /// The case that this is, if rstest made it: for a test `works` it makes functions whose names it writes at the word
    /// `works`, in a module of that name.
    pub(super) fn case(&self) -> Option<CaseOf> {
        let (word, place) = self.made_of?;
        let name = self.test_name();
        let segments: Vec<_> = name.split("::").collect();
        let test_idx = (0..segments.len() - 1).rev().find(|idx| segments[*idx] == word && is_case(segments[idx + 1]))?;
        let test = segments[..=test_idx].join("::");
        Some(CaseOf { test, case: segments[test_idx + 1].to_owned(), place })
    }

    /// What a listing is told.
    pub(super) fn to_leased_test(&self) -> LeasedTest {
        let pool = |written: &str| NamedPool { written: written.to_owned(), found: found_pool_file(written), store: None };
        LeasedTest { name: self.test_name(), makes_several: self.several, pools: self.pools().into_iter().map(pool).collect() }
    }

    /// The pool files, in the order in which they were written.
    pub(super) fn pools(&self) -> Vec<&'static str> {
        std::iter::once(self.pool).chain(self.other_pools.iter().copied()).collect()
    }

    /// The pool files that the test finds now, in that order.
    pub(super) fn find_pools(&self) -> Result<Vec<PathBuf>, SlotError> {
        let find =
            |(pool_idx, pool): (usize, &'static str)| find_compiled_pool_file(pool, self.were_there.get(pool_idx).copied());
        self.pools().into_iter().enumerate().map(find).collect()
    }

    pub(super) fn asked_ttl_minutes(&self) -> Option<f64> {
        self.ttl_minutes
    }

    pub(super) fn asked_wait(&self) -> Wait {
        self.wait
    }

    pub(super) fn asked_owner(&self) -> Option<&'static str> {
        self.owner
    }

    pub(super) fn asks_to_reset(&self) -> bool {
        self.resets
    }

    pub(super) fn passes_by_panicking(&self) -> bool {
        self.should_panic
    }
}

fn is_crate_and_colons(text: &str) -> bool {
    text.strip_suffix("::").is_some_and(|name| !name.contains("::"))
}

/// `case_1`, `case_02_named`.
fn is_case(segment: &str) -> bool {
    segment.strip_prefix("case_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The place that was put on the list last.
static LAST: AtomicPtr<Site> = AtomicPtr::new(ptr::null_mut());

fn of_list(place: *mut Site) -> Option<&'static Site> {
    // SAFETY: only `register` puts something on the list, and that is a shared reference that is valid for ever.
    unsafe { place.cast_const().as_ref() }
}

/// Every place in this binary, in the order in which they were put on the list.
pub(super) fn registered() -> Vec<&'static Site> {
    let mut sites = Vec::new();
    let mut next = of_list(LAST.load(Ordering::Acquire));
    while let Some(site) = next {
        sites.push(site);
        next = site.before();
    }
    sites.reverse();
    sites
}

/// Whether there is any.
pub(super) fn is_any_registered() -> bool {
    !LAST.load(Ordering::Acquire).is_null()
}

/// Those of the process form that matter to a process that runs the tests of these names only, or tests of any name. One of
/// several cases may matter to others, and then all do.
pub(super) fn process_forms(names: Option<&[String]>) -> Vec<&'static Site> {
    let mut sites = registered();
    if let Some(names) = names
        && sites.iter().all(|site| site.made_of.is_none())
    {
        sites.retain(|site| site.may_be_one_of(names));
    }
    sites.retain(|site| matches!(site.form, TestForm::Process));
    sites
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_libtests() {
        assert_eq!(Site::new("my_crate", "works", "p").test_name(), "works");
        assert_eq!(Site::new("my_crate::db::tests", "works", "p").test_name(), "db::tests::works");
    }

    #[test]
    fn a_place_is_called_by_its_name_and_no_other() {
        let places = [("my_crate", "works"), ("my_crate::db", "works"), ("my_crate::db::tests", "works"), ("my_crate::b", "s")];
        let more =
            ["", "::", "s", "b::s", "::s", "works::s", "my_crate::works", "::works", "b::works", "tests::works", "db::ests"];
        for place in places.map(|(module, function)| Site::new(module, function, "p")) {
            let others = places.map(|(module, function)| Site::new(module, function, "p").test_name());
            for name in others.into_iter().chain(more.map(str::to_owned)) {
                assert_eq!(place.is_called(&name), place.test_name() == name, "{name} at {place:?}");
                assert_eq!(place.may_be_one_of(std::slice::from_ref(&name)), place.is_called(&name));
            }
            assert!(place.makes_several_tests(false).may_be_one_of(&["other".to_owned()]));
        }
    }

    #[track_caller]
    fn check_case(module: &'static str, function: &'static str, word: &'static str, expected: Option<(&str, &str)>) {
        let case = Site::new(module, function, "p").made_of(word, 1, 2).case();
        assert_eq!(case.map(|case| (case.test, case.case)), expected.map(|(test, case)| (test.to_owned(), case.to_owned())));
    }

    #[test]
    fn cases_of_rstest() {
        check_case("my_crate::db::works", "case_1", "works", Some(("db::works", "case_1")));
        check_case("my_crate::works", "case_02_named", "works", Some(("works", "case_02_named")));
        check_case("my_crate::works::case_1", "value_1_a", "works", Some(("works", "case_1")));
        check_case("my_crate::works::case_1::works", "case_2", "works", Some(("works::case_1::works", "case_2")));
        check_case("my_crate::works", "value_1_a", "works", None);
        check_case("my_crate::works", "case_insensitive", "works", None);
        check_case("my_crate::other", "case_1", "works", None);
        check_case("works", "case_1", "works", None);
        assert!(Site::new("my_crate::works", "case_1", "p").case().is_none());
    }

    #[test]
    fn a_place_is_on_the_list_before_main() {
        static SITE: Site = Site::new(module_path!(), "registered_place", "no pool");
        ctor::declarative::ctor! {
            #[ctor(unsafe, priority = early)]
            fn register() {
                SITE.register();
            }
        }
        assert!(registered().into_iter().any(|site| ptr::eq(site, &SITE)));
    }
}
