//! The test form, `fn t(slot: Slot)`, in every company: each test has a slot of its own that nobody else has, and the
//! environment of the process is left alone.

#![forbid(unsafe_code)]

/// As with `other_name = { package = "lease-harness" }` in a manifest.
extern crate lease_harness as other_name;

mod access;
mod fixtures;
mod guard;
mod others;
mod plain;
mod proptest;
mod smol;
mod spelled;
mod tokio;

use std::sync::atomic::AtomicBool;

use lease_compositions::Alone;
use lease_harness::Slot;

/// Nobody else in this process has this slot, until dropped.
#[track_caller]
fn alone_in(slot: &Slot) -> Alone {
    static LEFT: AtomicBool = AtomicBool::new(false);
    static RIGHT: AtomicBool = AtomicBool::new(false);
    let token = std::env::var("POOL_RUN_TOKEN").ok();
    assert_eq!(slot.is_joined(), token.as_deref() == Some(slot.token()), "the process environment is not for this slot");
    assert_eq!(slot.env("POOL_SLOT_ID"), Some(slot.id()));
    match (slot.id(), slot.get::<u16>("side.port").unwrap()) {
        ("left", 1) => Alone::enter(&LEFT),
        ("right", 2) => Alone::enter(&RIGHT),
        other => panic!("{other:?}"),
    }
}
