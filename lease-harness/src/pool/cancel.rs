//! Cancelling: an owner who does not want a request's slot any more.

use std::thread;
use std::time::{Duration, Instant};

use super::claim::Claimed;
use super::error::PoolResult;
use super::slot::SlotDef;
use super::{Pool, PoolError};
use crate::json::{Json, object};
use crate::store::{Record, Released};

/// A slot that is being made ready is given back by whoever does that: one of ours looks a few times a second, another
/// program when it is ready.
const WAIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How cancelling a request ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Cancelled {
    /// It has left the queue.
    Dequeued {
        /// The request.
        request_id: String,
    },
    /// Its slot is free again.
    GivenBack {
        /// The request.
        request_id: String,
        /// The slot.
        slot_id: Json,
    },
    /// There was nothing to cancel; what a claim would answer.
    Not(Claimed),
}

impl Cancelled {
    /// Whether it was cancelled.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        !matches!(self, Self::Not(_))
    }

    /// `{ok:true, code:"cancelled", request_id, slot_id?}`, or what a claim answers.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let cancelled = |request_id: &str| {
            vec![("ok", Json::from(true)), ("code", Json::from("cancelled")), ("request_id", Json::from(request_id))]
        };
        match self {
            Self::Not(claimed) => claimed.to_json(),
            Self::Dequeued { request_id } => object(cancelled(request_id)),
            Self::GivenBack { request_id, slot_id } => {
                let mut members = cancelled(request_id);
                members.push(("slot_id", slot_id.clone()));
                object(members)
            }
        }
    }
}

impl Pool {
    /// Gives a request up: it leaves the queue, or its slot is given back, also one that is still being made ready. Only
    /// its owner can do that.
    ///
    /// # Errors
    /// A usage error when the owner is outside the fence; an internal one when a slot that is being made ready is not
    /// given back in time; else when the store cannot be used.
    ///
    /// # If the process dies
    /// The request is cancelled or it is not, and can be cancelled again.
    pub fn cancel(&self, request_id: &str, owner: &str) -> PoolResult<Cancelled> {
        self.store.fence().check(owner)?;
        let request_id = request_id.to_owned();
        if self.grant_path(&request_id).is_none() {
            return Ok(Cancelled::Not(Claimed::Unknown { request_id }));
        }
        self.sweep(owner)?;
        let begun = Instant::now();
        let (mut has_left, mut has_called_off) = (false, false);
        loop {
            let queue = self.read_queue()?;
            if let Some(place) = queue.place_of(&request_id) {
                if queue.entries[place].owner() != Some(owner) {
                    return Ok(Cancelled::Not(not_owner(request_id, queue.entries[place].owner())));
                }
                // Whoever waits may have taken a slot already, and gives it back when it finds its place gone.
                has_left |= self.dequeue(&request_id, owner)?;
            }
            let Some((slot, record)) = self.slot_of(&request_id)? else { break };
            if record.owner() != Some(owner) {
                return Ok(Cancelled::Not(not_owner(request_id, record.owner())));
            }
            has_called_off = true;
            if self.give_up_slot(&request_id, slot, &record)? {
                return Ok(Cancelled::GivenBack { request_id, slot_id: slot.id().clone() });
            }
            if begun.elapsed() > WAIT {
                return Err(still_prepared(&request_id, slot, &record));
            }
            thread::sleep(LOOK_EVERY);
        }
        // Neither waiting nor held: given up by this, or over in another way.
        Ok(match self.read_grant(&request_id)? {
            None if has_left || has_called_off => {
                self.tell_cancelled(&request_id, owner, None);
                Cancelled::Dequeued { request_id }
            }
            None => Cancelled::Not(Claimed::Unknown { request_id }),
            Some(_) => Cancelled::Not(self.claim(&request_id, owner)?),
        })
    }

    /// Gives a granted slot back. Whoever is still making it ready is told to stop, if it is one of ours, and gives it back
    /// when nothing works on it any more.
    fn give_up_slot(&self, request_id: &str, slot: &SlotDef, record: &Record) -> PoolResult<bool> {
        let (owner, token) = (record.owner().unwrap_or_default(), record.token().unwrap_or_default());
        if self.is_made_ready(request_id, record)? {
            if record.alive().is_some() && !record.is_cancelled() {
                self.store.call_off(slot.kind(), owner, token)?;
            }
            return Ok(false);
        }
        let released = self.release(slot, owner, token)?;
        self.tell_cancelled(request_id, owner, Some(slot));
        Ok(matches!(released, Released::Released { .. } | Released::NotHeld { .. }))
    }

    /// Whether somebody may still be making the slot of a request ready: it has no grant yet, of which old ones are deleted.
    /// One of ours names its proof of life meanwhile; of another program's work nothing can be seen.
    fn is_made_ready(&self, request_id: &str, record: &Record) -> PoolResult<bool> {
        let is_ours = record.fence().is_some();
        let may_be = !record.is_claimed() && (record.alive().is_some() || !is_ours);
        Ok(may_be && self.read_grant(request_id)?.is_none())
    }

    fn tell_cancelled(&self, request_id: &str, owner: &str, slot: Option<&SlotDef>) {
        let slot_id = slot.map(|slot| ("slot_id", slot.id().clone()));
        let story = [("request_id", Json::from(request_id)), ("owner", Json::from(owner))];
        self.journal_ours("request_cancelled", story.into_iter().chain(slot_id));
    }
}

fn still_prepared(request_id: &str, slot: &SlotDef, record: &Record) -> PoolError {
    let who =
        if record.alive().is_some() { "whoever does that was told to stop" } else { "by a program that cannot be told to stop" };
    PoolError::internal(format!("slot {} is still being made ready for request {request_id}; {who}", slot.id_text()))
}

fn not_owner(request_id: String, holder: Option<&str>) -> Claimed {
    Claimed::NotOwner { request_id, holder: holder.map(str::to_owned) }
}
