//! Two files that describe one pool differently would hand out one slot as two things. They are refused.

use super::Pool;
use super::error::{PoolError, PoolResult};
use super::queue::LockedQueue;
use crate::json::Json;
use crate::store::Found;
use crate::sys::disk;

/// What the pool's present users agree on. A name with a dot is no part of the format.
pub(super) const AGREED: &str = ".pool.json";

impl Pool {
    /// Checks that whoever uses the pool now describes it as we do; if nobody does, our description counts from now on.
    pub(super) fn agree_on_description(&self, owner: &str) -> PoolResult<()> {
        if !self.store.has_additions() {
            return Ok(());
        }
        let ours = self.description();
        if self.agreed()?.as_ref() == Some(ours) {
            return Ok(());
        }
        self.sweep(owner)?;
        let _locked = LockedQueue::lock(self, owner)?;
        let Some(theirs) = self.agreed()? else { return self.write_file(AGREED, &ours.to_text()) };
        if theirs == *ours {
            return Ok(());
        }
        if !self.is_in_use(&theirs)? {
            self.write_file(AGREED, &ours.to_text())?;
            // Somebody may have taken a slot in between. It looks at our description after that, and we look at its slot
            // after writing, so at least one sees the other.
            if !self.is_in_use(&theirs)? {
                return Ok(());
            }
            self.write_file(AGREED, &theirs.to_text())?;
        }
        Err(self.disagreement(&theirs, ours))
    }

    /// Checks, once a slot is ours, that nobody has come with another description between the first check and the taking.
    pub(super) fn agree_still(&self, owner: &str) -> PoolResult<()> {
        let ours = self.description();
        let differs = |agreed: &Json| agreed != ours;
        if !self.store.has_additions() || !self.agreed()?.is_some_and(|agreed| differs(&agreed)) {
            return Ok(());
        }
        // Whoever is about to change it takes that back when it sees our slot.
        let _locked = LockedQueue::lock(self, owner)?;
        match self.agreed()?.filter(differs) {
            Some(theirs) => Err(self.disagreement(&theirs, ours)),
            None => Ok(()),
        }
    }

    fn description(&self) -> &Json {
        self.description.get_or_init(|| self.file.describe())
    }

    fn agreed(&self) -> PoolResult<Option<Json>> {
        let bytes = disk::read(&self.path(AGREED))?;
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
