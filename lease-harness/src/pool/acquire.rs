//! Getting a slot: at once, within a time, or whenever it is our turn.

use std::time::Duration;

use super::error::PoolResult;
use super::grant::{Grant, Granted};
use super::prepare::{HeldSlot, Preparing};
use super::queue::{Entry, Mode};
use super::slot::SlotDef;
use super::standoff::Holding;
use super::sweep::Seen;
use super::{Pool, decide, eta};
use crate::json::{Json, object};
use crate::store::{AcquireRequest, Acquired, Found, Record, StoreResult};
use crate::sys::clock;

/// How long to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Until there is one.
    #[default]
    Forever,
    /// At most so long.
    For(Duration),
    /// Not at all.
    No,
}

/// Who keeps a granted lease alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeping {
    /// This process, as long as it has the [`HeldSlot`].
    #[default]
    Here,
    /// Nobody, as the slot is left to its lifetime at once by [`Pool::leave`]. Where the grant takes time, this process keeps the
    /// lease alive until then; a slot that is had at once and needs not be made clean is left from the beginning.
    Nobody,
}

/// Who asks for a slot, and for how long.
#[derive(Clone, Debug)]
pub struct SlotWanted<'a> {
    /// Who asks; must be inside the fence.
    pub owner: &'a str,
    /// The id of the request, a UUID that no other request has or had; a random one if not given.
    pub request_id: Option<&'a str>,
    /// What is shown to people; the owner if not given.
    pub session: Option<&'a str>,
    /// Lifetime in minutes without a heartbeat; the pool's if not given.
    pub ttl_minutes: Option<f64>,
    /// How long to wait.
    pub wait: Wait,
    /// The longest pause between two looks at the queue; else `POOL_POLL_MS`.
    pub poll: Option<Duration>,
    /// The pause between two heartbeats of the lease; a sixth of its lifetime if not given.
    pub heartbeat: Option<Duration>,
    /// Who keeps the lease alive from the grant on.
    pub keeping: Keeping,
    /// What the asker keeps while it waits.
    pub holding: Holding<'a>,
    /// Who works in the slot, if that is another process than the asker: a name by which it is known on this machine. It is
    /// ended before the slot is granted to somebody else, also if nothing in its environment tells of the grant.
    pub worker: Option<&'a str>,
}

impl<'a> SlotWanted<'a> {
    /// A slot for `owner`, whenever there is one.
    #[must_use]
    pub fn by(owner: &'a str) -> Self {
        let (keeping, holding) = (Keeping::Here, Holding::default());
        let (wait, poll, heartbeat) = (Wait::Forever, None, None);
        Self { owner, request_id: None, session: None, ttl_minutes: None, wait, poll, heartbeat, keeping, holding, worker: None }
    }
}

/// Where a waiter stands at one of its looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Its place, from 1.
    pub position: usize,
    /// About how long it will wait, in milliseconds.
    pub eta_ms: f64,
    /// How long slots were held lately, on average, in milliseconds.
    pub avg_ms: f64,
}

/// Told at every look; answers whether to go on waiting.
pub type OnLook<'a> = dyn FnMut(&Standing) -> bool + 'a;

/// How asking for a slot ended.
#[derive(Debug)]
pub enum Outcome {
    /// The slot is ours, and clean.
    Granted(Box<HeldSlot>),
    /// None is free, and we were not to wait.
    Saturated {
        /// The place we would have had, from 1.
        position: usize,
        /// About how long it would have taken, in milliseconds.
        eta_ms: f64,
    },
    /// The time to wait is over.
    TimedOut {
        /// The request.
        request_id: String,
        /// Its last place, from 1.
        position: usize,
        /// About how long it would still have taken, in milliseconds.
        eta_ms: f64,
        /// How long we waited, in milliseconds.
        waited_ms: f64,
    },
    /// Our place in the queue was taken away: we were silent for too long, or somebody removed it.
    EntryLost {
        /// The request.
        request_id: String,
        /// The limit of silence, in milliseconds.
        waiter_stale_ms: f64,
    },
    /// We hold something out of order, and everybody who could give us a slot waits for those who wait for that.
    Standoff {
        /// The request.
        request_id: String,
    },
    /// The listener said to stop waiting.
    Cancelled {
        /// The request.
        request_id: String,
    },
}

impl Outcome {
    /// The document of format.md.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let refused = |code: &str| vec![("ok", Json::from(false)), ("code", Json::from(code))];
        let with = |mut members: Vec<(&'static str, Json)>, more: Vec<(&'static str, Json)>| {
            members.extend(more);
            object(members)
        };
        match self {
            Self::Granted(held) => held.grant().to_json(),
            Self::Saturated { position, eta_ms } => {
                with(refused("saturated"), vec![("position", Json::from(*position)), ("etaMs", Json::from(*eta_ms))])
            }
            Self::TimedOut { request_id, position, eta_ms, waited_ms } => with(
                refused("timeout"),
                vec![
                    ("request_id", Json::from(request_id)),
                    ("position", Json::from(*position)),
                    ("etaMs", Json::from(*eta_ms)),
                    ("waitedMs", Json::from(*waited_ms)),
                ],
            ),
            Self::EntryLost { request_id, waiter_stale_ms } => {
                let limit = crate::json::number_text(*waiter_stale_ms);
                let note = format!("queue entry dropped as stale (waiterStaleMs={limit}) — re-run acquire");
                with(refused("queue_entry_lost"), vec![("request_id", Json::from(request_id)), ("note", Json::from(note))])
            }
            Self::Standoff { request_id } => with(refused("standoff"), vec![("request_id", Json::from(request_id))]),
            Self::Cancelled { request_id } => with(refused("cancelled"), vec![("request_id", Json::from(request_id))]),
        }
    }
}

