//! From a lease just won to a grant: the slot is made clean under a beating lease before anybody sees it.

use std::sync::Arc;
use std::time::Duration;

use super::acquire::{Keeping, Request};
use super::error::{PoolError, PoolResult};
use super::grant::{self, Grant, Granted};
use super::hooks::{Action, Stop, Unready};
use super::queue::Mode;
use super::slot::SlotDef;
use super::{Pool, end_processes_of, no_heart};
use crate::json::{Json, number_text};
use crate::store::{self, Beat, Found, LostNote, Record};
use crate::sys::clock;

fn beat_from_now_on() -> PoolResult<()> {
    store::beat_from_now_on().map_err(|error| no_heart(&error))
}

/// A granted slot whose lease is kept alive until this is dropped, unless it was asked for to be left at once. Dropping does not
/// give the slot back.
#[derive(Debug)]
pub struct HeldSlot {
    grant: Grant,
    beat: Option<Beat>,
    lost: LostNote,
    taken_at_ms: i64,
    /// Whether its lease never was this process's.
    is_left: bool,
}

impl HeldSlot {
    pub(super) fn is_left(&self) -> bool {
        self.is_left
    }

    /// When its lease was acquired; making it clean came after that.
    pub(crate) fn taken_at_ms(&self) -> i64 {
        self.taken_at_ms
    }

    /// The grant.
    #[must_use]
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Why the lease was lost, if it was.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.lost.get()
    }

    /// Tells `on_lost` of a loss from now on; one that has happened already is in [`HeldSlot::lost`].
    pub(crate) fn on_lost(&self, mut on_lost: impl FnMut(String) + Send + 'static) {
        let note = self.lost.clone();
        let Some(beat) = &self.beat else { return };
        beat.redirect(move |reason| {
            note.set(reason.clone());
            on_lost(reason);
        });
    }
}

/// A lease that is ours, on a slot that is not yet clean.
pub(super) struct Preparing<'a> {
    pub(super) pool: &'a Pool,
    pub(super) request: &'a Request<'a>,
    pub(super) slot: &'a SlotDef,
    pub(super) record: &'a Record,
    /// The grant, if it was written down before the lease was there.
    pub(super) told: Option<Grant>,
    /// When the lease was asked for, by the clock that goes on while we are suspended.
    pub(super) asked: Duration,
}

