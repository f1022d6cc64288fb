//! Values that are more than text. Numbers are what JavaScript's `Number` makes of a text, and an empty one is none.

use std::time::Duration;

use lease_harness::claims::{Claim, Mode, UnknownMode};
use lease_harness::json::{Json, number_from_text};
use lease_harness::store::LONGEST_TTL_MINUTES;

/// A lifetime.
pub(super) fn minutes(text: &str) -> Result<Option<f64>, String> {
    let is_lifetime = |minutes: &f64| 0.0 < *minutes && *minutes <= LONGEST_TTL_MINUTES;
    let refused = || format!("invalid ttlMinutes — must be a positive number ≤ {LONGEST_TTL_MINUTES}");
    given(text, || number_from_text(text).filter(is_lifetime).ok_or_else(refused))
}

/// A span of time. One that is too long for the system is as good as for ever.
pub(super) fn millis(text: &str) -> Result<Option<Duration>, String> {
    let is_span = |millis: &f64| millis.is_finite() && 0.0 <= *millis;
    let refused = || "must be a number of milliseconds, 0 or more".to_owned();
    let span = |millis: f64| Duration::try_from_secs_f64(millis / 1e3).unwrap_or(Duration::MAX);
    given(text, || number_from_text(text).filter(is_span).map(span).ok_or_else(refused))
}

/// The number of a process.
pub(super) fn process(text: &str) -> Result<Option<u32>, String> {
    let refused = || "must be the number of a process".to_owned();
    given(text, || text.trim().parse().ok().filter(|number| 0 < *number && *number <= i32::MAX as u32).ok_or_else(refused))
}

/// A claim: how a resource is wanted, and which.
pub(crate) fn claim(text: &str) -> Result<Claim, String> {
    let (mode, key) = text.split_once(':').ok_or("must be MODE:KEY, as in read:schema")?;
    let mode: Mode = mode.parse().map_err(|error: UnknownMode| error.to_string())?;
    Claim::new(key, mode).map_err(|error| error.to_string())
}

/// A document. There is none that is empty.
pub(super) fn payload(text: &str) -> Result<Json, String> {
    // A text of the command line has no halves of surrogate pairs, which documents write in a way of their own.
    Json::parse(text).map_err(|error| format!("must be JSON: {error}"))
}

fn given<T>(text: &str, read: impl FnOnce() -> Result<T, String>) -> Result<Option<T>, String> {
    if text.is_empty() { Ok(None) } else { read().map(Some) }
}
