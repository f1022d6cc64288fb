//! Getting a slot: at once, within a time, or whenever it is our turn.

use std::time::{Duration, Instant};

use super::error::PoolResult;
use super::prepare::{HeldSlot, Preparing};
use super::queue::{Entry, Mode, NewEntry, Queue};
use super::slot::SlotDef;
use super::standoff::{Holding, Outlook};
use super::{Pool, decide, eta};
use crate::json::{Json, number_from_text, object};
use crate::store::{self, AcquireRequest, Acquired, Env, Found, Record};
use crate::sys::watch::{Watch, Woken};

/// A waiter looks this often even if nothing is reported: at holders that died where it cannot be watched.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// After something changed it looks again soon: a dying process is reported just before its lock is free.
const FIRST_LOOK: Duration = Duration::from_millis(1);

/// So many times as far from its turn as there are slots, a waiter hears of changes; one that is farther away only looks
/// now and then.
const HEARING: usize = 4;

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

/// Who asks for a slot, and for how long.
#[derive(Clone, Debug)]
pub struct SlotWanted<'a> {
    /// Who asks; must be inside the fence.
    pub owner: &'a str,
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
    /// What the asker keeps while it waits.
    pub holding: Holding<'a>,
}

impl<'a> SlotWanted<'a> {
    /// A slot for `owner`, whenever there is one.
    #[must_use]
    pub fn by(owner: &'a str) -> Self {
        let holding = Holding::default();
        Self { owner, session: None, ttl_minutes: None, wait: Wait::Forever, poll: None, heartbeat: None, holding }
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
        self.sweep(wanted.owner)?;
        let mut request = Request { id: self.store.ids().fresh(), mode: Mode::Blocking, is_queued: false, wanted };
        let waiting = self.waiting(self.store.now_ms())?;
        if let Some(held) = self.try_take(&request, &waiting)? {
            return Ok(Outcome::Granted(Box::new(held)));
        }
        if wanted.wait == Wait::No {
            let position = waiting.len() + 1;
            return Ok(Outcome::Saturated { position, eta_ms: eta::wait_ms(position, self.moving_avg_ms()?) });
        }
        request.is_queued = true;
        self.wait_in_queue(&request, on_look)
    }

    fn wait_in_queue(&self, request: &Request<'_>, on_look: &mut OnLook<'_>) -> PoolResult<Outcome> {
        let watch = self.watch();
        let begun = Instant::now();
        let SlotWanted { owner, session, holding, .. } = *request.wanted;
        self.enqueue_as(&NewEntry { id: &request.id, owner, session, mode: request.mode, holds: holding.kinds })?;
        self.wait_to_the_end(request, on_look, &watch, begun)
    }

    /// Hears of what can be news to a waiter.
    pub(super) fn watch(&self) -> Watch {
        Watch::new(&[self.store.dir(), &self.dir(), &store::alive_folder(self.store.dir())], self.names_without_news())
    }

    /// Waits with a place in the queue, and leaves it unless it was granted.
    pub(super) fn wait_to_the_end(
        &self,
        request: &Request<'_>,
        on_look: &mut OnLook<'_>,
        watch: &Watch,
        begun: Instant,
    ) -> PoolResult<Outcome> {
        let ended = self.wait_for_turn(request, on_look, watch, begun);
        if !matches!(ended, Ok(Outcome::Granted(_) | Outcome::EntryLost { .. })) {
            // Also on an error: whoever gave up must not be granted later, and must not hold up those behind.
            let left = self.dequeue(&request.id, request.wanted.owner);
            if ended.is_ok() {
                left?;
            }
        }
        ended
    }

    fn wait_for_turn(
        &self,
        request: &Request<'_>,
        on_look: &mut OnLook<'_>,
        watch: &Watch,
        begun: Instant,
    ) -> PoolResult<Outcome> {
        let poll = request.wanted.poll.or_else(|| poll_from(&self.env));
        let mut pause = Pause::new(poll, watch.is_live());
        // Who is to wait at all is told once where it stands, however long joining the queue took.
        let mut is_told = request.wanted.wait == Wait::For(Duration::ZERO);
        let mut outlook = Outlook::of(request);
        loop {
            let (place, entry, distance) = match self.look(request)? {
                Look::Granted(held) => return Ok(Outcome::Granted(held)),
                Look::Waits { place, entry, distance } => (place, entry, distance),
                Look::Lost => {
                    return Ok(Outcome::EntryLost { request_id: request.id.clone(), waiter_stale_ms: self.waiter_stale_ms() });
                }
            };
            let avg_ms = self.moving_avg_ms()?;
            let standing = Standing { position: place + 1, eta_ms: eta::wait_ms(place + 1, avg_ms), avg_ms };
            let left = time_left(request.wanted.wait, begun);
            if left == Some(Duration::ZERO) && is_told {
                return Ok(timed_out(request, &standing));
            }
            is_told = true;
            if !on_look(&standing) {
                return Ok(Outcome::Cancelled { request_id: request.id.clone() });
            }
            if outlook.is_hopeless(self)? {
                return Ok(Outcome::Standoff { request_id: request.id.clone() });
            }
            self.say_that_we_wait(request, &entry)?;
            pause.sleep(watch, left, distance);
        }
    }

