//! The places where the attribute stands.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::paths;
use super::selection::Candidate;
use crate::harness::{LeasedTest, NamedPool, TestForm, Wait};

/// One use of the attribute: which test, which pool, which options.
#[derive(Clone, Debug)]
pub struct Site {
    module: &'static str,
    function: &'static str,
    pool: &'static str,
    /// The test takes a slot of each of these as well.
    other_pools: &'static [&'static str],
    ttl_minutes: Option<f64>,
    wait: Wait,
    owner: Option<&'static str>,
    ignored: bool,
    should_panic: bool,
    several: bool,
    form: TestForm,
}

impl Site {
    /// The test `function` in `module` (as `module_path!` has it), on the pool of this file.
    pub const fn new(module: &'static str, function: &'static str, pool: &'static str) -> Self {
        Self {
            module,
            function,
            pool,
            other_pools: &[],
            ttl_minutes: None,
            wait: Wait::Forever,
            owner: None,
            ignored: false,
            should_panic: false,
            several: false,
            form: TestForm::Process,
        }
    }

    /// Further pools, of each of which the test takes a slot.
    pub const fn and_pools(self, others: &'static [&'static str]) -> Self {
        Self { other_pools: others, ..self }
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

    /// Whether the test is `#[ignore]`d.
    pub const fn ignored(self, ignored: bool) -> Self {
        Self { ignored, ..self }
    }

    /// Whether the test passes by panicking.
    pub const fn should_panic(self, should_panic: bool) -> Self {
        Self { should_panic, ..self }
    }

    /// A generator makes tests called `function::something` of it.
    pub const fn makes_several_tests(self) -> Self {
        Self { several: true, ..self }
    }

    /// The test takes its slots by itself.
    pub const fn takes_its_slots(self) -> Self {
        Self { form: TestForm::Test, ..self }
    }

    /// Puts the place on the list that the constructor reads. Each place does so in a constructor of its own, earlier than
    /// ours: unlike entries of a linker section, constructors survive every linker's garbage collection.
    pub fn register(&'static self) {
        SITES.lock().unwrap_or_else(PoisonError::into_inner).push(self);
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

    pub(super) fn form(&self) -> TestForm {
        self.form
    }

    /// What a listing is told.
    pub(super) fn to_leased_test(&self) -> LeasedTest {
        let pool = |written: &str| NamedPool { written: written.to_owned(), found: paths::found(written), store: None };
        LeasedTest {
            name: self.test_name(),
            makes_several: self.several,
            is_ignored: self.ignored,
            form: self.form,
            pools: self.pools().into_iter().map(pool).collect(),
        }
    }

    /// The pool files, in the order in which they were written.
    pub(super) fn pools(&self) -> Vec<&'static str> {
        std::iter::once(self.pool).chain(self.other_pools.iter().copied()).collect()
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

    pub(super) fn passes_by_panicking(&self) -> bool {
        self.should_panic
    }
}

static SITES: Mutex<Vec<&'static Site>> = Mutex::new(Vec::new());

/// Every place in this binary.
pub(super) fn registered() -> Vec<&'static Site> {
    SITES.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
    fn a_place_is_on_the_list_before_main() {
        static SITE: Site = Site::new(module_path!(), "registered_place", "no pool");
        ctor::declarative::ctor! {
            #[ctor(unsafe, priority = early)]
            fn register() {
                SITE.register();
            }
        }
        assert!(registered().into_iter().any(|site| std::ptr::eq(site, &SITE)));
    }
}
