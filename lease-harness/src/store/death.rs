//! When a lease binds nobody any more.

use super::LeaseStore;
use super::alive::Vital;
use super::record::Record;
use crate::sys::disk;

impl LeaseStore {
    /// Whether a lease binds nobody any more: its holder is provably gone, or its time has run out and nothing proves
    /// that its holder still works.
    pub(crate) fn is_dead(&self, kind: &str, record: &Record, now: i64) -> bool {
        match self.vital(record.alive()) {
            Vital::Dead(_) => true,
            // Our own clock may be wrong; the kernel's time of the last beat is not.
            Vital::Alive { .. } => record.is_expired(now) && self.is_silent(kind, record),
            Vital::Unknown => record.is_expired(now),
        }
    }

    /// Whether a lease was not refreshed for longer than it lives, by the time of its file. Its process may live and keep
    /// other leases.
    fn is_silent(&self, kind: &str, record: &Record) -> bool {
        let minutes = record.ttl_minutes().unwrap_or_default();
        let age = disk::age_of(&self.path(kind)).ok().flatten();
        age.is_none_or(|age| age.as_secs_f64() > minutes * 60.0)
    }
}
