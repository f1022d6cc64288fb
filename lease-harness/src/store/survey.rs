//! Looking at what is held: one kind, all of them, and clearing away the dead.

use super::error::StoreResult;
use super::outcome::{Reaped, Reconciled, Status};
use super::record::{Found, Record};
use super::{LeaseStore, RECORD, check_kind, is_kind};
use crate::sys::disk;

impl LeaseStore {
    /// How a kind stands. Takes no lock and changes nothing.
    ///
    /// # Errors
    /// When the record cannot be read: what is held is then not known.
    pub fn status(&self, kind: &str) -> StoreResult<Status> {
        check_kind(kind)?;
        Ok(self.status_of(kind, self.found(kind)?, self.now_ms()))
    }

    fn status_of(&self, kind: &str, found: Found, now: i64) -> Status {
        let kind_text = kind.to_owned();
        match found {
            Found::Free => Status::Free { kind: kind_text },
            Found::Lease(record) if !self.is_dead(kind, &record, now) => {
                Status::Held { kind: kind_text, expiry: record.expiry(now), record }
            }
            found => {
                let expired_for_ms = if let Found::Lease(record) = &found { record.expired_for_ms(now) } else { None };
                Status::Unknown { kind: kind_text, found, expired_for_ms }
            }
        }
    }

    /// Every lease of the store, sorted by name. Takes no lock and changes nothing.
    ///
    /// # Errors
    /// When the directory or a record cannot be read: it is then not known what is held, and an empty answer would lie.
    pub fn list(&self) -> StoreResult<Vec<Status>> {
        let mut stems = self.stems()?;
        stems.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
        let now = self.now_ms();
        stems
            .into_iter()
            .map(|stem| {
                if !is_kind(&stem) {
                    return Ok(Status::Invalid { stem });
                }
                Ok(self.status_of(&stem, self.found(&stem)?, now))
            })
            .collect()
    }

    /// Whether there is anything under a kind; if that cannot be told there is.
    pub(crate) fn has_record(&self, kind: &str) -> bool {
        self.path(kind).try_exists().unwrap_or(true)
    }

    /// What there are files of leases of: kinds, and what only looks like one.
    pub(crate) fn stems(&self) -> StoreResult<Vec<String>> {
        let mut stems = disk::names(self.dir())?;
        stems.retain_mut(|name| {
            let is_record = !name.starts_with('.') && name.ends_with(RECORD);
            name.truncate(name.len().saturating_sub(RECORD.len()));
            is_record
        });
        Ok(stems)
    }

    /// Reaps the dead leases whose owner is inside the fence, and corrupt ones; reports the rest.
    ///
    /// # Errors
    /// When the store cannot be used; what was reaped before stays reaped.
    pub fn reconcile(&self) -> StoreResult<Reconciled> {
        let mut result = Reconciled { held: Vec::new(), reaped: Vec::new(), foreign: Vec::new() };
        for status in self.list()? {
            match &status {
                Status::Free { .. } => {}
                Status::Invalid { .. } => result.foreign.push(status),
                Status::Held { record, .. } if self.is_inside(record) => result.held.push(status),
                Status::Unknown { found: Found::Lease(record), .. } if self.is_inside(record) => {
                    self.reap_listed(&status, &mut result)?;
                }
                Status::Unknown { found: Found::Corrupt(_), .. } => self.reap_listed(&status, &mut result)?,
                Status::Held { .. } | Status::Unknown { .. } => result.foreign.push(status),
            }
        }
        self.tidy();
        Ok(result)
    }

    fn reap_listed(&self, status: &Status, result: &mut Reconciled) -> StoreResult<()> {
        match self.reap(status.kind())? {
            reaped @ Reaped::Reaped { .. } => result.reaped.push(reaped),
            Reaped::NotHeld { .. } => {}
            Reaped::Held { .. } => result.held.push(self.status(status.kind())?),
        }
        Ok(())
    }

    /// An owner of whom the fence cannot tell is none of ours.
    fn is_inside(&self, record: &Record) -> bool {
        record.owner().is_some_and(|owner| self.fence().contains(owner).unwrap_or(false))
    }
}
