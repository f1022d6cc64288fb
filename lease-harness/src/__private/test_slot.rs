//! The test form: slots of its own for each test, taken when it starts.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use super::end::stop_when_lost;
use super::lease::Lease;
use super::request::{Ask, explain, guarded};
use super::site::Site;
use super::turn::{self, Queue, Turn, WouldWaitForItself, queue_of};
#[cfg(feature = "mimic")]
use crate::harness::SlotRequest;
use crate::harness::{Slot, SlotError, background};

/// Takes a slot of each pool for the test.
pub(super) fn enter(site: &Site) -> Result<(Lease, Vec<Slot>), String> {
    acquire(thread::current().id(), Queue::wait, || Ask::of(site)?.acquire(None))
}

/// Takes the slot that is asked for, for what runs on this thread.
#[cfg(feature = "mimic")]
pub(crate) fn enter_with(request: impl FnOnce() -> Result<SlotRequest, SlotError>) -> Result<(Lease, Slot), String> {
    let (lease, mut slots) = acquire(thread::current().id(), Queue::wait, || Ok(vec![request()?.acquire()?]))?;
    Ok((lease, slots.pop().expect("one was taken")))
}

/// Like [`enter`], without blocking the thread.
pub(super) async fn enter_async(site: &'static Site) -> Result<(Lease, Vec<Slot>), String> {
    let asking = thread::current().id();
    let wait_for_turn: WaitForTurn = |queue, asking| Ok(queue.wait_elsewhere(asking));
    let acquired = background::run(move |given_up| acquire(asking, wait_for_turn, || Ask::of(site)?.acquire(Some(&given_up))));
    acquired.await.map_err(|error| error.to_string())?
}

type WaitForTurn = fn(Arc<Queue>, ThreadId) -> Result<Turn, WouldWaitForItself>;

fn acquire(
    asking: ThreadId,
    wait_for_turn: WaitForTurn,
    take: impl FnOnce() -> Result<Vec<Slot>, SlotError>,
) -> Result<(Lease, Vec<Slot>), String> {
    let slots = guarded(take).map_err(|error| explain(&error))?;
    slots.iter().for_each(stop_when_lost);
    let joined = turn::in_order(slots.iter().filter(|slot| slot.is_joined()).collect());
    // Who has a turn waits for no pool any more, and turns have one order, so nobody waits for somebody who waits for him.
    let turns = joined.into_iter().map(|slot| take_turn(slot, asking, wait_for_turn)).collect::<Result<_, _>>()?;
    let losses = slots.iter().map(Slot::loss_watch).collect();
    Ok((Lease::new(losses, turns), slots))
}

/// A slot that was joined is one for all tests of this process: they take turns, and each finds it clean.
fn take_turn(slot: &Slot, asking: ThreadId, wait_for_turn: WaitForTurn) -> Result<Turn, String> {
    let turn = wait_for_turn(queue_of(slot), asking).map_err(|error| error.to_string())?;
    if turn.was_used() {
        guarded(|| slot.reset()).map_err(|error| explain(&error))?;
    }
    Ok(turn)
}
