//! Two files that describe one pool differently would hand out one slot as two things. They are refused.

use std::sync::PoisonError;

use super::Pool;
use super::error::{PoolError, PoolResult};
use super::queue_lock::QueueLock;
use crate::json::Json;
use crate::store::Found;
use crate::sys::disk;

/// What the pool's present users agree on. A name with a dot is no part of the format.
pub(super) const AGREED: &str = ".pool.json";

impl Pool {
    /// Checks that whoever uses the pool now describes it as we do; if nobody does, our description counts from now on. Whether
    /// that is still so is asked when a slot is ours.
    pub(super) fn agree_on_description(&self, owner: &str) -> PoolResult<()> {
        let has_agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if has_agreed || self.is_agreed_on()? {
            return Ok(());
        }
        self.sweep(owner)?;
        let _lock = QueueLock::take(self, owner)?;
        let (ours, text) = (self.file.describe(), self.description());
        let Some(theirs) = self.agreed()? else { return self.write_file(AGREED, None, text) };
        if theirs == ours {
            return Ok(());
        }
        if !self.is_in_use(&theirs)? {
            self.write_file(AGREED, None, text)?;
            // Somebody may have taken a slot in between. It looks at our description after that, and we look at its slot
            // after writing, so at least one sees the other.
            if !self.is_in_use(&theirs)? {
                return Ok(());
            }
            self.write_file(AGREED, None, &theirs.to_text())?;
        }
        Err(self.disagreement(&theirs, &ours))
    }

    /// Checks, once a slot is ours and it [is not agreed](Self::is_agreed_on) any more how the pool is described, whether somebody
    /// has come with another description between the first check and the taking.
    pub(super) fn agree_anew(&self, owner: &str) -> PoolResult<()> {
        let ours = self.file.describe();
        // Whoever is about to change it takes that back when it sees our slot.
        let _lock = QueueLock::take(self, owner)?;
        match self.agreed()? {
            Some(theirs) if theirs == ours => Ok(()),
            Some(theirs) => Err(self.disagreement(&theirs, &ours)),
            // The store was deleted, or only that file.
            None => self.write_file(AGREED, None, self.description()),
        }
    }

    /// Whether others describe it as we do, as far as the file is there that says so. One that was ours and is as it was is not
    /// read again.
    pub(super) fn is_agreed_on(&self) -> PoolResult<bool> {
        if !self.store.has_additions() {
            return Ok(true);
        }
        let mut known = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        // The stamp first: what is written after it has another.
        let stamp = disk::stamp(&self.path(AGREED));
        if stamp.is_some() && *known == stamp {
            return Ok(true);
        }
        let bytes = self.store.read(&self.path(AGREED))?.unwrap_or_default();
        // Another program's text of the same may look different.
        let is_ours = bytes == self.description().as_bytes()
            || Json::parse_bytes(&bytes).is_ok_and(|agreed| agreed == self.file.describe());
        *known = stamp.filter(|_| is_ours);
        Ok(is_ours)
    }

    fn description(&self) -> &str {
        self.description.get_or_init(|| self.file.description())
    }

    fn agreed(&self) -> PoolResult<Option<Json>> {
        let bytes = self.store.read(&self.path(AGREED))?;
        Ok(bytes.and_then(|bytes| Json::parse_bytes(&bytes).ok()))
    }

    /// Whether anybody holds one of the slots that were agreed on or of ours, or waits.
    fn is_in_use(&self, theirs: &Json) -> PoolResult<bool> {
        let now = self.store.now_ms();
        if !self.waiting(now)?.is_empty() {
            return Ok(true);
        }
        let theirs = theirs.get("slots").and_then(Json::as_array).unwrap_or_default();
        let theirs = theirs.iter().filter_map(|slot| slot.get("kind").and_then(Json::as_str));
        for kind in theirs.chain(self.file.slots().iter().map(super::SlotDef::kind)) {
            if let Found::Lease(record) = self.store.found(kind)?
                && !self.store.is_dead(kind, &record, now)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn disagreement(&self, theirs: &Json, ours: &Json) -> PoolError {
        let differing = ours.as_object().into_iter().flat_map(|members| members.iter()).find_map(|(key, value)| {
            let other = theirs.get(key).cloned().unwrap_or_default();
            (other != *value).then(|| (key.to_owned(), value.to_text(), other.to_text()))
        });
        let (field, ours, theirs) = differing.unwrap_or_else(|| ("file".to_owned(), ours.to_text(), theirs.to_text()));
        PoolError::usage(format!(
            "{}: pool {} is in use with another description: \"{field}\" is {ours} here and {theirs} there; use one pool file, another \
             \"name\", or wait until nobody uses it",
            self.file.path().display(),
            self.file.name(),
        ))
    }
}
