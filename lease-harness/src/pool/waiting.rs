//! Waiting for one's turn: looks that are free of locks, a heartbeat when it ages, and sleep in between.
//!
//! Only the first in line hears of changes in the store. The others sleep beside a bell, which whoever changes the queue
//! rings for who has become the first; and they look now and then, in case nobody rang.

use std::time::{Duration, Instant};

use super::acquire::{OnLook, Outcome, Request, SlotWanted, Standing, Wait};
use super::ears::Ears;
use super::error::PoolResult;
use super::prepare::HeldSlot;
use super::queue::{Entry, Joined, NewEntry, QUEUE};
use super::standoff::Outlook;
use super::{Pool, eta};
use crate::store;
use crate::sys::clock;
use crate::sys::disk::{self, Stamp};

/// So many in front look at everything, in case the first of them does not: it may be suspended.
const NEAR: usize = 4;
/// Who has just joined knows that others have looked.
const FIRST_READ: Duration = Duration::from_millis(900);
/// Who stands farther behind reads the queue this long after the last time, for each place, if it has changed: many who read a
/// long queue at every change would leave no time for the work.
const READ_EVERY: Duration = Duration::from_millis(10);

impl Pool {
    pub(super) fn wait_in_queue(&self, request: &Request<'_>, on_look: &mut OnLook<'_>) -> PoolResult<Outcome> {
        // Before anybody can know of us.
        let ears = Ears::of(self, request);
        let begun = Instant::now();
        let SlotWanted { owner, session, holding, .. } = *request.wanted;
        let entry = NewEntry { id: &request.id, owner, session, mode: request.mode, holds: holding.kinds };
        let joined = self.enqueue_as(&entry)?;
        let known = Known::joined(joined);
        self.wait_to_the_end(Waiter { known: Some(known), ..Waiter::new(self, request, ears) }, on_look, begun)
    }

    /// Waits with a place in the queue, and leaves it unless it was granted.
    pub(super) fn wait_to_the_end(&self, waiter: Waiter<'_>, on_look: &mut OnLook<'_>, begun: Instant) -> PoolResult<Outcome> {
        let request = waiter.request;
        let ended = self.wait_for_turn(waiter, on_look, begun);
        if !matches!(ended, Ok(Outcome::Granted(_) | Outcome::EntryLost { .. })) {
            // Also on an error: whoever gave up must not be granted later, and must not hold up those behind.
            let leave = || self.dequeue(&request.id, request.wanted.owner);
            let left = leave().or_else(|_| leave());
            if ended.is_ok() {
                left?;
            }
        }
        ended
    }

    fn wait_for_turn(&self, mut waiter: Waiter<'_>, on_look: &mut OnLook<'_>, begun: Instant) -> PoolResult<Outcome> {
        let request = waiter.request;
        // Who is to wait at all is told once where it stands, however long joining the queue took.
        let mut is_told = request.wanted.wait == Wait::For(Duration::ZERO);
        let mut outlook = Outlook::of(request);
        let mut last: Option<Standing> = None;
        loop {
            // Who gives up while it sleeps is not granted what has become free meanwhile.
            if last.is_some() && self.is_stopped() {
                return Ok(Outcome::Cancelled { request_id: request.id.clone() });
            }
            let is_over = time_left(request.wanted.wait, begun) == Some(Duration::ZERO);
            let standing = match last.filter(|_| !is_over && !waiter.ears.is_time_to_look()) {
                Some(standing) => standing,
                None => match waiter.look()? {
                    Look::Granted(held) => return Ok(Outcome::Granted(held)),
                    Look::Waits { place, entry } => waiter.say_where_we_wait(place, entry)?,
                    Look::Lost => {
                        let waiter_stale_ms = self.waiter_stale_ms();
                        return Ok(Outcome::EntryLost { request_id: request.id.clone(), waiter_stale_ms });
                    }
                },
            };
            last = Some(standing);
            if is_over && is_told {
                return Ok(timed_out(request, &standing));
            }
            is_told = true;
            if !on_look(&standing) {
                return Ok(Outcome::Cancelled { request_id: request.id.clone() });
            }
            if outlook.is_hopeless(self)? {
                return Ok(Outcome::Standoff { request_id: request.id.clone() });
            }
            waiter.ears.sleep(time_left(request.wanted.wait, begun));
        }
    }
}

