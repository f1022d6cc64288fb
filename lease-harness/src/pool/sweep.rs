//! Clearing away what the dead left: leases, queue entries, old grants.

use std::io::ErrorKind;

use super::Pool;
use super::error::PoolResult;
use super::queue::{Entry, LockedQueue};
use super::slot::SlotDef;
use crate::json::{Json, object};
use crate::store::{Found, Reaped, Record, Vital};

/// What a sweep cleared away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    /// Slot ids and the owners of the leases that were reaped.
    pub reaped: Vec<(Json, Json)>,
    /// Queue entries that were dropped.
    pub dropped: Vec<Entry>,
}

impl Swept {
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

impl Pool {
    /// Clears away dead slot leases, stale queue entries and old grant files.
    ///
    /// # Errors
    /// When the store cannot be used; what was cleared before stays cleared.
    pub fn sweep(&self, owner: &str) -> PoolResult<Swept> {
        let swept = self.drop_dead(owner)?;
        if !swept.reaped.is_empty() || !swept.dropped.is_empty() {
            self.tidy();
        }
        Ok(swept)
    }

    /// A sweep that leaves the files of the dead, for who tidies up anyway.
    pub(super) fn drop_dead(&self, owner: &str) -> PoolResult<Swept> {
        let mut swept = Swept::default();
        for slot in self.file.slots() {
            if let Some(previous) = self.reap_if_dead(slot)? {
                swept.reaped.push((slot.id().clone(), previous));
            }
        }
        let now = self.store.now_ms();
        let queue = self.read_queue()?;
        if queue.damaged && self.store.has_additions() || queue.entries.iter().any(|entry| !self.is_waiting(entry, now)) {
            swept.dropped = self.drop_stale_entries(owner)?;
        }
        self.drop_old_grants();
        Ok(swept)
    }

    fn drop_stale_entries(&self, owner: &str) -> PoolResult<Vec<Entry>> {
        let mut locked = LockedQueue::lock(self, owner)?;
        let damaged = locked.queue.damaged;
        let dropped = locked.drop_stale();
        if damaged || !dropped.is_empty() {
            locked.write()?;
        }
        drop(locked);
        for entry in &dropped {
            self.journal("queue_entry_dropped_stale", [("entry", entry.to_json())]);
        }
        Ok(dropped)
    }

    /// Reaps the lease of a slot if its holder is dead; the holder's name then.
    fn reap_if_dead(&self, slot: &SlotDef) -> PoolResult<Option<Json>> {
        let found = self.store.found(slot.kind())?;
        match &found {
            Found::Free => return Ok(None),
            Found::Lease(record) if !self.store.is_dead(slot.kind(), record, self.store.now_ms()) => {
                self.store.clear_guard(slot.kind());
                return Ok(None);
            }
            Found::Lease(record) if !self.end_survivors(slot, record) => return Ok(None),
            Found::Lease(_) | Found::Corrupt(_) => {}
        }
        let Reaped::Reaped { previous, .. } = self.store.reap(slot.kind())? else { return Ok(None) };
        let (shown, owner) = match &previous {
            Found::Lease(record) => {
                self.forget_grant_of(slot.kind(), record);
                (record.to_json(), Json::from(record.owner()))
            }
            found => (found.to_json(slot.kind()), Json::Null),
        };
        self.journal("slot_reaped", [("slot_id", slot.id().clone()), ("previous", shown)]);
        Ok(Some(owner))
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
        let Some(token) = record.token().filter(|_| binds_nobody) else { return true };
        // Where processes cannot be looked at, nobody is found; that is no reason to keep a slot for ever.
        super::end_processes_of(token).err().is_none_or(|error| error.kind() != ErrorKind::TimedOut)
    }
}