    /// One look of a waiter: takes a slot if it is its turn. Only those whose turn it may be look at everything; in a crowd
    /// the looks of the others would leave no time for the work.
    fn look(&self, request: &Request<'_>) -> PoolResult<Look> {
        let n_slots = self.file.slots().len();
        let queue = self.read_queue()?;
        let Some(place) = queue.place_of(&request.id) else { return Ok(Look::Lost) };
        let distance = self.distance(&queue.entries[..place], n_slots * HEARING);
        if n_slots <= distance && self.is_waiting(&queue.entries[place], self.store.now_ms()) {
            return Ok(Look::waits(queue, place, if distance < n_slots * HEARING { Distance::Near } else { Distance::Far }));
        }
        self.sweep(request.wanted.owner)?;
        let queue = Queue { entries: self.waiting(self.store.now_ms())?, damaged: false };
        let Some(place) = queue.place_of(&request.id) else { return Ok(Look::Lost) };
        let held = self.try_take(request, &queue.entries[..place])?;
        Ok(held.map_or_else(|| Look::waits(queue, place, Distance::Near), |held| Look::Granted(Box::new(held))))
    }

    /// How many of these entries wait, counted no further than `limit`.
    fn distance(&self, ahead: &[Entry], limit: usize) -> usize {
        let now = self.store.now_ms();
        ahead.iter().filter(|entry| self.is_waiting(entry, now)).take(limit).count()
    }

    /// Refreshes our entry's heartbeat when it has aged; a look alone writes nothing.
    fn say_that_we_wait(&self, request: &Request<'_>, entry: &Entry) -> PoolResult<()> {
        if let Some(proof) = self.store.proof_of_life()? {
            proof.beat();
        }
        if !self.is_waiting(entry, self.store.now_ms()) {
            // Too late; the next look finds that the entry is gone.
            return Ok(());
        }
        let age = entry.heartbeat_ms().map_or(f64::INFINITY, |heartbeat| store::to_f64(self.store.now_ms()) - heartbeat);
        if age > self.waiter_stale_ms() / 3.0 {
            self.heartbeat_entry(&request.id, request.wanted.owner)?;
        }
        Ok(())
    }

    /// Grants a queued entry a slot if it is its turn: `None` if it is not, or there is no such entry of this owner.
    ///
    /// # Errors
    /// As [`Pool::acquire`].
    pub fn try_grant(&self, entry_id: &str, owner: &str, ttl_minutes: Option<f64>) -> PoolResult<Option<HeldSlot>> {
        self.sweep(owner)?;
        let waiting = Queue { entries: self.waiting(self.store.now_ms())?, damaged: false };
        let Some(place) = waiting.place_of(entry_id) else { return Ok(None) };
        let entry = &waiting.entries[place];
        if entry.owner() != Some(owner) {
            return Ok(None);
        }
        let wanted = SlotWanted { session: entry.session(), ttl_minutes, ..SlotWanted::by(owner) };
        let request = Request { id: entry_id.to_owned(), mode: entry.mode(), is_queued: true, wanted: &wanted };
        self.try_take(&request, &waiting.entries[..place])
    }

    /// Takes a free slot if there are more than waiters ahead, and makes it ready.
    fn try_take(&self, request: &Request<'_>, ahead: &[Entry]) -> PoolResult<Option<HeldSlot>> {
        let now = self.store.now_ms();
        let mut free = Vec::new();
        let mut holding = Vec::new();
        for slot in self.file.slots() {
            match self.store.found(slot.kind())? {
                Found::Lease(record) if !self.store.is_dead(slot.kind(), &record, now) => holding.push(request_of(&record)),
                _ => free.push(slot),
            }
        }
        let holds = |id: &str| holding.iter().flatten().any(|held| held == id);
        let ahead = decide::waiting_ahead(ahead.iter().map(Entry::id), ahead.len(), holds);
        if !decide::may_take(free.len(), ahead) {
            return Ok(None);
        }
        for slot in free {
            if let Some(record) = self.take(request, slot)? {
                return Preparing { pool: self, request, slot, record: &record }.finish();
            }
        }
        Ok(None)
    }

    /// Acquires a slot's lease; `None` if somebody was faster.
    fn take(&self, request: &Request<'_>, slot: &SlotDef) -> PoolResult<Option<Record>> {
        if let Found::Lease(record) = self.store.found(slot.kind())?
            && !self.end_survivors(slot, &record)
        {
            return Ok(None);
        }
        let wanted = request.wanted;
        let session = wanted.session.unwrap_or(wanted.owner);
        let payload = object([
            ("requestId", Json::from(&request.id)),
            ("session", Json::from(session)),
            ("mode", Json::from(request.mode.word())),
        ]);
        let ttl_minutes = wanted.ttl_minutes.unwrap_or_else(|| self.ttl_minutes());
        let lease = AcquireRequest { kind: slot.kind(), owner: wanted.owner, ttl_minutes, payload };
        match self.acquire_lease(&lease)? {
            Acquired::Held { .. } => Ok(None),
            Acquired::Acquired { record, previous, kind } => {
                if let Some(previous) = previous {
                    if let Found::Lease(record) = &previous {
                        self.forget_grant_of(slot.kind(), record);
                    }
                    let shown = previous.to_json(&kind);
                    self.journal("slot_takeover_on_grant", [("slot_id", slot.id().clone()), ("previous", shown)]);
                }
                Ok(Some(record))
            }
        }
    }

