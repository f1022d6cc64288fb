//! Keeping a lease alive, and passing on who does it.

use super::error::StoreResult;
use super::guard::Guard;
use super::outcome::{Refreshed, Released};
use super::record::{Found, Record};
use super::{LeaseOf, LeaseStore, check_kind, iso};
use crate::json::Json;

/// Who keeps a lease alive from now on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keeper<'a> {
    /// Whoever sends heartbeats; if nobody does, the lease ends with its lifetime.
    Anybody,
    /// The process with this proof of life.
    Process(&'a str),
}

impl LeaseStore {
    /// Keeps a lease alive.
    ///
    /// # Errors
    /// When the store cannot be used; the lease is then as it was.
    pub fn heartbeat(&self, kind: &str, owner: &str, token: &str) -> StoreResult<Refreshed> {
        self.renew(kind, owner, token, &|record, now| !record.is_expired(now), &|_, _| {})
    }

    /// The same, but only if the last heartbeat is still this one, where that matters; else the lease is answered as expired.
    pub(crate) fn heartbeat_behind(&self, lease: LeaseOf<'_>, last: Option<&str>) -> StoreResult<Refreshed> {
        let LeaseOf { kind, owner, token } = lease;
        let is_last = |record: &Record| last.is_none() || record.heartbeat() == last;
        self.renew(kind, owner, token, &|record, now| !record.is_expired(now) && is_last(record), &|_, _| {})
    }

    /// Makes somebody else keep a lease alive, and refreshes it, so that the next one has its whole lifetime to begin.
    ///
    /// A lease whose process is gone binds nobody any more; it is answered as expired.
    pub(crate) fn hand_over(&self, kind: &str, owner: &str, token: &str, to: Keeper<'_>) -> StoreResult<Refreshed> {
        let name = |record: &mut Record, _: &str| {
            record.set_in_payload(Record::ALIVE, keeper_json(to));
        };
        self.renew(kind, owner, token, &|record, now| !self.is_dead(kind, record, now), &name)
    }

    /// The same for a lease that was granted to somebody who was not there; now it is known to its owner.
    pub(crate) fn hand_over_claimed(&self, kind: &str, owner: &str, token: &str) -> StoreResult<Refreshed> {
        let name = |record: &mut Record, now: &str| {
            record.set_in_payload(Record::ALIVE, None);
            record.set_in_payload(Record::CLAIMED_AT, Some(Json::from(now)));
        };
        self.renew(kind, owner, token, &|record, now| !self.is_dead(kind, record, now), &name)
    }

    /// Tells whoever prepares a slot under this lease that nobody wants it any more.
    pub(crate) fn call_off(&self, kind: &str, owner: &str, token: &str) -> StoreResult<Refreshed> {
        let mark = |record: &mut Record, now: &str| {
            record.set_in_payload(Record::CANCELLED_AT, Some(Json::from(now)));
        };
        self.renew(kind, owner, token, &|record, now| !self.is_dead(kind, record, now), &mark)
    }

    /// Gives back a lease that names this proof of life, and whose last heartbeat is this one if that matters; one that
    /// somebody else keeps alive by now stays, as not ours.
    pub(crate) fn release_kept_by(&self, lease: LeaseOf<'_>, proof: &str, heartbeat: Option<&str>) -> StoreResult<Released> {
        let LeaseOf { kind, owner, token } = lease;
        self.release_if(kind, &|record| {
            let is_ours = |record: &&Record| {
                let is_last = heartbeat.is_none() || record.heartbeat() == heartbeat;
                record.owner() == Some(owner) && record.token() == Some(token) && record.alive() == Some(proof) && is_last
            };
            let holder = record.and_then(Record::owner).map(str::to_owned);
            record.filter(is_ours).is_none().then(|| Released::NotOwner { kind: kind.to_owned(), holder })
        })
    }

    /// Refreshes a lease of this owner and token that `lives`, and changes it at the same time.
    fn renew(
        &self,
        kind: &str,
        owner: &str,
        token: &str,
        lives: &dyn Fn(&Record, i64) -> bool,
        change: &dyn Fn(&mut Record, &str),
    ) -> StoreResult<Refreshed> {
        check_kind(kind)?;
        self.fence().check(owner)?;
        let Some(guard) = Guard::enter_existing(self, kind)? else {
            return Ok(Refreshed::NotHeld { kind: kind.to_owned() });
        };
        let now = self.now_ms();
        let kind_text = kind.to_owned();
        let mut record = match self.found(kind)? {
            Found::Free => return Ok(Refreshed::NotHeld { kind: kind_text }),
            found @ Found::Corrupt(_) => return Ok(Refreshed::Expired { kind: kind_text, found }),
            Found::Lease(record) => record,
        };
        if record.owner() != Some(owner) || record.token() != Some(token) {
            return Ok(Refreshed::NotOwner { kind: kind_text, holder: record.owner().map(str::to_owned) });
        }
        if !lives(&record, now) {
            return Ok(Refreshed::Expired { kind: kind_text, found: Found::Lease(record) });
        }
        let at = iso(now).unwrap_or_default();
        record.refresh(&at);
        change(&mut record, &at);
        let written = self.write(kind, &record, None)?;
        guard.check()?;
        written.swap_in(&self.path(kind))?;
        Ok(Refreshed::Refreshed { kind: kind_text, expiry: record.expiry(now), record })
    }
}

fn keeper_json(keeper: Keeper<'_>) -> Option<Json> {
    match keeper {
        Keeper::Anybody => None,
        Keeper::Process(proof) => Some(Json::from(proof)),
    }
}
