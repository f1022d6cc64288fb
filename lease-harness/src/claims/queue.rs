//! Who waits in a scope, in the order in which they came.

use std::path::PathBuf;

use super::error::{ClaimsError, ClaimsResult, RECORD_CORRUPT};
use super::record::whole;
use super::scope::Waiter;
use crate::json::{Json, object};
use crate::sys::disk;

/// The queue of a scope. To be changed inside its lock.
pub(super) struct Queue {
    path: PathBuf,
}

impl Queue {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Everybody, whether he lives or not.
    pub(super) fn read(&self) -> ClaimsResult<Vec<Waiter>> {
        let Some(bytes) = disk::read(&self.path)? else { return Ok(Vec::new()) };
        waiters_of(&bytes).map_err(|what| ClaimsError::damaged(RECORD_CORRUPT, &self.path, what))
    }

    pub(super) fn write(&self, waiters: &[Waiter]) -> ClaimsResult<()> {
        if waiters.is_empty() {
            disk::remove_file(&self.path)?;
            return Ok(());
        }
        let waiters = Json::Array(waiters.iter().map(Waiter::to_json).collect());
        let text = object([("schemaVersion", Json::Number(1.0)), ("waiters", waiters)]).to_text();
        disk::replace_beside(&self.path, text.as_bytes())?;
        Ok(())
    }
}

fn waiters_of(bytes: &[u8]) -> Result<Vec<Waiter>, String> {
    let document = Json::parse_bytes(bytes).map_err(|error| error.to_string())?;
    if document.get("schemaVersion").and_then(whole) != Some(1) {
        return Err("schemaVersion is not 1".to_owned());
    }
    let waiters = document.get("waiters").and_then(Json::as_array).ok_or("it has no list of waiters")?;
    waiters.iter().map(Waiter::from_json).collect()
}
