//! The calls in an expansion: two forms, blocking or not, for tests that fail or that pass by panicking.

use super::lease::{self, Lease, without_a_slot};
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
pub fn test_slot(site: &'static Site) -> (Lease, Slot) {
    only(or_panic(site, test::enter(site)))
}

/// Like [`test_slot`]; but a test that would pass by panicking is given `None`, and stderr the reason.
#[track_caller]
pub fn test_slot_or_report(site: &'static Site) -> Option<(Lease, Slot)> {
    or_report(site, test::enter(site)).map(only)
}

/// Like [`test_slot`], without blocking the thread.
pub async fn test_slot_async(site: &'static Site) -> (Lease, Slot) {
    only(or_panic(site, test::enter_async(site).await))
}

/// Like [`test_slot_or_report`], without blocking the thread.
pub async fn test_slot_or_report_async(site: &'static Site) -> Option<(Lease, Slot)> {
    or_report(site, test::enter_async(site).await).map(only)
}

/// Like [`test_slot`] for several pools, the slots in the order in which those were written.
#[track_caller]
pub fn test_slots<const N: usize>(site: &'static Site) -> (Lease, [Slot; N]) {
    each(or_panic(site, test::enter(site)))
}

/// Like [`test_slot_or_report`] for several pools.
#[track_caller]
pub fn test_slots_or_report<const N: usize>(site: &'static Site) -> Option<(Lease, [Slot; N])> {
    or_report(site, test::enter(site)).map(each)
}

/// Like [`test_slots`], without blocking the thread.
pub async fn test_slots_async<const N: usize>(site: &'static Site) -> (Lease, [Slot; N]) {
    each(or_panic(site, test::enter_async(site).await))
}

/// Like [`test_slots_or_report`], without blocking the thread.
pub async fn test_slots_or_report_async<const N: usize>(site: &'static Site) -> Option<(Lease, [Slot; N])> {
    or_report(site, test::enter_async(site).await).map(each)
}

#[track_caller]
fn or_panic<T>(site: &Site, acquired: Result<T, String>) -> T {
    lease::or_panic(|reason| without_a_slot(site, reason), acquired)
}

#[track_caller]
fn or_report<T>(site: &Site, acquired: Result<T, String>) -> Option<T> {
    lease::or_report(site.passes_by_panicking(), |reason| without_a_slot(site, reason), acquired)
}

fn each<const N: usize>((lease, slots): (Lease, Vec<Slot>)) -> (Lease, [Slot; N]) {
    (lease, slots.try_into().expect("the attribute has a parameter for each pool"))
}

fn only(entered: (Lease, Vec<Slot>)) -> (Lease, Slot) {
    let (lease, [slot]) = each(entered);
    (lease, slot)
}
