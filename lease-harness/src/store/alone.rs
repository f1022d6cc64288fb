//! Being the only one at what the lease of a kind protects, without a lease.
//!
//! Whoever wants the lease has to enter the kind's critical section, and finds somebody inside. So for work of a moment the
//! section alone does what acquiring and releasing the lease would do, at half the price; and if the process dies, whoever
//! comes next need not wait for a lease to end.

use super::error::StoreResult;
use super::guard::Guard;
use super::record::{Found, Record};
use super::{LeaseStore, check_kind};
use crate::json::Json;
use crate::sys::disk;

/// Being alone with a kind, until this is dropped.
#[derive(Debug)]
pub(crate) struct Alone<'store>(Guard<'store>);

impl Alone<'_> {
    /// To be asked right before a change, as whoever was suspended for long may be alone no more.
    pub(crate) fn check(&self) -> StoreResult<()> {
        self.0.check()
    }
}

/// What came of wanting to be alone.
#[derive(Debug)]
pub(crate) enum Entering<'store> {
    Alone(Alone<'store>),
    /// Somebody has the lease.
    Held(Record),
}

impl LeaseStore {
    /// Enters the critical section of a kind whose lease nobody has, for `owner`. The lease of somebody who is gone is removed.
    pub(crate) fn enter_alone(&self, kind: &str, owner: &str) -> StoreResult<Entering<'_>> {
        check_kind(kind)?;
        self.fence().check(owner)?;
        let guard = Guard::enter(self, kind)?;
        let now = self.now_ms();
        let found = self.found(kind)?;
        match &found {
            Found::Free => return Ok(Entering::Alone(Alone(guard))),
            Found::Lease(record) if !self.is_dead(kind, record, now) => return Ok(Entering::Held(record.clone())),
            Found::Lease(_) | Found::Corrupt(_) => {}
        }
        guard.check()?;
        disk::remove_file(&self.path(kind))?;
        self.tell_takeover(now, kind, owner, &found);
        Ok(Entering::Alone(Alone(guard)))
    }

    /// Tells the journal that a dead lease, or what was none, gave way to `owner`.
    pub(super) fn tell_takeover(&self, now: i64, kind: &str, owner: &str, previous: &Found) {
        let mut story = self.story(kind, previous);
        story.insert("by", Json::from(owner));
        self.journal(now, "takeover", story.in_order(&["kind", "by", "previous"]));
    }
}
