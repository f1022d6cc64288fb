//! Waiting for one's turn: looks that are free of locks, a heartbeat when it ages, and sleep in between.

use std::time::{Duration, Instant};

use super::acquire::{OnLook, Outcome, Request, SlotWanted, Standing, Wait};
use super::error::PoolResult;
use super::prepare::HeldSlot;
use super::queue::{Entry, NewEntry, Queue};
use super::standoff::Outlook;
use super::{Pool, eta};
use crate::json::number_from_text;
use crate::store::{self, Env};
use crate::sys::watch::{Pauses, Watch};

/// So many times as far from its turn as there are slots, a waiter hears of changes; one that is farther away only looks
/// now and then.
const HEARING: usize = 4;

impl Pool {
    pub(super) fn wait_in_queue(&self, request: &Request<'_>, on_look: &mut OnLook<'_>) -> PoolResult<Outcome> {
        let watch = self.watch();
        let begun = Instant::now();
        let SlotWanted { owner, session, holding, .. } = *request.wanted;
        self.enqueue_as(&NewEntry { id: &request.id, owner, session, mode: request.mode, holds: holding.kinds })?;
        self.wait_to_the_end(request, on_look, &watch, begun)
    }

    /// Hears of what can be news to a waiter.
    pub(super) fn watch(&self) -> Watch {
        Watch::new(&[self.store.dir(), &self.dir(), &store::alive_folder(self.store.dir())], self.names_without_news())
    }

    /// Waits with a place in the queue, and leaves it unless it was granted.
    pub(super) fn wait_to_the_end(
        &self,
        request: &Request<'_>,
        on_look: &mut OnLook<'_>,
        watch: &Watch,
        begun: Instant,
    ) -> PoolResult<Outcome> {
        let ended = self.wait_for_turn(request, on_look, watch, begun);
        if !matches!(ended, Ok(Outcome::Granted(_) | Outcome::EntryLost { .. })) {
            // Also on an error: whoever gave up must not be granted later, and must not hold up those behind.
            let left = self.dequeue(&request.id, request.wanted.owner);
            if ended.is_ok() {
                left?;
            }
        }
        ended
    }

    fn wait_for_turn(
        &self,
        request: &Request<'_>,
        on_look: &mut OnLook<'_>,
        watch: &Watch,
        begun: Instant,
    ) -> PoolResult<Outcome> {
        let poll = request.wanted.poll.or_else(|| poll_from(&self.env));
        let mut pauses = Pauses::new(watch, poll);
        // Who is to wait at all is told once where it stands, however long joining the queue took.
        let mut is_told = request.wanted.wait == Wait::For(Duration::ZERO);
        let mut outlook = Outlook::of(request);
        loop {
            let (place, entry, distance) = match self.look(request)? {
                Look::Granted(held) => return Ok(Outcome::Granted(held)),
                Look::Waits { place, entry, distance } => (place, entry, distance),
                Look::Lost => {
                    return Ok(Outcome::EntryLost { request_id: request.id.clone(), waiter_stale_ms: self.waiter_stale_ms() });
                }
            };
            let avg_ms = self.moving_avg_ms()?;
            let standing = Standing { position: place + 1, eta_ms: eta::wait_ms(place + 1, avg_ms), avg_ms };
            let left = time_left(request.wanted.wait, begun);
            if left == Some(Duration::ZERO) && is_told {
                return Ok(timed_out(request, &standing));
            }
            is_told = true;
            if !on_look(&standing) {
                return Ok(Outcome::Cancelled { request_id: request.id.clone() });
            }
            if outlook.is_hopeless(self)? {
                return Ok(Outcome::Standoff { request_id: request.id.clone() });
            }
            self.say_that_we_wait(request, &entry)?;
            match distance {
                Distance::Near => pauses.sleep(watch, left),
                Distance::Far => pauses.sleep_through(left),
            }
        }
    }

    /// One look of a waiter: takes a slot if it is its turn. Only those whose turn it may be look at everything; in a crowd
    /// the looks of the others would leave no time for the work.
    fn look(&self, request: &Request<'_>) -> PoolResult<Look> {
        let n_slots = self.file.slots().len();
        let queue = self.read_queue()?;
        let Some(place) = queue.place_of(&request.id) else { return Ok(Look::Lost) };
        let distance = self.distance(&queue.entries[..place], n_slots * HEARING);
        if n_slots <= distance && self.is_waiting(&queue.entries[place], self.store.now_ms()) {
            return Ok(Look::waits(queue, place, if distance < n_slots * HEARING { Distance::Near } else { Distance::Far }));
        }
        self.sweep(request.wanted.owner)?;
        let queue = Queue { entries: self.waiting(self.store.now_ms())?, damaged: false };
        let Some(place) = queue.place_of(&request.id) else { return Ok(Look::Lost) };
        let held = self.try_take(request, &queue.entries[..place])?;
        Ok(held.map_or_else(|| Look::waits(queue, place, Distance::Near), |held| Look::Granted(Box::new(held))))
    }

    /// How many of these entries wait, counted no further than `limit`.
    fn distance(&self, ahead: &[Entry], limit: usize) -> usize {
        let now = self.store.now_ms();
        ahead.iter().filter(|entry| self.is_waiting(entry, now)).take(limit).count()
    }

    /// Refreshes our entry's heartbeat when it has aged; a look alone writes nothing.
    fn say_that_we_wait(&self, request: &Request<'_>, entry: &Entry) -> PoolResult<()> {
        if let Some(proof) = self.store.proof_of_life()? {
            proof.beat();
        }
        if !self.is_waiting(entry, self.store.now_ms()) {
            // Too late; the next look finds that the entry is gone.
            return Ok(());
        }
        let age = entry.heartbeat_ms().map_or(f64::INFINITY, |heartbeat| store::to_f64(self.store.now_ms()) - heartbeat);
        if age > self.waiter_stale_ms() / 3.0 {
            self.heartbeat_entry(&request.id, request.wanted.owner)?;
        }
        Ok(())
    }
}

/// What a waiter's look came to.
enum Look {
    Granted(Box<HeldSlot>),
    /// Our entry is not in the queue any more.
    Lost,
    /// Not our turn.
    Waits {
        place: usize,
        entry: Entry,
        distance: Distance,
    },
}

impl Look {
    fn waits(mut queue: Queue, place: usize, distance: Distance) -> Self {
        Self::Waits { place, entry: queue.entries.swap_remove(place), distance }
    }
}

/// How far a waiter is from its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distance {
    Near,
    Far,
}

/// What is left of the time to wait; `None` is for ever.
fn time_left(wait: Wait, begun: Instant) -> Option<Duration> {
    match wait {
        Wait::Forever => None,
        Wait::For(limit) => Some(limit.saturating_sub(begun.elapsed())),
        Wait::No => Some(Duration::ZERO),
    }
}

fn timed_out(request: &Request<'_>, standing: &Standing) -> Outcome {
    let Wait::For(limit) = request.wanted.wait else { unreachable!("only a bounded wait ends by its time") };
    let waited_ms = store::millis(limit);
    Outcome::TimedOut { request_id: request.id.clone(), position: standing.position, eta_ms: standing.eta_ms, waited_ms }
}

/// The longest pause between looks, as other implementations let it be set.
fn poll_from(env: &Env) -> Option<Duration> {
    let text = env.get("POOL_POLL_MS").or_else(|| env.get("E2E_LEASE_POLL_MS"))?;
    let millis = number_from_text(&text).filter(|millis| 0.0 <= *millis)?;
    Duration::try_from_secs_f64(millis / 1e3).ok()
}
