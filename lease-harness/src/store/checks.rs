//! What a lease may be called, and how long it may live.

use super::LONGEST_TTL_MINUTES;
use super::error::{StoreError, StoreResult};
use super::owner::quoted;
use crate::json::Json;

/// Whether a text may be a kind: `^[a-z0-9][a-z0-9._-]{0,127}$`.
#[must_use]
pub fn is_kind(text: &str) -> bool {
    let [b'a'..=b'z' | b'0'..=b'9', rest @ ..] = text.as_bytes() else { return false };
    let mut rest = rest;
    while let [b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-', behind @ ..] = rest {
        rest = behind;
    }
    rest.is_empty() && text.len() <= 128
}

pub(super) fn check_kind(kind: &str) -> StoreResult<()> {
    if is_kind(kind) {
        return Ok(());
    }
    Err(StoreError::usage(format!("invalid kind {} — must match /^[a-z0-9][a-z0-9._-]{{0,127}}$/", quoted(kind))))
}

pub(super) fn check_ttl(minutes: f64) -> StoreResult<()> {
    if minutes > 0.0 && minutes <= LONGEST_TTL_MINUTES {
        return Ok(());
    }
    let shown = Json::from(minutes).to_text();
    let message =
        format!("invalid ttlMinutes {shown} — must be a positive number ≤ {LONGEST_TTL_MINUTES} (= stale_lock_minutes)");
    Err(StoreError::usage(message))
}
