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
        let waiting = Waiting { pool: self.pool.clone(), position: standing.position, eta };
        if let Some(listener) = &mut self.listener {
            listener(&waiting);
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
