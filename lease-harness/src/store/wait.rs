//! Waiting for a lease that somebody holds.
//!
//! A bare lease has no queue: of several who wait, the one who looks first gets it.

use std::time::{Duration, Instant};

use super::error::StoreResult;
use super::outcome::Acquired;
use super::{AcquireRequest, Found, LeaseStore, alive_folder};
use crate::json::Json;
use crate::sys::watch::{Pauses, Watch};

/// What a waiting `acquire` answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Waited {
    /// The lease is ours.
    Acquired(Acquired),
    /// Somebody held it until the time was over.
    TimedOut {
        /// Who holds it, as [`Acquired::Held`].
        held: Acquired,
        /// How long we waited: as long as we were to.
        limit: Duration,
    },
}

impl Waited {
    /// The document of format.md: that of [`Acquired`], or of a held lease with `code` `timeout` and `waitedMs`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Acquired(acquired) => acquired.to_json(),
            Self::TimedOut { held, limit } => {
                let mut answer = held.to_json();
                if let Some(members) = answer.as_object_mut() {
                    members.insert("code", "timeout");
                    members.insert("waitedMs", millis(*limit));
                }
                answer
            }
        }
    }
}

/// Milliseconds, also parts of one.
#[expect(clippy::cast_precision_loss, reason = "below 2^53 nanoseconds, which are 104 days, nothing is lost")]
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

impl LeaseStore {
    /// Acquires the lease of a kind as soon as it is free or dead, within `limit`. Ends at the limit and not at the look
    /// after it.
    ///
    /// # Errors
    /// As [`LeaseStore::acquire`].
    ///
    /// # If the process dies
    /// While it waits nothing is left: others do not see a waiter. Afterwards as [`LeaseStore::acquire`].
    pub fn acquire_within(&self, request: &AcquireRequest<'_>, limit: Duration) -> StoreResult<Waited> {
        let begun = Instant::now();
        let left = || limit.saturating_sub(begun.elapsed());
        let mut held = match self.acquire(request)? {
            held @ Acquired::Held { .. } => held,
            acquired => return Ok(Waited::Acquired(acquired)),
        };
        let watch = self.watch();
        let mut pauses = Pauses::new(&watch, None);
        while !left().is_zero() {
            // Looking takes no lock: the guard is for whoever finds the lease free, and for the last answer.
            while self.is_held(request.kind)? && !left().is_zero() {
                pauses.sleep(&watch, Some(left()));
            }
            held = match self.acquire(request)? {
                held @ Acquired::Held { .. } => held,
                acquired => return Ok(Waited::Acquired(acquired)),
            };
        }
        Ok(Waited::TimedOut { held, limit })
    }

    fn watch(&self) -> Watch {
        let alive = alive_folder(self.dir());
        let folders = [self.dir(), &alive];
        let n_folders = if alive.is_dir() { 2 } else { 1 };
        Watch::new(&folders[..n_folders], Vec::new())
    }

    fn is_held(&self, kind: &str) -> StoreResult<bool> {
        Ok(matches!(self.found(kind)?, Found::Lease(record) if !self.is_dead(kind, &record, self.now_ms())))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use super::*;
    use crate::store::{Clock, StoreOptions};

    const NOW: i64 = 1_760_000_000_000;
    const LONG: Duration = Duration::from_secs(3600);

    fn store(dir: &Path, clock: Clock) -> LeaseStore {
        let options =
            StoreOptions { store: Some(dir.to_owned()), owner_pattern: Some(String::new()), clock, ..StoreOptions::default() };
        LeaseStore::open(&options).expect("a store in a temporary folder opens")
    }

    fn by(owner: &str) -> AcquireRequest<'_> {
        AcquireRequest { kind: "baton", owner, ttl_minutes: 1.0, payload: Json::Null }
    }

    fn token(answer: &Acquired) -> String {
        let Acquired::Acquired { record, .. } = answer else { panic!("{answer:?}") };
        record.token().expect("ours have one").to_owned()
    }

    /// A clock that does something at its reading number `n`: whoever reads it so often is waiting.
    fn clock_that(n: usize, at_reading: impl Fn() + Send + Sync + 'static) -> Clock {
        let readings = AtomicUsize::new(0);
        Clock::from_fn(move || {
            if readings.fetch_add(1, Ordering::SeqCst) == n {
                at_reading();
            }
            NOW
        })
    }

    #[test]
    fn a_free_lease_is_had_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let waited = store(temp.path(), Clock::from_fn(|| NOW)).acquire_within(&by("a"), Duration::ZERO).unwrap();
        assert!(matches!(waited, Waited::Acquired(Acquired::Acquired { previous: None, .. })), "{waited:?}");
    }

    #[test]
    fn a_released_lease_is_had() {
        let temp = tempfile::tempdir().unwrap();
        let holder = store(temp.path(), Clock::from_fn(|| NOW));
        let held = token(&holder.acquire(&by("a")).unwrap());
        let release = move || assert!(holder.release("baton", "a", &held).unwrap().is_ok());
        let waited = store(temp.path(), clock_that(5, release)).acquire_within(&by("b"), LONG).unwrap();
        assert!(matches!(waited, Waited::Acquired(Acquired::Acquired { previous: None, .. })), "{waited:?}");
    }

    #[test]
    fn a_lease_that_runs_out_is_taken_over() {
        let temp = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(NOW));
        let holder = store(temp.path(), Clock::from_fn(|| NOW));
        token(&holder.acquire(&by("a")).unwrap());
        let later = Arc::clone(&now);
        let clock = Clock::from_fn(move || later.fetch_add(20_000, Ordering::SeqCst));
        let waited = store(temp.path(), clock).acquire_within(&by("b"), LONG).unwrap();
        assert!(matches!(waited, Waited::Acquired(Acquired::Acquired { previous: Some(_), .. })), "{waited:?}");
        assert!(NOW + 60_000 < now.load(Ordering::SeqCst));
    }

    #[test]
    fn a_wait_that_is_over_tells_who_holds_the_lease_and_how_long_it_was() {
        let temp = tempfile::tempdir().unwrap();
        let store = store(temp.path(), Clock::from_fn(|| NOW));
        store.acquire(&by("a")).unwrap();
        let before = store.status("baton").unwrap();
        for (limit, shown) in [(Duration::ZERO, "0"), (Duration::from_micros(60_500), "60.5")] {
            let text = store.acquire_within(&by("b"), limit).unwrap().to_json().to_text();
            let start =
                "{\"ok\":false,\"code\":\"timeout\",\"kind\":\"baton\",\"holder\":\"a\",\"heldBySelf\":false,\"record\":{";
            assert!(
                text.starts_with(start) && text.ends_with(&format!(",\"expiresInMs\":60000,\"waitedMs\":{shown}}}")),
                "{text}"
            );
        }
        assert_eq!(store.status("baton").unwrap(), before);
    }

    #[test]
    fn what_cannot_be_acquired_is_not_waited_for() {
        let temp = tempfile::tempdir().unwrap();
        let store = store(temp.path(), Clock::from_fn(|| NOW));
        let error = store.acquire_within(&AcquireRequest { ttl_minutes: 0.0, ..by("a") }, LONG).unwrap_err();
        assert!(error.to_string().contains("ttlMinutes"), "{error}");
    }
}
