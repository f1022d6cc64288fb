//! A turn in one of the slots that a run holds: one test process at a time in each.
//!
//! Whoever runs tests hands the slots out by small numbers, but a configuration of its own can make it give one number to
//! two processes. So what counts is a lock on a file of the slot's, which belongs to a process as long as it lives, also
//! when it becomes another program.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::error::{SlotError, SlotErrorKind};
use super::grants::OuterGrant;
use super::times::as_written;
use crate::pool::Wait;
use crate::store::{self, Env};
use crate::sys::lock::LifeLock;
use crate::sys::watch::{Pauses, Watch};

/// What a slot's file says: nothing before the first turn.
const USED: &str = "used";
/// It could not be made clean again, so nobody gets a turn any more.
const UNFIT: &str = "unfit";

/// Which test group a test is in, and the numbers that nextest gives it: unique among the tests that run, in its group and
/// altogether.
const GROUP: &str = "NEXTEST_TEST_GROUP";
const GROUP_SLOT: &str = "NEXTEST_TEST_GROUP_SLOT";
const GLOBAL_SLOT: &str = "NEXTEST_TEST_GLOBAL_SLOT";
/// How the names of our groups begin.
const OUR_GROUPS: &str = "@tool:lease:";

/// The turns of this process; a process that has one keeps it, so that it never asks for a second. A fork has them by its
/// parent, as a program that a test starts does.
static MINE: Mutex<Vec<(PathBuf, LifeLock)>> = Mutex::new(Vec::new());

/// A turn, and how the slot was found.
pub(super) struct Turn<'a> {
    pub(super) grant: &'a OuterGrant,
    pub(super) found: Condition,
    path: PathBuf,
}

/// How a slot is at the beginning of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// As it was granted to the run, or as another part of this process leaves it.
    AsItIs,
    /// As another process has left it.
    Used,
}

/// How asking for a turn ended.
pub(super) enum Asked<'a> {
    Has(Turn<'a>),
    GivenUp,
}

/// Waits for a turn in one of the slots that the grants, all of them with turns, are about.
pub(super) fn take<'a>(
    grants: &'a [OuterGrant],
    env: &Env,
    wait: Wait,
    mut is_given_up: impl FnMut() -> bool,
) -> Result<Asked<'a>, SlotError> {
    let begun = Instant::now();
    let mut waiting = None;
    loop {
        if let Some(turn) = try_take(grants, env)? {
            return Ok(Asked::Has(turn));
        }
        if is_given_up() {
            return Ok(Asked::GivenUp);
        }
        let left = time_left(wait, begun);
        if left == Some(Duration::ZERO) {
            return Err(all_in_use(grants.len(), wait));
        }
        let (watch, pauses) = waiting.get_or_insert_with(|| {
            let folders: Vec<_> = grants.iter().filter_map(|grant| grant.turn.as_ref()?.path.parent()).take(1).collect();
            let watch = Watch::new(&folders, Vec::new());
            let pauses = Pauses::new(&watch, None);
            (watch, pauses)
        });
        pauses.sleep(watch, left);
    }
}

fn time_left(wait: Wait, begun: Instant) -> Option<Duration> {
    match wait {
        Wait::Forever => None,
        Wait::No => Some(Duration::ZERO),
        Wait::For(limit) => Some(limit.saturating_sub(begun.elapsed())),
    }
}

fn all_in_use(n_slots: usize, wait: Wait) -> SlotError {
    let within = match wait {
        Wait::For(limit) if !limit.is_zero() => format!(" for {}", as_written(store::millis(limit))),
        _ => String::new(),
    };
    let message = format!("all slots that this run holds ({n_slots}) are in use by other tests of it{within}");
    SlotError::new(SlotErrorKind::Refused, message)
}

