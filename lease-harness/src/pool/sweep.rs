//! Clearing away what the dead left: leases, queue entries, old grants.

use std::io::ErrorKind;

use super::Pool;
use super::acquire::{request_of, worker_of};
use super::error::PoolResult;
use super::queue::{Entry, Queue};
use super::queue_lock::LockedQueue;
use super::slot::SlotDef;
use crate::json::{Json, object};
use crate::store::{Found, Reaped, Record, Vital};
use crate::sys::process;

/// From so many slots on, one listing of the store costs less than a look for each.
const MANY: usize = 8;

/// What a sweep cleared away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    /// Slot ids and the owners of the leases that were reaped.
    pub reaped: Vec<(Json, Json)>,
    /// Queue entries that were dropped.
    pub dropped: Vec<Entry>,
}

impl Swept {
    pub(super) fn is_empty(&self) -> bool {
        self.reaped.is_empty() && self.dropped.is_empty()
    }

    fn reaped_json(&self) -> Json {
        let each = |(slot, owner): &(Json, Json)| object([("slot_id", slot.clone()), ("previousOwner", owner.clone())]);
        Json::Array(self.reaped.iter().map(each).collect())
    }

    fn dropped_json(&self) -> Json {
        Json::Array(self.dropped.iter().map(Entry::to_json).collect())
    }

    /// The document `{reapedSlots, droppedEntries}`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        object([("reapedSlots", self.reaped_json()), ("droppedEntries", self.dropped_json())])
    }
}

/// A pool as a look found it, when the dead had been cleared away.
#[derive(Debug, Default)]
pub(super) struct Seen<'pool> {
    /// All slots, in the order of the pool file,
    slots: &'pool [SlotDef],
    /// and the places of those that somebody has.
    taken: Vec<usize>,
    /// The requests that have a slot,
    pub(super) holding: Vec<String>,
    /// and what proves that their holders live.
    pub(super) proofs: Vec<String>,
    /// Who waits, in order.
    pub(super) waiting: Vec<Entry>,
}

impl<'pool> Seen<'pool> {
    pub(super) fn place_of(&self, id: &str) -> Option<usize> {
        self.waiting.iter().position(|entry| entry.id() == id)
    }

    pub(super) fn n_free(&self) -> usize {
        self.slots.len() - self.taken.len()
    }

    /// The slots that nobody has, in the order of the pool file.
    pub(super) fn free(&self) -> impl Iterator<Item = &'pool SlotDef> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(place, _)| self.taken.binary_search(place).is_err()).map(|(_, slot)| slot)
    }
}

/// A slot as a look found it.
enum SlotSeen {
    Free,
    Held(Record),
    /// Its lease binds nobody any more.
    Reaped {
        owner: Json,
    },
    /// It is in nobody's hands and not to be had: who holds it no more still works on it, or it was just taken.
    InUse,
}

impl Pool {
    /// Clears away dead slot leases, stale queue entries and old grant files.
    ///
    /// # Errors
    /// When the store cannot be used; what was cleared before stays cleared.
    pub fn sweep(&self, owner: &str) -> PoolResult<Swept> {
        let (swept, _) = self.sweep_and_look(owner)?;
        self.drop_old_grants();
        Ok(swept)
    }

    /// The same but for old grants, which are many: they go when somebody tidies up. And what was found by it.
    pub(super) fn sweep_and_look(&self, owner: &str) -> PoolResult<(Swept, Seen<'_>)> {
        self.sweep_and_look_behind(owner, self.read_queue()?)
    }

    /// The same with a queue that was just read.
    pub(super) fn sweep_and_look_behind(&self, owner: &str, queue: Queue) -> PoolResult<(Swept, Seen<'_>)> {
        let (swept, seen) = self.drop_dead(owner, queue, None)?;
        if !swept.is_empty() {
            self.tidy();
        } else if !self.store.has_additions() {
            self.drop_old_grants();
        }
        Ok((swept, seen))
    }

    /// A sweep that leaves the files of the dead, for who tidies up anyway; without a look at the kind that was just `freed`.
    pub(super) fn drop_dead(&self, owner: &str, queue: Queue, freed: Option<&str>) -> PoolResult<(Swept, Seen<'_>)> {
        self.note_upkeep();
        let mut swept = Swept::default();
        let slots = self.file.slots();
        let mut seen = Seen { slots, ..Seen::default() };
        for (place, found) in self.records(freed)? {
            match self.reap_if_dead(&slots[place], found)? {
                SlotSeen::Free => {}
                SlotSeen::Held(record) => {
                    seen.taken.push(place);
                    seen.holding.extend(request_of(&record));
                    seen.proofs.extend(record.alive().map(str::to_owned));
                }
                SlotSeen::Reaped { owner } => swept.reaped.push((slots[place].id().clone(), owner)),
                SlotSeen::InUse => seen.taken.push(place),
            }
        }
        let now = self.store.now_ms();
        let (waiting, stale) = self.who_waits(queue.entries, now);
        if queue.damaged && self.store.has_additions() || !stale.is_empty() {
            swept.dropped = self.drop_stale_entries(owner, &stale)?;
        }
        seen.waiting = waiting;
        Ok((swept, seen))
    }

