//! The calls in an expansion: two forms, blocking or not, for tests that fail or that pass by panicking.

use super::lease::{Lease, or_panic, or_report};
use super::site::Site;
use super::{process_slot as process, test_slot as test};
use crate::harness::Slot;

/// Waits for the test's turn over the process's slot. Without a slot the test panics.
#[track_caller]
pub fn process_slot(site: &'static Site) -> Lease {
    or_panic(site, process::enter(site))
}

/// Like [`process_slot`]; but a test that would pass by panicking is given `None`, and stderr the reason.
#[track_caller]
pub fn process_slot_or_report(site: &'static Site) -> Option<Lease> {
    or_report(site, process::enter(site))
}

/// Like [`process_slot`], without blocking the thread.
pub async fn process_slot_async(site: &'static Site) -> Lease {
    or_panic(site, process::enter_async(site).await)
}

/// Like [`process_slot_or_report`], without blocking the thread.
pub async fn process_slot_or_report_async(site: &'static Site) -> Option<Lease> {
    or_report(site, process::enter_async(site).await)
}

/// Takes a slot for the test. Without one the test panics.
#[track_caller]
pub fn test_slot(site: Site) -> (Lease, Slot) {
    or_panic(&site, test::enter(&site))
}

/// Like [`test_slot`]; but a test that would pass by panicking is given `None`, and stderr the reason.
#[track_caller]
pub fn test_slot_or_report(site: Site) -> Option<(Lease, Slot)> {
    or_report(&site, test::enter(&site))
}

/// Like [`test_slot`], without blocking the thread.
pub async fn test_slot_async(site: Site) -> (Lease, Slot) {
    or_panic(&site, test::enter_async(&site).await)
}

/// Like [`test_slot_or_report`], without blocking the thread.
pub async fn test_slot_or_report_async(site: Site) -> Option<(Lease, Slot)> {
    or_report(&site, test::enter_async(&site).await)
}
