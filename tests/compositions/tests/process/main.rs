//! The process form, `fn t()`, in every company: each test sees the slot's environment and is alone over the slot.

#![forbid(unsafe_code)]

/// As with `other_name = { package = "lease-harness" }` in a manifest.
extern crate lease_harness as other_name;

mod fixtures;
mod helpers;
mod plain;
mod proptest;
mod renamed;
mod serial;
mod smol;
mod test_context;
mod test_log;
mod tokio;

use std::sync::atomic::AtomicBool;

use lease_compositions::Alone;

/// The slot's environment is in place and nobody else is over the slot, until dropped.
#[track_caller]
fn alone_in_the_slot() -> Alone {
    static INSIDE: AtomicBool = AtomicBool::new(false);
    let (slot, port) = (std::env::var("POOL_SLOT_ID").unwrap(), std::env::var("POOL_SLOT_SIDE_PORT").unwrap());
    assert!(matches!((&*slot, &*port), ("left", "1") | ("right", "2")), "{slot} {port}");
    assert_eq!(std::env::var("POOL_RUN_SLOT").unwrap(), slot);
    Alone::enter(&INSIDE)
}
