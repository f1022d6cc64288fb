//! Claiming: the owner of a deferred request comes back for its slot.

use std::time::{Duration, Instant};

use super::acquire::Outcome;
use super::error::{PoolError, PoolResult};
use super::grant::FOLDER;
use super::{Pool, eta};
use crate::json::{Json, Object, object};
use crate::store::{self, Found, Record, Refreshed};
use crate::sys::watch::Watch;

/// What a claim finds.
#[derive(Clone, Debug, PartialEq)]
pub enum Claimed {
    /// The grant. From now on nobody else keeps its lease alive.
    Ready(Json),
    /// The recorded failure, as it stands.
    Failed(Json),
    /// It still waits.
    Queued {
        /// The request.
        request_id: String,
        /// Its place, from 1; 0 while its slot is being made ready.
        position: usize,
        /// About how long it will wait, in milliseconds.
        eta_ms: f64,
    },
    /// It still waits, and we do not any more.
    TimedOut {
        /// The request.
        request_id: String,
        /// Its place, from 1; 0 while its slot is being made ready.
        position: usize,
        /// About how long it will still take, in milliseconds.
        eta_ms: f64,
        /// How long we waited, in milliseconds.
        waited_ms: f64,
    },
    /// It is granted, to somebody else.
    NotOwner {
        /// The request.
        request_id: String,
        /// Who it is granted to.
        holder: Option<String>,
    },
    /// It was granted, and the lease has ended since.
    LeaseLost {
        /// The request.
        request_id: String,
        /// The slot, as the grant spells it.
        slot_id: Json,
    },
    /// It was granted a slot that the pool file has no more.
    UnknownSlot {
        /// The request.
        request_id: String,
        /// The slot, as the grant spells it.
        slot_id: Json,
    },
    /// Neither queued nor granted.
    Unknown {
        /// The request.
        request_id: String,
    },
}

impl Claimed {
    /// Whether it is granted or still waits. What another program recorded counts as a failure only if it says so.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        match self {
            Self::Ready(_) | Self::Queued { .. } => true,
            Self::Failed(failure) => failure.get("ok").and_then(Json::as_bool) != Some(false),
            _ => false,
        }
    }

    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let refused = |key: &'static str, word: &str, request_id: &str| {
            vec![("ok", Json::from(false)), (key, Json::from(word)), ("request_id", Json::from(request_id))]
        };
        object(match self {
            Self::Ready(document) | Self::Failed(document) => return document.clone(),
            Self::Queued { request_id, position, eta_ms } => vec![
                ("ok", Json::from(true)),
                ("queued", Json::from(true)),
                ("request_id", Json::from(request_id)),
                ("position", Json::from(*position)),
                ("etaMs", Json::from(*eta_ms)),
            ],
            Self::TimedOut { request_id, position, eta_ms, waited_ms } => {
                let (request_id, position, eta_ms, waited_ms) = (request_id.clone(), *position, *eta_ms, *waited_ms);
                return Outcome::TimedOut { request_id, position, eta_ms, waited_ms }.to_json();
            }
            Self::NotOwner { request_id, holder } => {
                let mut members = refused("code", "not_owner", request_id);
                members.push(("holder", Json::from(holder.as_deref())));
                members
            }
            Self::LeaseLost { request_id, slot_id } => {
                let mut members = refused("state", "lease_lost", request_id);
                members.push(("slot_id", slot_id.clone()));
                members.push(("note", Json::from(LOST)));
                members
            }
            Self::UnknownSlot { request_id, slot_id } => {
                let mut members = refused("state", "unknown_slot", request_id);
                members.push(("slot_id", slot_id.clone()));
                members.push(("note", Json::from("the granted slot is not in the pool file any more — re-request")));
                members
            }
            Self::Unknown { request_id } => {
                let mut members = refused("code", "unknown_request", request_id);
                members.push(("note", Json::from(UNKNOWN)));
                members
            }
        })
    }
}

/// Who waits for a grant looks this often: its file lies in a folder that nobody watches.
const LOOK_EVERY: Duration = Duration::from_millis(100);

const LOST: &str = "the granted lease expired or was taken over before it was claimed — re-request";
const UNKNOWN: &str = "not queued and no grant on file — re-request";

impl Pool {
    /// Answers a request's grant to its owner, as often as asked while its lease lives, or where it stands.
    ///
    /// The first claim of a deferred request takes over the duty to keep its lease alive: it refreshes the lease, and who
    /// waited for it lets go. From then on the lease lives by the heartbeats of its owner, or by its TTL.
    ///
    /// # Errors
    /// A usage error when the owner is outside the fence; else when the store cannot be used.
    ///
    /// # If the process dies
    /// The lease is claimed or it is not: then it can be claimed again until whoever waited gives it back.
    pub fn claim(&self, request_id: &str, owner: &str) -> PoolResult<Claimed> {
        self.store.fence().check(owner)?;
        let unknown = || Claimed::Unknown { request_id: request_id.to_owned() };
        if self.grant_path(request_id).is_none() {
            return Ok(unknown());
        }
        if let Some(document) = self.read_grant(request_id)? {
            return self.claim_recorded(request_id, owner, document);
        }
        self.sweep(owner)?;
        if let Some(queued) = self.standing_of(request_id)? {
            return Ok(queued);
        }
        // It may have been granted since the first look.
        match self.read_grant(request_id)? {
            Some(document) => self.claim_recorded(request_id, owner, document),
            None => Ok(unknown()),
        }
    }

