//! Telling a listing of nextest's which tests take slots, if the `cargo lease nextest run` above it asks.

use std::panic;

use super::args::process_args;
use super::site::Site;
use crate::harness::{LeasedTest, RunNotes};

/// Tells the places of the attribute. Writes nothing to stdout, and never panics.
pub(super) fn tell_sites(sites: impl FnOnce() -> Vec<&'static Site>) {
    tell(|| sites().iter().map(|site| site.to_leased_test()).collect());
}

/// Tells what there is to tell, if somebody asks.
pub(crate) fn tell(tests: impl FnOnce() -> Vec<LeasedTest>) {
    if let Some((notes, binary_id)) = asker() {
        let _ = panic::catch_unwind(panic::AssertUnwindSafe(|| match &tests()[..] {
            [] => {}
            tests => notes.tell_tests(&binary_id, tests),
        }));
    }
}

/// Whether somebody asks.
#[cfg(feature = "mimic")]
pub(crate) fn is_asked() -> bool {
    asker().is_some()
}

/// Who asks, and nextest's id of this binary. Nextest lists a binary twice, the second time only what is ignored.
fn asker() -> Option<(RunNotes, String)> {
    let notes = RunNotes::of_tests()?;
    let is_listing = std::env::var_os("NEXTEST_TEST_PHASE")? == "list";
    let lists_all = process_args().is_some_and(|args| args.iter().all(|word| word != "--ignored"));
    (is_listing && lists_all).then_some((notes, std::env::var("NEXTEST_BINARY_ID").ok()?))
}