/// One who waits.
pub(super) struct Waiter<'a> {
    pool: &'a Pool,
    request: &'a Request<'a>,
    ears: Ears<'a>,
    /// From its last look, if its turn was far.
    known: Option<Known>,
    /// Where it stood in front when it looked last. Nobody comes before it after that.
    near: Option<usize>,
}

/// What one who stands far behind has read of the queue.
struct Known {
    /// The file, as it was before that; none if only our own place is known, or it may change unnoticed.
    stamp: Option<Stamp>,
    read: Duration,
    place: usize,
    entry: Entry,
    /// Those in front, who look after the pool.
    front: Vec<Entry>,
}

impl Known {
    fn read(stamp: Option<Stamp>, read: Duration, place: usize, mut entries: Vec<Entry>) -> Self {
        let entry = entries.swap_remove(place);
        entries.truncate(NEAR);
        Self { stamp, read, place, entry, front: entries }
    }

    fn joined(joined: Joined) -> Self {
        let read = clock::since_boot();
        Self { stamp: None, read, place: joined.position - 1, entry: joined.entry, front: Vec::new() }
    }

    fn waits(&self) -> Look {
        Look::Waits { place: self.place, entry: self.entry.clone() }
    }
}

impl<'a> Waiter<'a> {
    pub(super) fn new(pool: &'a Pool, request: &'a Request<'a>, ears: Ears<'a>) -> Self {
        Self { pool, request, ears, known: None, near: None }
    }

    /// One look: takes a slot if it is our turn. Only those in front look at everything.
    fn look(&mut self) -> PoolResult<Look> {
        if self.near.is_some() || self.ears.was_woken() {
            // Who is woken is the first in line, or has no place any more.
            return self.look_from_near();
        }
        let now = clock::since_boot();
        if let Some(known) = self.known.as_mut().filter(|known| NEAR <= known.place) {
            let age = now.saturating_sub(known.read);
            if known.front.is_empty() && age < FIRST_READ {
                return Ok(known.waits());
            }
            // A slot may be ours before those in front have taken theirs, and where they have ended nobody looks after the pool.
            let may_be_next = known.place < self.pool.file().slots().len();
            if !known.front.is_empty() && (may_be_next || !self.pool.all_wait(&known.front)) {
                return self.look_at_everything();
            }
            // Who was suspended for long may have lost its place.
            let is_young = store::millis(age) < self.pool.waiter_stale_ms() / 6.0;
            let is_as_it_was = || known.stamp.is_some() && disk::stamp(&self.pool.path(QUEUE)) == known.stamp;
            if is_young && (!is_due(age, known.place) || is_as_it_was()) {
                return Ok(known.waits());
            }
        }
        self.read_far(now)
    }

    /// Reads the queue, and leaves the rest to those in front as long as they are there.
    fn read_far(&mut self, now: Duration) -> PoolResult<Look> {
        let stamp = disk::settled_stamp(&self.pool.path(QUEUE));
        let entries = self.pool.read_queue()?.entries;
        let Some(place) = entries.iter().position(|entry| entry.id() == self.request.id) else { return Ok(Look::Lost) };
        if place < NEAR {
            return self.look_from_near();
        }
        let known = Known::read(stamp, now, place, entries);
        if !self.pool.all_wait(std::slice::from_ref(&known.entry)) || !self.pool.all_wait(&known.front) {
            return self.look_at_everything();
        }
        let look = known.waits();
        self.known = Some(known);
        Ok(look)
    }

    fn look_from_near(&mut self) -> PoolResult<Look> {
        if self.ears.was_woken() && self.pool.store.has_additions() {
            if let Some(held) = self.take_what_ended()? {
                return Ok(Look::Granted(Box::new(held)));
            }
            self.ears.listen();
            if let Some(look) = self.look_as_first()? {
                return Ok(look);
            }
        }
        match self.look_at_everything()? {
            Look::Waits { place: 0, .. } if self.ears.listen() => self.look_at_everything(),
            look => Ok(look),
        }
    }