    /// The same, but waits at most so long for the grant of a request that still waits.
    ///
    /// # Errors
    /// As [`Pool::claim`].
    pub fn claim_within(&self, request_id: &str, owner: &str, limit: Duration) -> PoolResult<Claimed> {
        let (pool, grants) = (self.dir(), self.path(FOLDER));
        let folders: Vec<_> = [&*pool, &*grants].into_iter().filter(|folder| folder.is_dir()).collect();
        let watch = Watch::new(&folders, Vec::new());
        let begun = Instant::now();
        loop {
            let (position, eta_ms) = match self.claim(request_id, owner)? {
                Claimed::Queued { position, eta_ms, .. } => (position, eta_ms),
                claimed => return Ok(claimed),
            };
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                let (request_id, waited_ms) = (request_id.to_owned(), store::millis(limit));
                return Ok(Claimed::TimedOut { request_id, position, eta_ms, waited_ms });
            }
            watch.sleep(left.min(LOOK_EVERY));
        }
    }

    /// The grant or the failure of a request; none if there is none that can be read.
    pub(super) fn read_grant(&self, request_id: &str) -> PoolResult<Option<Object>> {
        let bytes = self.store.read(&self.path(&format!("{FOLDER}/{request_id}.json")))?;
        Ok(bytes.and_then(|bytes| Json::parse_bytes(&bytes).ok()).and_then(Json::into_object))
    }

    fn claim_recorded(&self, request_id: &str, owner: &str, document: Object) -> PoolResult<Claimed> {
        if document.get("state").and_then(Json::as_str) != Some("ready") {
            return Ok(Claimed::Failed(Json::Object(document)));
        }
        let request_id = request_id.to_owned();
        let slot_id = document.get("slot_id").cloned().unwrap_or_default();
        let Ok(slot) = self.slot(Some(&slot_id)) else { return Ok(Claimed::UnknownSlot { request_id, slot_id }) };
        let token = document.get("token").and_then(Json::as_str);
        let Some(record) = self.live(slot.kind())?.filter(|record| token.is_some() && record.token() == token) else {
            return Ok(Claimed::LeaseLost { request_id, slot_id });
        };
        if record.owner() != Some(owner) {
            return Ok(Claimed::NotOwner { request_id, holder: record.owner().map(str::to_owned) });
        }
        if self.is_kept_by_waiter(&record) {
            let taken_over = self.store.hand_over_claimed(slot.kind(), owner, token.unwrap_or_default())?;
            if !matches!(taken_over, Refreshed::Refreshed { .. }) {
                return Ok(Claimed::LeaseLost { request_id, slot_id });
            }
        }
        Ok(Claimed::Ready(Json::Object(document)))
    }

    /// The lease of a kind, if it binds somebody.
    pub(super) fn live(&self, kind: &str) -> PoolResult<Option<Record>> {
        Ok(match self.store.found(kind)? {
            Found::Lease(record) if !self.store.is_dead(kind, &record, self.store.now_ms()) => Some(record),
            _ => None,
        })
    }

    /// Whether the process that waited for a deferred request keeps its lease alive, and will end it if it does not hear of
    /// a claim. Where its proof of life cannot be seen it may well live.
    fn is_kept_by_waiter(&self, record: &Record) -> bool {
        let deferred = record.payload().get("mode").and_then(Json::as_str) == Some("async");
        self.store.has_additions() && deferred && !record.is_claimed() && record.alive().is_some()
    }

    /// Where a request waits: in the queue, or for its slot to be made ready.
    fn standing_of(&self, request_id: &str) -> PoolResult<Option<Claimed>> {
        let average = self.moving_avg_ms()?;
        let queued = |position, eta_ms| Claimed::Queued { request_id: request_id.to_owned(), position, eta_ms };
        if let Some(place) = self.read_queue()?.place_of(request_id) {
            return Ok(Some(queued(place + 1, eta::wait_ms(place + 1, average))));
        }
        let is_prepared = self.store.has_additions() && self.slot_of(request_id)?.is_some();
        Ok((is_prepared && self.read_grant(request_id)?.is_none()).then(|| queued(0, 0.0)))
    }

    /// The slot that is held for a request, and its lease.
    pub(super) fn slot_of(&self, request_id: &str) -> PoolResult<Option<(&super::SlotDef, Record)>> {
        for slot in self.file.slots() {
            if let Some(record) = self.live(slot.kind())?
                && super::acquire::request_of(&record).as_deref() == Some(request_id)
            {
                return Ok(Some((slot, record)));
            }
        }
        Ok(None)
    }

    /// The slot that a request has been granted and still holds, and its lease.
    ///
    /// # Errors
    /// When the slot is still being made ready, by another process; else when the store cannot be used.
    pub(crate) fn granted(&self, request_id: &str) -> PoolResult<Option<(&super::SlotDef, Record)>> {
        let Some((slot, record)) = self.slot_of(request_id)? else { return Ok(None) };
        let grant = self.read_grant(request_id)?;
        if grant.is_none_or(|grant| grant.get("token").and_then(Json::as_str) != record.token()) {
            let message = format!("slot {} is being made ready for the same request, {request_id}, just now", slot.id_text());
            return Err(PoolError::internal(message));
        }
        Ok(Some((slot, record)))
    }
}