impl Preparing<'_> {
    fn owner(&self) -> &str {
        self.request.wanted.owner
    }

    fn token(&self) -> &str {
        self.record.token().unwrap_or_default()
    }

    fn ttl_minutes(&self) -> f64 {
        self.record.ttl_minutes().unwrap_or_default()
    }

    fn half_its_life(&self) -> Duration {
        Duration::try_from_secs_f64(self.ttl_minutes() * 30.0).unwrap_or(Duration::MAX)
    }

    /// Leaves the queue, makes the slot clean, checks that the lease is still ours, and tells. None, and the slot given back,
    /// if the request's place in the queue was taken away since the look that found it, or the request was cancelled since:
    /// whoever was cancelled is not granted.
    pub(super) fn finish(&self) -> PoolResult<Option<HeldSlot>> {
        let taken_at_ms = self.pool.store.now_ms();
        let (request, makes_clean) = (self.request, self.pool.makes_clean());
        let lost = LostNote::default();
        let is_agreed_on = self.or_give_up(self.pool.is_agreed_on())?;
        // Leaving the queue, or agreeing anew, may have to wait for the queue's lock.
        let takes_time = request.is_queued || makes_clean || !is_agreed_on;
        let is_beaten = takes_time || request.wanted.keeping == Keeping::Here;
        let beat = is_beaten.then(|| self.or_give_up(self.start_beat(&lost))).transpose()?;
        if takes_time {
            self.or_give_up(beat_from_now_on())?;
        }
        if !is_agreed_on {
            self.or_give_up(self.pool.agree_anew(self.owner()))?;
        }
        if request.is_queued {
            let had_place = self.or_give_up(self.pool.dequeue_known(&request.id, self.owner()))?;
            if !had_place && self.pool.store.has_additions() {
                self.give_back();
                return Ok(None);
            }
        }
        if makes_clean && let Some(answer) = self.make_clean(&lost) {
            return answer;
        }
        let is_at_once = !takes_time && clock::since_boot().saturating_sub(self.asked) < self.half_its_life();
        if !is_at_once {
            let record = self.or_give_up(self.our_lease())?;
            let Some(record) = record.filter(|_| lost.get().is_none()) else { return Err(self.lease_lost()) };
            if self.pool.store.has_additions() && record.is_cancelled() {
                return self.given_up("the request was cancelled");
            }
        }
        let grant = self.or_give_up(self.tell())?;
        if self.request.mode == Mode::Async {
            self.pool.nudge(&grant, self.request.wanted.session.unwrap_or(self.owner()));
        }
        Ok(Some(HeldSlot { grant, beat, lost, taken_at_ms, is_left: self.told.is_some() }))
    }

    /// Runs the pool's commands; if the slot is not clean then, what the request is answered.
    fn make_clean(&self, lost: &LostNote) -> Option<PoolResult<Option<HeldSlot>>> {
        let pool = &self.pool.stopped_by(self.calling_off());
        for (action, state, event) in
            [(Action::Provision, "reset_failed", "grant_reset_failed"), (Action::Health, "health_failed", "grant_health_failed")]
        {
            if let Err(error) = pool.run_action(action, self.slot, Some(self.token())) {
                // A command that we ended ourselves did not fail.
                return Some(match () {
                    () if lost.get().is_some() || self.was_taken() => Err(self.lease_lost()),
                    () if self.is_called_off() => self.given_up("the request was cancelled"),
                    () if self.pool.is_stopped() => self.given_up("whoever asked was told to stop"),
                    () => Err(self.failed(state, event, error)),
                });
            }
        }
        None
    }

    /// Says whether the request was cancelled.
    fn calling_off(&self) -> Option<Stop> {
        let (store, kind, token) = (self.pool.store.clone(), self.slot.kind().to_owned(), self.token().to_owned());
        let is_called_off = move || matches!(store.found(&kind), Ok(Found::Lease(record)) if record.token() == Some(&token) && record.is_cancelled());
        self.pool.store.has_additions().then(|| Arc::new(is_called_off) as Stop)
    }

    fn is_called_off(&self) -> bool {
        self.calling_off().is_some_and(|is_called_off| is_called_off())
    }

    fn start_beat(&self, lost: &LostNote) -> PoolResult<Beat> {
        let every = self.request.wanted.heartbeat.unwrap_or_else(|| store::pause_for(self.ttl_minutes()));
        let note = lost.clone();
        self.pool.beat(self.slot, self.owner(), self.token(), every, move |reason| note.set(reason))
    }

    /// The lease, if it is still ours and alive.
    fn our_lease(&self) -> PoolResult<Option<Record>> {
        let Found::Lease(record) = self.pool.store.found(self.slot.kind())? else { return Ok(None) };
        let is_ours = record.owner() == Some(self.owner()) && record.token() == Some(self.token());
        Ok(Some(record).filter(|record| is_ours && !record.is_expired(self.pool.store.now_ms())))
    }

    /// Whether others have taken the lease, and have ended our command for that, while we were suspended: our own heartbeat has
    /// not noticed it yet.
    fn was_taken(&self) -> bool {
        self.pool.store.has_additions() && matches!(self.our_lease(), Ok(None))
    }

    fn tell(&self) -> PoolResult<Grant> {
        let (request, slot) = (self.request, self.slot);
        let grant = match &self.told {
            Some(grant) => grant.clone(),
            None => self.write_grant()?,
        };
        let story = [
            ("slot_id", slot.id().clone()),
            ("request_id", Json::from(&request.id)),
            ("owner", Json::from(self.owner())),
            ("mode", Json::from(request.mode.word())),
        ];
        self.pool.journal("granted", story);
        Ok(grant)
    }

    fn write_grant(&self) -> PoolResult<Grant> {
        let request = self.request;
        let granted = Granted { request_id: &request.id, mode: request.mode, slot: self.slot, record: self.record };
        if !request.is_queued && request.wanted.request_id.is_none() {
            return Ok(self.pool.grant_to_unknown(&granted)?);
        }
        self.pool.write_grant(&granted)
    }

    /// Gives the slot back when something fails that is not the slot's fault.
    fn or_give_up<T>(&self, result: PoolResult<T>) -> PoolResult<T> {
        if result.is_err() {
            self.give_back();
        }
        result
    }

    fn give_back(&self) {
        if self.told.is_some() {
            self.pool.withdraw_grant(&self.request.id);
        }
        let _ = self.pool.store.release(self.slot.kind(), self.owner(), self.token());
    }

    fn failed(&self, state: &str, event: &str, why: Unready) -> PoolError {
        // What the command has started and left behind can be told by its token now, and by nobody afterwards.
        let _ = end_processes_of(self.token());
        self.give_back();
        let error = self.record(state, event, &why.text, [("error", Json::from(&why.text))]);
        match why.source {
            Some(source) => error.because(source),
            None => error,
        }
    }

    /// The slot is given back because nobody wants it any more, and no file has to tell: who brought that about knows. The
    /// request has left the queue before; one that never stood there has no next look that would find that out.
    fn given_up(&self, why: &str) -> PoolResult<Option<HeldSlot>> {
        let _ = end_processes_of(self.token());
        self.give_back();
        self.pool.journal_ours("grant_cancelled", self.which().into_iter().chain([("reason", Json::from(why))]));
        if self.request.is_queued {
            return Ok(None);
        }
        let error = format!("slot {} was given up while it was made ready: {why}", self.slot.id_text());
        let failure = grant::failure("cancelled", &self.request.id, self.slot, &error, self.pool.store.now_ms());
        Err(PoolError::not_ready(error, failure))
    }

    fn which(&self) -> [(&'static str, Json); 2] {
        [("slot_id", self.slot.id().clone()), ("request_id", Json::from(&self.request.id))]
    }

    /// The slot is no longer ours, so it is not given back.
    fn lease_lost(&self) -> PoolError {
        let id = self.slot.id_text();
        let ttl = number_text(self.ttl_minutes());
        let error =
            format!("slot {id} lease lost during reset (ttl {ttl}m shorter than the reset, or taken over) — increase --ttl");
        self.record("lease_lost_during_reset", "grant_lease_lost_during_reset", &error, [])
    }

    fn record<const N: usize>(&self, state: &str, event: &str, error: &str, more: [(&'static str, Json); N]) -> PoolError {
        let now = self.pool.store.now_ms();
        let failure = grant::failure(state, &self.request.id, self.slot, error, now);
        // What failed is told by the error; the file is for who asks later, and a full disk must not change the answer.
        let _ = self.pool.write_failure(&self.request.id, &failure);
        self.pool.journal(event, self.which().into_iter().chain(more));
        PoolError::not_ready(error, failure)
    }
}