impl Pool {
    /// Waits for a slot as long as asked, and makes it ready. `on_look` is told at every look while waiting and may end
    /// the wait.
    ///
    /// # Errors
    /// A usage error for a bad owner or lifetime; `NotReady` when a slot was had and could not be made ready; else when
    /// the store cannot be used. In each case nothing is held and nothing waits.
    ///
    /// # If the process dies
    /// While it waits its entry is dropped, afterwards its lease is reaped, both as soon as another waiter looks.
    pub fn acquire(&self, wanted: &SlotWanted<'_>, on_look: &mut OnLook<'_>) -> PoolResult<Outcome> {
        self.store.fence().check(wanted.owner)?;
        self.agree_on_description(wanted.owner)?;
        let id = wanted.request_id.map_or_else(|| self.store.ids().fresh(), str::to_owned);
        let mut request = Request { id, mode: Mode::Blocking, is_queued: false, wanted };
        let line = self.line()?;
        // Where there was a sweep a moment ago and nobody waits, what is free is free.
        if line.is_empty()
            && !self.is_time_for_upkeep()
            && let Some(held) = self.take_one_of(&request, self.free_at_a_glance())?
        {
            return Ok(Outcome::Granted(Box::new(held)));
        }
        // Who does not wait is told the truth, and whoever waits finds it out.
        let crowd = if wanted.wait == Wait::No { None } else { line.crowd(self.file.slots().len()) };
        let n_waiting = match crowd {
            Some(n_waiting) => n_waiting,
            None => {
                let (_, seen) = self.sweep_and_look_behind(wanted.owner, line.into_queue())?;
                if let Some(held) = self.try_take(&request, &seen, seen.waiting.len())? {
                    return Ok(Outcome::Granted(Box::new(held)));
                }
                seen.waiting.len()
            }
        };
        if wanted.wait == Wait::No {
            let position = n_waiting + 1;
            return Ok(Outcome::Saturated { position, eta_ms: eta::wait_ms(position, self.moving_avg_ms()?) });
        }
        if !self.is_agreed_on()? {
            self.agree_on_description(wanted.owner)?;
        }
        request.is_queued = true;
        self.wait_in_queue(&request, on_look)
    }

    /// Grants a queued entry a slot if it is its turn: `None` if it is not, or there is no such entry of this owner.
    ///
    /// # Errors
    /// As [`Pool::acquire`].
    pub fn try_grant(&self, entry_id: &str, owner: &str, ttl_minutes: Option<f64>) -> PoolResult<Option<HeldSlot>> {
        let (_, seen) = self.sweep_and_look(owner)?;
        let Some(place) = seen.place_of(entry_id) else { return Ok(None) };
        let entry = &seen.waiting[place];
        if entry.owner() != Some(owner) {
            return Ok(None);
        }
        let wanted = SlotWanted { session: entry.session(), ttl_minutes, ..SlotWanted::by(owner) };
        let request = Request { id: entry_id.to_owned(), mode: entry.mode(), is_queued: true, wanted: &wanted };
        self.try_take(&request, &seen, place)
    }

    /// Takes a free slot if there are more than those who wait before `place`, and makes it ready.
    pub(super) fn try_take(&self, request: &Request<'_>, seen: &Seen<'_>, place: usize) -> PoolResult<Option<HeldSlot>> {
        let holds = |id: &str| seen.holding.iter().any(|held| held == id);
        let ahead = decide::waiting_ahead(seen.waiting.iter().map(Entry::id), place, holds);
        if !decide::may_take(seen.n_free(), ahead) {
            return Ok(None);
        }
        self.take_one_of(request, seen.free())
    }