    /// Takes a slot of which we heard that it was given back, if we are the first in line. Whoever has no place in the queue any
    /// more finds that out when it leaves it.
    fn take_what_ended(&self) -> PoolResult<Option<HeldSlot>> {
        if self.near != Some(0) {
            return Ok(None);
        }
        let slots = self.pool.file().slots().iter();
        self.pool.take_one_of(self.request, slots.filter(|slot| self.ears.has_ended(&store::file_name(slot.kind()))))
    }

    /// A look of who is woken, only at which slots have no lease; none if we are not the first in line. Whether their holders live
    /// and who waits behind us is looked at a moment later, if nothing happens until then.
    fn look_as_first(&mut self) -> PoolResult<Option<Look>> {
        let Some(first) = self.pool.first_in_line()?.filter(|first| first.id() == self.request.id) else { return Ok(None) };
        (self.near, self.known) = (Some(0), None);
        let seen = self.pool.glance()?;
        if let Some(held) = self.pool.take_one_of(self.request, seen.free())? {
            return Ok(Some(Look::Granted(Box::new(held))));
        }
        self.ears.listen_for(self.pool.ends_of_interest(&seen));
        Ok(Some(Look::Waits { place: 0, entry: first }))
    }

    fn look_at_everything(&mut self) -> PoolResult<Look> {
        let (now, stamp) = (clock::since_boot(), disk::settled_stamp(&self.pool.path(QUEUE)));
        let (_, mut seen) = self.pool.sweep_and_look(self.request.wanted.owner)?;
        let Some(place) = seen.place_of(&self.request.id) else { return Ok(Look::Lost) };
        (self.near, self.known) = ((place < NEAR).then_some(place), None);
        if let Some(held) = self.pool.try_take(self.request, &seen, place)? {
            return Ok(Look::Granted(Box::new(held)));
        }
        let entries = std::mem::take(&mut seen.waiting);
        if NEAR <= place {
            let known = Known::read(stamp, now, place, entries);
            let look = known.waits();
            self.known = Some(known);
            return Ok(look);
        }
        if entries[..place].iter().any(|entry| !entry.has_proof()) {
            // It rings nobody when it leaves.
            self.ears.listen_to_all();
        }
        self.ears.listen_for(self.pool.ends_of_interest(&seen));
        let entry = entries.into_iter().nth(place);
        Ok(entry.map_or(Look::Lost, |entry| Look::Waits { place, entry }))
    }

    /// Tells others that we wait, if it is time to, and ourselves where.
    fn say_where_we_wait(&mut self, place: usize, entry: Entry) -> PoolResult<Standing> {
        if let Some(proof) = self.pool.store.proof_of_life()? {
            proof.beat();
        }
        if self.pool.has_aged(&entry) {
            self.renew(entry)?;
        }
        let avg_ms = self.pool.moving_avg_ms()?;
        Ok(Standing { position: place + 1, eta_ms: eta::wait_ms(place + 1, avg_ms), avg_ms })
    }

    /// Refreshes our entry's heartbeat, unless somebody has done that for us since we read the entry.
    fn renew(&mut self, entry: Entry) -> PoolResult<()> {
        let (pool, now) = (self.pool, self.pool.store.now_ms());
        if !pool.is_fresh(&entry, now) && !pool.is_waiting(&entry, now) {
            // Too late; the next look finds that the entry is gone.
            return Ok(());
        }
        let mut current = pool.entry_of(&self.request.id)?;
        if current.as_ref().is_none_or(|entry| pool.has_aged(entry)) {
            pool.heartbeat_entry(&self.request.id, self.request.wanted.owner)?;
            current = pool.entry_of(&self.request.id)?;
        }
        if let (Some(known), Some(current)) = (&mut self.known, current) {
            known.entry = current;
        }
        Ok(())
    }
}

/// Whether one at this place is to look again: the farther behind, the more seldom.
fn is_due(age: Duration, place: usize) -> bool {
    READ_EVERY * u32::try_from(place).unwrap_or(u32::MAX) <= age
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
    },
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
