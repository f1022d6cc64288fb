//! What a request is refused for before anything is asked of the pool.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use super::super::error::{SlotError, SlotErrorKind};
use super::super::grants;
use crate::pool::{Pool, PoolFileError};
use crate::store::Env;
use crate::sys::disk;

pub(super) fn kinds_of(pool: &Pool) -> BTreeSet<String> {
    pool.file().slots().iter().map(|slot| slot.kind().to_owned()).collect()
}

/// Refuses a pool that shares a lease with another one whose slot this process is under: it would wait for itself.
pub(super) fn refuse_shared_kinds(env: &Env, pool: &Pool) -> Result<(), SlotError> {
    let store = pool.store().dir();
    let outer = grants::all_in(env, store);
    if outer.is_empty() {
        return Ok(());
    }
    let ours = kinds_of(pool);
    let shared = outer.into_iter().find(|(_, outer)| ours.contains(&outer.kind));
    shared.map_or(Ok(()), |(other, outer)| Err(shared_kind(&other, pool.file().name(), store, &outer.kind)))
}

/// Two pools with one lease are two names for one slot.
pub(in crate::harness) fn shared_kind(one: &str, other: &str, store: &Path, kind: &str) -> SlotError {
    let store = store.display();
    let message = format!(
        "the pools {one} and {other} in {store} share the lease {kind}, so a slot of the one is a slot of the other: give one of \
         them a \"kindPrefix\" of its own, such as \"{other}-\""
    );
    SlotError::new(SlotErrorKind::Usage, message)
}

/// A refusal that says of which file it speaks.
pub(super) fn about_file(error: &PoolFileError) -> SlotError {
    let slot_error = SlotError::new(SlotErrorKind::Usage, error.full_message());
    match error.source() {
        Some(cause) => slot_error.because(cause),
        None => slot_error,
    }
}

/// A store that cannot be written would fail each test for itself; this says so once, before anything runs.
pub(super) fn check_writable(store: &Path) -> Result<(), SlotError> {
    let Some(existing) = store.ancestors().find(|dir| dir.exists()) else { return Ok(()) };
    let refused = |why: String| {
        let message = format!("the store {} cannot be written: {why}", store.display());
        Err(SlotError::new(SlotErrorKind::Internal, message))
    };
    if !existing.is_dir() {
        return refused(format!("{} is no directory", existing.display()));
    }
    disk::check_writable(existing).or_else(|error| refused(format!("{}: {error}", existing.display())))
}
