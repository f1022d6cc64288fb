//! Time and fresh ids, injectable so that tests decide both.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time as milliseconds since 1970, UTC. A clone tells the same time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::from_fn(system_millis)
    }

    /// A clock that asks `tell` each time.
    pub fn from_fn(tell: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The time in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

fn system_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |passed| i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
}

/// Time since the machine started, with the time it slept. It never jumps, and a lease goes on ageing while all sleep.
pub(crate) fn since_boot() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    // Darwin's monotonic clock counts sleep as well.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(CLOCK);
    Duration::try_from(now).unwrap_or_default()
}

/// A time that clones share, by [`since_boot`]; at first the start of the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedTime(Arc<AtomicU64>);

impl SharedTime {
    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, time: Duration) {
        self.0.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Makes ids: random UUIDs, or what a test wants.
#[derive(Clone)]
pub struct Ids(Arc<dyn Fn() -> String + Send + Sync>);

impl Ids {
    /// Random UUIDs, version 4.
    #[must_use]
    pub fn random() -> Self {
        Self::from_fn(|| uuid_of(super::random::sixteen_bytes()))
    }

    /// Ids that `make` makes; they must be UUIDs and differ.
    pub fn from_fn(make: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// A fresh id.
    #[must_use]
    pub fn fresh(&self) -> String {
        (self.0)()
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ids")
    }
}

/// A UUID of random bytes (RFC 9562, version 4).
fn uuid_of(mut random: [u8; 16]) -> String {
    random[6] = random[6] & 0x0F | 0x40;
    random[8] = random[8] & 0x3F | 0x80;
    let digits = format!("{:032x}", u128::from_be_bytes(random));
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

/// Some number below `limit`, another one each time; for choices that anything may make.
pub(crate) fn any_below(limit: usize) -> usize {
    u128::from_ne_bytes(super::random::sixteen_bytes()) as usize % limit.max(1)
}

/// Whether `text` is a UUID in the usual form. Ids become file names only after this check.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_become_a_uuid() {
        for random in [[0; 16], [0xFF; 16], std::array::from_fn(|place| place as u8 * 17), crate::sys::random::sixteen_bytes()] {
            let uuid = uuid_of(random);
            assert_eq!(uuid, uuid::Builder::from_random_bytes(random).into_uuid().to_string());
            assert!(is_uuid(&uuid) && is_uuid(&uuid.to_uppercase()));
        }
    }

    #[test]
    fn what_is_no_uuid_in_the_usual_form_is_refused() {
        let uuid = "0123abcd-4567-89ef-0123-456789abcdef";
        assert!(is_uuid(uuid));
        for place in 0..uuid.len() {
            for other in ["-", "g", "G", "/", ".", " ", "é", ""] {
                let text = format!("{}{other}{}", &uuid[..place], &uuid[place + 1..]);
                let is_right = text.len() == 36 && uuid::Uuid::try_parse(&text).is_ok();
                assert_eq!(is_uuid(&text), is_right, "{text}");
            }
        }
        let uuid = uuid::Uuid::nil();
        for text in [String::new(), uuid.simple().to_string(), uuid.braced().to_string(), uuid.urn().to_string(), "é".repeat(18)]
        {
            assert!(!is_uuid(&text), "{text}");
        }
    }
}
