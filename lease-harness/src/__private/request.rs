//! Asking for a slot on behalf of a test.

use std::error::Error;
use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::end::say;
use super::site::Site;
use crate::harness::{Slot, SlotError, SlotErrorKind, SlotRequest, Wait, Waiting, acquire_all, minutes};

/// What is asked of which pools.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) pool_files: Vec<PathBuf>,
    pub(super) ttl_minutes: Option<f64>,
    pub(super) wait: Wait,
    pub(super) owner: Option<&'static str>,
}

impl Ask {
    /// What the test at this place asks.
    pub(super) fn of(site: &Site) -> Result<Self, SlotError> {
        Ok(Self {
            pool_files: site.find_pools()?,
            ttl_minutes: site.asked_ttl_minutes(),
            wait: site.asked_wait(),
            owner: site.asked_owner(),
        })
    }

    /// Takes a slot of each pool, as long as somebody waits for them.
    pub(super) fn acquire(&self, given_up: Option<&Arc<AtomicBool>>) -> Result<Vec<Slot>, SlotError> {
        let requests = self.requests().into_iter().map(|request| match given_up {
            Some(given_up) => request.give_up_when(Arc::clone(given_up)),
            None => request,
        });
        acquire_all(requests.collect(), self.wait)
    }

    /// A request for each pool.
    pub(super) fn requests(&self) -> Vec<SlotRequest> {
        self.pool_files.iter().map(|file| self.request(file)).collect()
    }

    /// While a request waits, each change of its place is told on stderr, also of a test whose output is captured:
    /// otherwise it would look stuck.
    fn request(&self, pool_file: &Path) -> SlotRequest {
        let mut request = SlotRequest::from_file(pool_file).on_wait(tell_place);
        if let Some(minutes) = self.ttl_minutes {
            request = request.ttl_minutes(minutes);
        }
        if let Some(owner) = self.owner {
            request = request.owner(owner);
        }
        request
    }
}

/// Tells a waiter's place on stderr.
pub(crate) fn tell_place(Waiting { pool, position, eta, is_for_turn, .. }: &Waiting) {
    if *is_for_turn {
        return say(&format!("pool {pool}: waits for a slot of its run, all of them are in use"));
    }
    let eta = minutes(eta.as_secs_f64() * 1000.0);
    say(&format!("pool {pool} saturated — queue position {position}, eta {eta}"));
}

/// Does the work; a panic in it is an error like others. Otherwise it would let a `#[should_panic]` test pass, or end a
/// constructor, and with it the process, without a word.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, SlotError>) -> Result<T, SlotError> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(SlotError::new(SlotErrorKind::Internal, format!("panicked while getting a slot: {text}")))
    })
}

/// The error with its causes.
pub(crate) fn explain(error: &SlotError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_text() {
        let error = guarded::<()>(|| panic::resume_unwind(Box::new("slot 3"))).unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains("slot 3")), (SlotErrorKind::Internal, true));
        let error = guarded::<()>(|| panic::resume_unwind(Box::new(String::from("slot 4")))).unwrap_err();
        assert!(error.to_string().contains("slot 4"));
    }
}
