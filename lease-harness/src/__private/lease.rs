//! A test under a lease, and a test that could not get one.

use super::end::{lost, never_green, say};
use super::site::Site;
use super::turn::Turn;
use crate::harness::LossWatch;

/// What a test has while its body runs; dropped after the body's last value, also when it panics.
#[derive(Debug)]
pub struct Lease {
    losses: Vec<LossWatch>,
    turns: Vec<Turn>,
}

impl Lease {
    pub(super) fn new(losses: Vec<LossWatch>, turns: Vec<Turn>) -> Self {
        Self { losses, turns }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(reason) = self.losses.iter().find_map(LossWatch::reason) {
            lost(reason);
        }
        self.turns.clear();
    }
}

pub(super) fn without_a_slot(site: &Site, reason: &str) -> String {
    let slot = match site.pools().as_slice() {
        [pool] => format!("slot of pool `{pool}`"),
        pools => format!("slots of the pools `{}`", pools.join("`, `")),
    };
    format!("no {slot} for the test `{}`: {reason}", site.test_name())
}

/// Fails the test if it has no lease.
#[track_caller]
pub(super) fn or_panic<T>(without: impl FnOnce(&str) -> String, acquired: Result<T, String>) -> T {
    match acquired {
        Ok(acquired) => acquired,
        Err(reason) => panic!("{}", without(&reason)),
    }
}

/// Fails the test if it has no lease, also one that passes by panicking: that one must return.
#[track_caller]
pub(super) fn or_report<T>(
    passes_by_panicking: bool,
    without: impl FnOnce(&str) -> String,
    acquired: Result<T, String>,
) -> Option<T> {
    if !passes_by_panicking {
        return Some(or_panic(without, acquired));
    }
    match acquired {
        Ok(acquired) => Some(acquired),
        Err(reason) => {
            say(&without(&reason));
            // If only some tests of a generator are expected to panic, returning makes the others pass.
            never_green();
            None
        }
    }
}
