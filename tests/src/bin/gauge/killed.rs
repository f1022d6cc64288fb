//! A holder that is killed, and the one who waits for its slot. N is the number of rounds.

use std::path::Path;

use lease_harness::pool::SlotWanted;

use crate::children::{Helper, hear, say};
use crate::figures::{Sample, now_ns};
use crate::place::{self, OWNER};
use crate::spec::Spec;

/// Prints how long after the kill the next one had the slot.
pub(crate) fn measure(folder: &Path, n_rounds: u64, spec: &Spec<'_>) {
    let times = (0..n_rounds).map(|_| round(folder)).collect();
    Sample::new(times).print(spec.text());
}

fn round(folder: &Path) -> u64 {
    let mut holder = Helper::start(folder, "holder");
    assert_eq!(holder.line(), "held");
    let mut waiter = Helper::start(folder, "waiter");
    assert_eq!(waiter.line(), "waiting");
    let killed = now_ns();
    holder.kill();
    let granted: u64 = waiter.line().parse().expect("a moment");
    assert!(waiter.lines().is_empty(), "it has no more to say");
    granted - killed
}

/// A holder, until nobody listens to it.
pub(crate) fn hold(folder: &Path) {
    let pool = place::pool(folder, 1);
    let held = place::take(&pool, &SlotWanted::by(OWNER));
    say("held");
    assert_eq!(hear(), None);
    place::give_back(&pool, held);
}

/// A waiter, which tells when it has been granted the slot.
pub(crate) fn wait(folder: &Path) {
    let pool = place::pool(folder, 1);
    let mut is_told = false;
    let outcome = pool.acquire(&SlotWanted::by(OWNER), &mut |_| {
        if !std::mem::replace(&mut is_told, true) {
            say("waiting");
        }
        true
    });
    let granted = now_ns();
    say(&granted.to_string());
    let lease_harness::pool::Outcome::Granted(held) = outcome.expect("the store is usable") else { panic!("it waits for ever") };
    place::give_back(&pool, held);
}