fn try_take<'a>(grants: &'a [OuterGrant], env: &Env) -> Result<Option<Turn<'a>>, SlotError> {
    let first = hint(|name| env.get(name), grants.len());
    let mut n_unfit = 0;
    for grant in grants[first..].iter().chain(&grants[..first]) {
        match try_one(grant)? {
            Tried::Has(turn) => return Ok(Some(turn)),
            Tried::InUse => {}
            Tried::Unfit => n_unfit += 1,
        }
    }
    if n_unfit == grants.len() {
        let message = "no slot that this run holds could be made clean again; the test that found that out says why";
        return Err(SlotError::new(SlotErrorKind::Refused, message));
    }
    Ok(None)
}

enum Tried<'a> {
    Has(Turn<'a>),
    InUse,
    Unfit,
}

fn try_one(grant: &OuterGrant) -> Result<Tried<'_>, SlotError> {
    let path = &grant.turn.as_ref().expect("only grants with turns are asked for").path;
    let mut mine = MINE.lock().unwrap_or_else(PoisonError::into_inner);
    let turn = |found| Turn { grant, found, path: path.clone() };
    if mine.iter().any(|(known, _)| known == path) {
        return Ok(Tried::Has(turn(Condition::AsItIs)));
    }
    let Some(lock) = LifeLock::take(path).map_err(|error| unusable(path, &error))? else { return Ok(Tried::InUse) };
    let found = match lock.text().map_err(|error| unusable(path, &error))?.as_str() {
        UNFIT => return Ok(Tried::Unfit),
        USED => Condition::Used,
        _ => Condition::AsItIs,
    };
    lock.set_text(USED).map_err(|error| unusable(path, &error))?;
    mine.push((path.clone(), lock));
    Ok(Tried::Has(turn(found)))
}

fn unusable(path: &std::path::Path, error: &io::Error) -> SlotError {
    if error.kind() == io::ErrorKind::NotFound {
        let message = "the run that held slots for this test (LEASE_GRANTS) is over".to_owned();
        return SlotError::new(SlotErrorKind::Lost, message);
    }
    SlotError::new(SlotErrorKind::Internal, format!("cannot use {}: {error}", path.display()))
}

impl Turn<'_> {
    /// Ends the turn of a slot that could not be made clean; it is the last one in it.
    pub(super) fn end_unfit(self) {
        let mut mine = MINE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(idx) = mine.iter().position(|(known, _)| *known == self.path) {
            let (_, lock) = mine.swap_remove(idx);
            // If it cannot be said, the next one tries to make it clean, and finds out.
            let _ = lock.set_text(UNFIT);
        }
    }
}

/// Lets the program that this process becomes next keep the turns.
pub(super) fn outlive_this_program() -> io::Result<()> {
    let mine = MINE.lock().unwrap_or_else(PoisonError::into_inner);
    if mine.is_empty() {
        return Ok(());
    }
    // Before Linux 5.11 such a lock was lost if another thread was there when the program changed.
    store::quiesce();
    mine.iter().try_for_each(|(_, lock)| lock.outlive_this_program())
}

/// Where to begin: the place that nobody else has, if the runner's numbers are about these slots.
fn hint(env: impl Fn(&str) -> Option<String>, n_slots: usize) -> usize {
    let is_ours = env(GROUP).is_some_and(|group| group.starts_with(OUR_GROUPS));
    let number = env(if is_ours { GROUP_SLOT } else { GLOBAL_SLOT });
    let number: usize = number.and_then(|number| number.parse().ok()).unwrap_or_default();
    number % n_slots.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_in_our_group_is_where_one_begins() {
        let table: [(&[(&str, &str)], usize); 6] = [
            (&[(GROUP, "@tool:lease:db"), (GROUP_SLOT, "2"), (GLOBAL_SLOT, "1")], 2),
            (&[(GROUP, "mine"), (GROUP_SLOT, "2"), (GLOBAL_SLOT, "1")], 1),
            (&[(GROUP, "@global"), (GROUP_SLOT, "none"), (GLOBAL_SLOT, "4")], 1),
            (&[(GROUP, "@tool:lease:db"), (GROUP_SLOT, "none")], 0),
            (&[(GLOBAL_SLOT, "-1")], 0),
            (&[], 0),
        ];
        for (variables, expected) in table {
            let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(hint(env, 3), expected, "{variables:?}");
        }
    }
}
