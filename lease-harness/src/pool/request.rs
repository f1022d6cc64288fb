//! Deferred requests: a place in the queue now, a slot later, and an owner who comes back for it.

use std::time::Instant;

use super::Pool;
use super::acquire::{OnLook, Outcome, Request, SlotWanted};
use super::ears::Ears;
use super::error::{PoolError, PoolResult};
use super::queue::Mode;
use super::waiting::Waiter;
use crate::json::{Json, object};
use crate::store;

/// A request that waits in the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Requested {
    /// The request, by which it is claimed.
    pub request_id: String,
    /// Who asks.
    pub owner: String,
    /// What for.
    pub session: String,
    /// Its place, from 1.
    pub position: usize,
    /// About how long it will wait, in milliseconds.
    pub eta_ms: f64,
}

impl Requested {
    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        object([
            ("ok", Json::from(true)),
            ("queued", Json::from(true)),
            ("request_id", Json::from(&self.request_id)),
            ("owner", Json::from(&self.owner)),
            ("session", Json::from(&self.session)),
            ("position", Json::from(self.position)),
            ("etaMs", Json::from(self.eta_ms)),
        ])
    }
}

impl Pool {
    /// Joins the queue for a slot that its owner claims later. Whoever calls this waits on its behalf, with
    /// [`Pool::wait_for`] or [`Pool::try_grant`].
    ///
    /// # Errors
    /// A usage error for a bad owner; else when the queue cannot be changed. In each case nothing waits.
    ///
    /// # If the process dies
    /// Its entry is dropped as soon as somebody looks who believes in proofs of life, else when its heartbeat is stale.
    pub fn request(&self, wanted: &SlotWanted<'_>) -> PoolResult<Requested> {
        self.store().fence().check(wanted.owner)?;
        self.agree_on_description(wanted.owner)?;
        self.sweep(wanted.owner)?;
        let session = wanted.session.unwrap_or(wanted.owner);
        let joined = self.enqueue(wanted.owner, Some(session), Mode::Async)?;
        let requested = Requested {
            request_id: joined.entry.id().to_owned(),
            owner: wanted.owner.to_owned(),
            session: session.to_owned(),
            position: joined.position,
            eta_ms: joined.eta_ms,
        };
        let story = [
            ("request_id", Json::from(&requested.request_id)),
            ("owner", Json::from(&requested.owner)),
            ("session", Json::from(&requested.session)),
            ("position", Json::from(requested.position)),
        ];
        self.journal("request_queued", story);
        Ok(requested)
    }

    /// Waits for the turn of a request that this process has queued, as long as `wanted` says, and makes its slot ready.
    /// Its owner is told by a nudge. `on_look` is told at every look while waiting and may end the wait.
    ///
    /// # Errors
    /// As [`Pool::acquire`].
    pub fn wait_for(&self, requested: &Requested, wanted: &SlotWanted<'_>, on_look: &mut OnLook<'_>) -> PoolResult<Outcome> {
        let request = Request { id: requested.request_id.clone(), mode: Mode::Async, is_queued: true, wanted };
        let ears = Ears::of(self, &request);
        self.wait_to_the_end(Waiter::new(self, &request, ears), on_look, Instant::now())
    }

    /// Tells the journal why a request that nobody waits for any more was not granted. A slot that could not be made ready
    /// has told that itself.
    pub(crate) fn tell_not_granted(&self, requested: &Requested, ended: Result<&Outcome, &PoolError>) {
        let reason = match ended {
            Ok(outcome) => outcome.to_json().get("code").cloned().unwrap_or_default(),
            Err(error) if error.failure().is_some() => return,
            Err(error) => Json::from(store::chain(error)),
        };
        let story =
            [("request_id", Json::from(&requested.request_id)), ("owner", Json::from(&requested.owner)), ("reason", reason)];
        self.journal_ours("request_not_granted", story);
    }
}