    /// Acquires with what we add to a payload: proof of life and fence number.
    pub(super) fn acquire_lease(&self, lease: &AcquireRequest<'_>) -> PoolResult<Acquired> {
        let Some(proof) = self.store.proof_of_life()? else { return Ok(self.store.acquire(lease)?) };
        let fenced = |fence: u64| {
            let mut payload = lease.payload.clone();
            if let Some(members) = payload.as_object_mut() {
                members.insert("alive", proof.id());
                members.insert("fence", fence);
            }
            payload
        };
        Ok(self.store.acquire_fenced(lease, fenced)?)
    }
}

/// One who asks, with the id of the request.
pub(super) struct Request<'a> {
    pub(super) id: String,
    pub(super) mode: Mode,
    /// Whether it stands in the queue: then it is granted only as long as it does.
    pub(super) is_queued: bool,
    pub(super) wanted: &'a SlotWanted<'a>,
}

/// Which request a held slot answers.
pub(super) fn request_of(record: &Record) -> Option<String> {
    record.payload().get("requestId").and_then(Json::as_str).map(str::to_owned)
}

/// What a waiter's look came to.
enum Look {
    Granted(Box<HeldSlot>),
    /// Our entry is not in the queue any more.
    Lost,
    /// Not our turn.
    Waits {
        place: usize,
        entry: Entry,
        distance: Distance,
    },
}

impl Look {
    fn waits(mut queue: Queue, place: usize, distance: Distance) -> Self {
        Self::Waits { place, entry: queue.entries.swap_remove(place), distance }
    }
}

/// How far a waiter is from its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distance {
    Near,
    Far,
}

/// What is left of the time to wait; `None` is for ever.
fn time_left(wait: Wait, begun: Instant) -> Option<Duration> {
    match wait {
        Wait::Forever => None,
        Wait::For(limit) => Some(limit.saturating_sub(begun.elapsed())),
        Wait::No => Some(Duration::ZERO),
    }
}

fn timed_out(request: &Request<'_>, standing: &Standing) -> Outcome {
    let Wait::For(limit) = request.wanted.wait else { unreachable!("only a bounded wait ends by its time") };
    let waited_ms = store::millis(limit);
    Outcome::TimedOut { request_id: request.id.clone(), position: standing.position, eta_ms: standing.eta_ms, waited_ms }
}

/// The longest pause between looks, as other implementations let it be set.
fn poll_from(env: &Env) -> Option<Duration> {
    let text = env.get("POOL_POLL_MS").or_else(|| env.get("E2E_LEASE_POLL_MS"))?;
    let millis = number_from_text(&text).filter(|millis| 0.0 <= *millis)?;
    Duration::try_from_secs_f64(millis / 1e3).ok()
}

/// The pauses between looks: short after a change, longer while nothing happens.
struct Pause {
    longest: Duration,
    next: Duration,
}

impl Pause {
    fn new(poll: Option<Duration>, watch_is_live: bool) -> Self {
        // Without reports every look is made by ourselves, so it is made more often.
        let own = if watch_is_live { LOOK_EVERY } else { LOOK_EVERY / 5 };
        let longest = poll.map_or(own, |poll| poll.min(own)).max(FIRST_LOOK);
        Self { longest, next: FIRST_LOOK }
    }

    fn sleep(&mut self, watch: &Watch, left: Option<Duration>, distance: Distance) {
        let pause = self.length(left, distance);
        if distance == Distance::Far {
            std::thread::sleep(pause);
            return;
        }
        match watch.sleep(pause) {
            Woken::Changed => self.next = FIRST_LOOK,
            Woken::Timeout => self.next = (self.next * 4).min(self.longest),
        }
    }

    /// A wait ends when its time is over, and not at the look after that.
    fn length(&self, left: Option<Duration>, distance: Distance) -> Duration {
        let pause = if distance == Distance::Far { self.longest } else { self.next };
        left.map_or(pause, |left| pause.min(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pause_is_longer_than_what_is_left_of_the_wait() {
        let left = Duration::from_millis(7);
        for poll in [None, Some(Duration::from_secs(3600))] {
            let pause = Pause { next: LOOK_EVERY, ..Pause::new(poll, true) };
            for distance in [Distance::Near, Distance::Far] {
                assert_eq!(pause.length(Some(left), distance), left);
                assert_eq!(pause.length(Some(Duration::MAX), distance), pause.length(None, distance));
            }
        }
    }
}