    /// Takes the first of these slots that is free, and makes it ready.
    pub(super) fn take_one_of<'a>(
        &self,
        request: &Request<'_>,
        slots: impl Iterator<Item = &'a SlotDef>,
    ) -> PoolResult<Option<HeldSlot>> {
        for slot in slots {
            let asked = clock::since_boot();
            if let Some(Taken { record, told }) = self.take(request, slot)? {
                return Preparing { pool: self, request, slot, record: &record, told, asked }.finish();
            }
        }
        Ok(None)
    }

    /// Acquires a slot's lease; `None` if somebody was faster.
    fn take(&self, request: &Request<'_>, slot: &SlotDef) -> PoolResult<Option<Taken>> {
        let wanted = request.wanted;
        let session = wanted.session.unwrap_or(wanted.owner);
        let worker = wanted.worker.filter(|_| self.store.has_additions()).map(|name| (WORKER, Json::from(name)));
        let payload =
            [("requestId", Json::from(&request.id)), ("session", Json::from(session)), ("mode", Json::from(request.mode.word()))];
        let payload = object(payload.into_iter().chain(worker));
        let ttl_minutes = wanted.ttl_minutes.unwrap_or_else(|| self.ttl_minutes());
        let lease = AcquireRequest { kind: slot.kind(), owner: wanted.owner, ttl_minutes, payload };
        let mut told = None;
        let acquired = if self.may_be_left_at_once(request) {
            self.acquire_or_leave(&lease, &mut |record| {
                told = Some(self.grant_to_unknown(&Granted { request_id: &request.id, mode: request.mode, slot, record })?);
                Ok(())
            })
        } else {
            self.acquire_lease(&lease)
        };
        if told.is_some() && !matches!(acquired, Ok(Acquired::Acquired { .. })) {
            self.withdraw_grant(&request.id);
        }
        match acquired? {
            Acquired::Held { .. } => Ok(None),
            Acquired::Acquired { record, previous, kind } => {
                if let Some(previous) = previous {
                    // Since our look somebody has taken it, and is gone.
                    if let Found::Lease(dead) = &previous {
                        self.forget_grant_of(slot.kind(), dead);
                        if !self.end_survivors(slot, dead) {
                            self.store.release(slot.kind(), wanted.owner, record.token().unwrap_or_default())?;
                            return Ok(None);
                        }
                    }
                    let shown = previous.to_json(&kind);
                    self.journal("slot_takeover_on_grant", [("slot_id", slot.id().clone()), ("previous", shown)]);
                }
                Ok(Some(Taken { record, told }))
            }
        }
    }

    /// Whether nothing lies between having a slot and leaving it, if it is free.
    fn may_be_left_at_once(&self, request: &Request<'_>) -> bool {
        let wanted = request.wanted;
        let is_left = wanted.keeping == Keeping::Nobody && wanted.request_id.is_none() && !request.is_queued;
        is_left && !self.makes_clean() && self.store.has_additions()
    }

    /// Acquires with what we add to a payload: proof of life and fence number.
    pub(super) fn acquire_lease(&self, lease: &AcquireRequest<'_>) -> PoolResult<Acquired> {
        if !self.store.has_additions() {
            return Ok(self.store.acquire(lease)?);
        }
        Ok(self.store.acquire_fenced(lease, &|_, fence| self.kept_payload(lease, fence), &mut |_| Ok(()))?)
    }

    /// The same for a lease that is nobody's process from the beginning, unless it is one over a dead one, behind which there is
    /// something to clear up. Its grant is written by `tell` before it is there, so that between a lease that is nobody's and the answer
    /// to whoever asked there is no more time than if it had been ours and were handed over in the end.
    fn acquire_or_leave(
        &self,
        lease: &AcquireRequest<'_>,
        tell: &mut dyn FnMut(&Record) -> StoreResult<()>,
    ) -> PoolResult<Acquired> {
        let fenced = |previous: Option<&Record>, fence: u64| {
            if previous.is_some() {
                return self.kept_payload(lease, fence);
            }
            let mut payload = lease.payload.clone();
            if let Some(members) = payload.as_object_mut() {
                members.insert("fence", fence);
            }
            Ok(payload)
        };
        let mut tell = |record: &Record| if record.alive().is_none() { tell(record) } else { Ok(()) };
        Ok(self.store.acquire_fenced(lease, &fenced, &mut tell)?)
    }

    fn kept_payload(&self, lease: &AcquireRequest<'_>, fence: u64) -> StoreResult<Json> {
        let mut payload = lease.payload.clone();
        // Inside the critical section it is known whether the store is still the one that it was.
        let proof = self.store.proof_of_life()?;
        if let (Some(members), Some(proof)) = (payload.as_object_mut(), proof) {
            members.insert("alive", proof.id());
            members.insert("fence", fence);
        }
        Ok(payload)
    }
}

/// A lease that is ours, and its grant if that is written down already.
struct Taken {
    record: Record,
    told: Option<Grant>,
}

/// One who asks, with the id of the request.
pub(super) struct Request<'a> {
    pub(super) id: String,
    pub(super) mode: Mode,
    /// Whether it stands in the queue: then it is granted only as long as it does.
    pub(super) is_queued: bool,
    pub(super) wanted: &'a SlotWanted<'a>,
}

/// Names who works in a slot in the payload of its lease.
const WORKER: &str = "worker";

/// Who works in a held slot besides those who carry its token, if somebody does.
pub(super) fn worker_of(record: &Record) -> Option<&str> {
    record.payload().get(WORKER).and_then(Json::as_str)
}

/// Which request a held slot answers.
pub(super) fn request_of(record: &Record) -> Option<String> {
    record.payload().get("requestId").and_then(Json::as_str).map(str::to_owned)
}
