//! The test form: a slot of its own for each test, taken when it starts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, ThreadId};

use super::end::stop_when_lost;
use super::lease::Lease;
use super::paths;
use super::request::{Ask, explain, guarded};
use super::site::Site;
use super::turn::{Queue, Turn, WouldWaitForItself, queue_of};
use crate::harness::{Slot, SlotError, SlotRequest, background};

/// Takes a slot for the test.
pub(super) fn enter(site: &Site) -> Result<(Lease, Slot), String> {
    acquire(site, thread::current().id(), Queue::wait, |request| request)
}

/// Like [`enter`], without blocking the thread.
pub(super) async fn enter_async(site: &Site) -> Result<(Lease, Slot), String> {
    let (site, asking) = (site.clone(), thread::current().id());
    let wait_for_turn: WaitForTurn = |queue, asking| Ok(queue.wait_elsewhere(asking));
    let acquired = background::run(move |given_up: Arc<AtomicBool>| {
        acquire(&site, asking, wait_for_turn, |request| request.give_up_when(given_up))
    });
    acquired.await.map_err(|error| error.to_string())?
}

type WaitForTurn = fn(Arc<Queue>, ThreadId) -> Result<Turn, WouldWaitForItself>;

fn acquire(
    site: &Site,
    asking: ThreadId,
    wait_for_turn: WaitForTurn,
    also: impl FnOnce(SlotRequest) -> SlotRequest,
) -> Result<(Lease, Slot), String> {
    let slot = guarded(|| also(request(site)?).acquire()).map_err(|error| explain(&error))?;
    let loss = slot.loss_watch();
    stop_when_lost(&slot);
    let turn = slot.is_joined().then(|| take_turn(&slot, asking, wait_for_turn)).transpose()?;
    Ok((Lease::new(loss, turn), slot))
}

/// A slot that was joined is one for all tests of this process: they take turns, and each finds it clean.
fn take_turn(slot: &Slot, asking: ThreadId, wait_for_turn: WaitForTurn) -> Result<Turn, String> {
    let turn = wait_for_turn(queue_of(slot), asking).map_err(|error| error.to_string())?;
    if turn.was_used() {
        guarded(|| slot.reset()).map_err(|error| explain(&error))?;
    }
    Ok(turn)
}

fn request(site: &Site) -> Result<SlotRequest, SlotError> {
    let ask = Ask {
        pool_file: paths::find(site.pool())?,
        ttl_minutes: site.asked_ttl_minutes(),
        wait: site.asked_wait(),
        owner: site.asked_owner(),
    };
    Ok(ask.request())
}