    /// Slots under whose kinds there is nothing, without a sweep: some of the first of the pool.
    pub(super) fn free_at_a_glance(&self) -> impl Iterator<Item = &SlotDef> {
        self.file.slots().iter().take(MANY).filter(|slot| !self.store.has_record(slot.kind()))
    }

    /// What lies under the kinds of the slots, with their places in order, but for the one that was `freed`. Of many slots it is
    /// asked first of which there is anything at all.
    fn records(&self, freed: Option<&str>) -> PoolResult<Vec<(usize, Found)>> {
        let slots = self.file.slots();
        let places: Vec<usize> = if slots.len() <= MANY {
            (0..slots.len()).filter(|place| freed != Some(slots[*place].kind())).collect()
        } else {
            self.places_with_records()?
        };
        places.into_iter().map(|place| Ok((place, self.store.found(slots[place].kind())?))).collect()
    }

    /// The pool by a glance, that sees only under which kinds there is anything at all.
    pub(super) fn glance(&self) -> PoolResult<Seen<'_>> {
        let slots = self.file.slots();
        let taken = if slots.len() <= MANY {
            (0..slots.len()).filter(|place| self.store.has_record(slots[*place].kind())).collect()
        } else {
            self.places_with_records()?
        };
        Ok(Seen { slots, taken, ..Seen::default() })
    }

    /// By one listing of the store; in order.
    fn places_with_records(&self) -> PoolResult<Vec<usize>> {
        let slots = self.file.slots();
        let known = self.places.get_or_init(|| slots.iter().map(|slot| slot.kind().to_owned()).zip(0..).collect());
        let mut places: Vec<_> = self.store.stems()?.iter().filter_map(|kind| known.get(kind).copied()).collect();
        places.sort_unstable();
        Ok(places)
    }

    fn drop_stale_entries(&self, owner: &str, suspects: &[Entry]) -> PoolResult<Vec<Entry>> {
        let mut locked = LockedQueue::lock(self, owner)?;
        let damaged = locked.queue.damaged;
        let dropped = locked.drop_stale(suspects);
        if damaged || !dropped.is_empty() {
            locked.write()?;
        }
        drop(locked);
        for entry in &dropped {
            self.journal("queue_entry_dropped_stale", [("entry", entry.to_json())]);
        }
        Ok(dropped)
    }

    /// Reaps the lease of a slot if its holder is dead.
    fn reap_if_dead(&self, slot: &SlotDef, found: Found) -> PoolResult<SlotSeen> {
        match found {
            Found::Free => return Ok(SlotSeen::Free),
            Found::Lease(record) if !self.store.is_dead(slot.kind(), &record, self.store.now_ms()) => {
                // A holder with a proof of life gets past the guard of somebody who is gone by itself.
                if record.alive().is_none() {
                    self.store.clear_guard(slot.kind());
                }
                return Ok(SlotSeen::Held(record));
            }
            Found::Lease(record) if !self.end_survivors(slot, &record) => return Ok(SlotSeen::InUse),
            Found::Lease(_) | Found::Corrupt(_) => {}
        }
        let previous = match self.store.reap(slot.kind())? {
            Reaped::Reaped { previous, .. } => previous,
            Reaped::NotHeld { .. } => return Ok(SlotSeen::Free),
            Reaped::Held { record, .. } => return Ok(SlotSeen::Held(record)),
        };
        let (shown, owner) = match &previous {
            Found::Lease(record) => {
                self.forget_grant_of(slot.kind(), record);
                (record.to_json(), Json::from(record.owner()))
            }
            found => (found.to_json(slot.kind()), Json::Null),
        };
        self.journal("slot_reaped", [("slot_id", slot.id().clone()), ("previous", shown)]);
        Ok(SlotSeen::Reaped { owner })
    }

    /// Ends what still works on a slot under a lease that binds nobody any more: whoever carries its token in the
    /// environment. False if somebody was killed and is not gone, as one that waits for a device: the slot is still in use.
    ///
    /// The child of a holder that was killed dies with it, but a server that its test had started does not; and a holder
    /// that was suspended for longer than its lease lives may go on at any moment. The next holder's provision would
    /// work on a slot in use.
    pub(super) fn end_survivors(&self, slot: &SlotDef, record: &Record) -> bool {
        let vital = self.store.vital(record.alive());
        let binds_nobody = match &vital {
            Vital::Dead(_) => true,
            Vital::Alive { .. } => self.store.is_dead(slot.kind(), record, self.store.now_ms()),
            // Of a holder of another kind nothing is known, its processes least of all. One of ours has a number.
            Vital::Unknown => record.fence().is_some() && self.store.is_dead(slot.kind(), record, self.store.now_ms()),
        };
        !binds_nobody || end_work_under(record)
    }
}

/// Ends who works under a lease: whom it names, and whoever carries its token. False if somebody was killed and is not gone.
pub(super) fn end_work_under(record: &Record) -> bool {
    let Some(token) = record.token() else { return true };
    // Where processes cannot be looked at, nobody is found; that is no reason to keep a slot for ever.
    let ended = [worker_of(record).map_or(Ok(()), process::kill_known), super::end_processes_of(token).map(drop)];
    ended.into_iter().filter_map(Result::err).all(|error| error.kind() != ErrorKind::TimedOut)
}
