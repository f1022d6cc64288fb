//! Working in a slot that somebody else holds for us: an outer `cargo lease`, or a run that holds slots for its tests.

use super::ending::Ending;
use super::error::{SlotError, SlotErrorKind};
use super::grants::{self, BetweenTests, TurnFile};
use super::run_notes::AskEnd;
use super::slot::Slot;
use super::teller::Teller;
use super::turns::{self, Asked, Condition, Turn};
use crate::pool::{Pool, Wait};
use crate::store::{Env, Found};

/// The slot of an outer grant, if its lease is still what it was.
pub(super) fn join(pool: Pool, outer: &grants::OuterGrant) -> Result<Slot, SlotError> {
    let slot = pool.slot(Some(&outer.slot_id))?.clone();
    let found = pool.store().found(slot.kind())?;
    let live = match &found {
        Found::Lease(record) => {
            record.token() == Some(&outer.token) && !pool.store().is_dead(slot.kind(), record, pool.store().now_ms())
        }
        _ => false,
    };
    if slot.kind() != outer.kind || !live {
        let message = format!(
            "slot {} of pool {}, which an outer grant names (LEASE_GRANTS), is not held under that grant any more",
            slot.id_text(),
            pool.file().name()
        );
        return Err(SlotError::new(SlotErrorKind::Lost, message));
    }
    let fence = if let Found::Lease(record) = &found { record.fence() } else { None };
    Slot::joined(pool, slot, &outer.owner, &outer.token, fence)
}

/// How a turn is asked for.
pub(super) struct AskedTurn<'a> {
    pub(super) env: &'a Env,
    pub(super) wait: Wait,
    pub(super) ending: &'a Ending,
    /// Who is told of the wait.
    pub(super) teller: Teller<'a>,
}

/// One of the slots that an outer run holds, as soon as this process has the turn in it.
pub(super) fn join_in_turn(pool: Pool, beside: &TurnFile, asked: AskedTurn<'_>) -> Result<Slot, SlotError> {
    let AskedTurn { env, wait, ending, mut teller } = asked;
    let grants = grants::of_same_run(env, pool.store().dir(), pool.file().name(), beside);
    let taken = turns::take(&grants, env, wait, || {
        if wait != Wait::No {
            teller.tell_turn();
        }
        ending.is_asked()
    });
    teller.end_of_turn(&pool, if matches!(taken, Ok(Asked::Has(_))) { AskEnd::Joined } else { AskEnd::Refused });
    let turn = match taken? {
        Asked::Has(turn) => turn,
        Asked::GivenUp => return Err(given_up(ending, pool.file().name())),
    };
    // Looked at when the turn is had: whoever ends what works under a lost grant has found us by then, or will.
    let slot = join(pool, turn.grant)?.in_turn(beside);
    if turn.found == Condition::Used {
        make_clean(&slot, turn, beside, ending)?;
    }
    ending.signal().map_or(Ok(slot), |signal| Err(SlotError::interrupted(signal)))
}

/// Nobody has seen how the test before has ended, so what it has started may still be at work.
fn make_clean(slot: &Slot, turn: Turn<'_>, beside: &TurnFile, ending: &Ending) -> Result<(), SlotError> {
    let ended = slot.end_processes_of_turns(beside.run_id());
    let cleaned = ended.and_then(|()| if beside.between == BetweenTests::Reset { slot.reset() } else { Ok(()) });
    let Err(error) = cleaned else { return Ok(()) };
    if ending.is_asked() {
        // It was cut off, so the next one tries again.
        return Err(given_up(ending, slot.pool()));
    }
    turn.end_unfit();
    Err(error.about(&format!("slot {} is used no further in this run", slot.id())))
}

fn given_up(ending: &Ending, pool: &str) -> SlotError {
    let message = format!("the wait for a slot of pool {pool} was ended");
    ending.signal().map_or_else(|| SlotError::new(SlotErrorKind::Refused, message), SlotError::interrupted)
}

/// A run of nextest that is to have a slot for all of its tests, although it holds some for each of them already.
pub(super) fn run_inside_run() -> SlotError {
    let message = "this run holds slots already, of which each test has one (`cargo lease --hold run`): leave the setup script \
                   out there";
    SlotError::new(SlotErrorKind::Usage, message)
}
