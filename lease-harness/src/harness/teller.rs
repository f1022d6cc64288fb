//! Who is told where a waiter stands.

use std::time::Duration;

use super::request::{Listener, Waiting};
use super::run_notes::{AskEnd, SlotNotes};
use crate::pool::{Outcome, Pool, Standing};
use crate::store::Env;

/// Tells a listener of each change of place, and not of each look; and the run around us, if it asks, how it ended.
pub(super) struct Teller<'a> {
    pool: String,
    listener: Option<&'a mut Listener>,
    last: Option<usize>,
    notes: Option<SlotNotes>,
}

/// Tells the run around us, if it asks, that an outer grant is joined.
pub(super) fn tell_joined(pool: &Pool, env: &Env) {
    if let Some(notes) = SlotNotes::begin(pool, env) {
        notes.end(AskEnd::Joined, pool.store().now_ms());
    }
}

impl<'a> Teller<'a> {
    pub(super) fn new(pool: &Pool, env: &Env, listener: Option<&'a mut Listener>) -> Self {
        Self { pool: pool.file().name().to_owned(), listener, last: None, notes: SlotNotes::begin(pool, env) }
    }

    pub(super) fn tell(&mut self, standing: &Standing) {
        if self.last.replace(standing.position) == Some(standing.position) {
            return;
        }
        if let Some(notes) = &mut self.notes {
            notes.waits_at(standing.position);
        }
        let eta = Duration::try_from_secs_f64(standing.eta_ms / 1000.0).unwrap_or(Duration::MAX);
        self.call(standing.position, eta, false);
    }

    /// Tells, once, that it waits for a slot of its run.
    pub(super) fn tell_turn(&mut self) {
        const ONLY: usize = 1;
        if self.last.replace(ONLY) == Some(ONLY) {
            return;
        }
        if let Some(notes) = &mut self.notes {
            notes.waits_for_turn();
        }
        self.call(ONLY, Duration::ZERO, true);
    }

    fn call(&mut self, position: usize, eta: Duration, is_for_turn: bool) {
        if let Some(listener) = &mut self.listener {
            listener(&Waiting { pool: self.pool.clone(), position, eta, is_for_turn });
        }
    }

    /// The wait for a slot of its run is over.
    pub(super) fn end_of_turn(self, pool: &Pool, end: AskEnd) {
        if let Some(notes) = self.notes {
            notes.end(end, pool.store().now_ms());
        }
    }

    pub(super) fn end<E>(self, pool: &Pool, outcome: &Result<Outcome, E>) {
        let Some(notes) = self.notes else { return };
        match outcome {
            Ok(Outcome::Granted(held)) => notes.end(AskEnd::Granted, held.taken_at_ms()),
            _ => notes.end(AskEnd::Refused, pool.store().now_ms()),
        }
    }
}
