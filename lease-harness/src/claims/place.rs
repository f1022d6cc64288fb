//! A scope's folder, and its lock.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::ClaimsResult;
use super::names::{check_id, file_stem};
use super::refusal::Refusal;
use crate::store::{CLAIMS, LeaseStore};
use crate::sys::disk::{self, At};
use crate::sys::lock::LockedPlace;

/// The longest pause between two tries to enter. Nobody stays inside for long, and who tries seldom meets the others inside.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Where the claims of a store are.
pub(super) fn claims_folder(store: &LeaseStore) -> PathBuf {
    store.dir().join(CLAIMS)
}

/// Where the claims of a scope are.
pub(super) fn scope_folder(store: &LeaseStore, scope: &str) -> Result<PathBuf, Refusal> {
    check_id("scope", scope)?;
    Ok(claims_folder(store).join(file_stem(scope)))
}

/// Enters a folder alone, within `limit`. The lock ends with the process, however that ends.
///
/// # Errors
/// `LOCK_HELD` when somebody was inside all the time; that says nothing about any lease.
pub(super) fn enter(folder: &Path, limit: Duration) -> ClaimsResult<LockedPlace> {
    disk::create_dirs(folder)?;
    let (begun, mut pause) = (Instant::now(), Duration::from_micros(50));
    loop {
        if let Some(locked) = LockedPlace::lock(folder).at("lock", folder)? {
            return Ok(locked);
        }
        let waited = begun.elapsed();
        if limit <= waited {
            let about = format!("{}; waitedMs={}", folder.display(), waited.as_millis());
            return Err(Refusal::new("LOCK_HELD", about).into());
        }
        std::thread::sleep(pause.min(limit.saturating_sub(waited)));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
