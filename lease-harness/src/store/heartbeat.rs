//! One heartbeat thread a process, for all its leases of all its stores.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::error::chain;
use super::{LeaseStore, Refreshed};
use crate::json::Json;
use crate::sys::clock::since_boot;
use crate::sys::process::own_number;

const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(240);
/// The thread's timer stands still while the machine sleeps and leases age, so it never sleeps for longer than this: soon
/// after waking up we know whether we still hold what others may have taken meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// What the heart keeps alive.
pub(crate) trait KeptAlive: Send + Sync {
    /// Keeps it alive until the next beat, or says why that cannot be.
    fn beat(&self) -> Pulse;
    /// Time between two beats.
    fn every(&self) -> Duration;
}

/// A lease of a store, to be kept alive.
#[derive(Clone, Debug)]
pub(crate) struct Beaten {
    pub(crate) store: LeaseStore,
    pub(crate) kind: String,
    pub(crate) owner: String,
    pub(crate) token: String,
    /// Time between two beats.
    pub(crate) every: Duration,
}

/// The pause between beats that suits a lifetime: a sixth of it, at least 50 ms, at most 4 minutes.
pub(crate) fn pause_for(ttl_minutes: f64) -> Duration {
    let sixth = Duration::try_from_secs_f64(ttl_minutes * 10.0).unwrap_or(LONGEST_PAUSE);
    sixth.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

/// What is told once when a lease was lost: the sentence for people.
type OnLost = Box<dyn FnMut(String) + Send>;

/// A lease under the heart. It beats until this is dropped, or the lease is lost.
#[derive(Debug)]
pub(crate) struct Beat {
    id: u64,
}

impl Beat {
    /// Keeps a lease alive from now on; `on_lost` is called, on the heart's thread, if that cannot be done any more.
    ///
    /// Fails when no thread can be had.
    pub(crate) fn start(lease: impl KeptAlive + 'static, on_lost: impl FnMut(String) + Send + 'static) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let due = since_boot() + jittered(lease.every(), id);
        let lease = Arc::new(lease);
        let mut body = heart().lock();
        body.leases.push(Beating { id, lease, due, failed: false, on_lost: Some(Box::new(on_lost)) });
        body.wake(heart(), due)?;
        drop(body);
        Ok(Self { id })
    }

    /// Tells somebody else of a loss from now on.
    pub(crate) fn redirect(&self, on_lost: impl FnMut(String) + Send + 'static) {
        if let Some(beating) = heart().lock().leases.iter_mut().find(|beating| beating.id == self.id) {
            beating.on_lost = Some(Box::new(on_lost));
        }
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        // A beat under way ends first, so that it cannot refresh what is about to be released.
        let mut body = heart().lock();
        body.leases.retain(|beating| beating.id != self.id);
        while body.beating_now == Some(self.id) && body.thread_id != Some(std::thread::current().id()) {
            body = heart().done.wait(body).unwrap_or_else(PoisonError::into_inner);
        }
        // The thread finds out when it wakes; who gets a slot again until then need not start another.
    }
}

/// Begins a moment in which a lease may be had without a thread for its beats: whoever takes it says [`beat_from_now_on`] before
/// anything that may last. [`resume`] ends the moment.
pub(crate) fn put_off() {
    heart().lock().is_put_off = true;
}

/// Starts the thread that was [put off](put_off): something that may last comes now.
///
/// Fails when no thread can be had.
pub(crate) fn beat_from_now_on() -> io::Result<()> {
    let mut body = heart().lock();
    if !std::mem::take(&mut body.is_put_off) {
        return Ok(());
    }
    body.wake(heart(), Duration::ZERO)
}

/// Ends the heart's thread, for a moment in which this process must have no other thread. [`resume`] starts it again.
pub(crate) fn quiesce() {
    let thread = {
        let mut body = heart().lock();
        body.quiet = true;
        body.thread.take()
    };
    heart().changed.notify_all();
    if let Some(thread) = thread {
        let _ = thread.join();
    }
}

/// Lets the heart beat again after [`quiesce`].
pub(crate) fn resume() {
    let mut body = heart().lock();
    body.quiet = false;
    body.is_put_off = false;
    // Without a thread the leases end by their TTL, which their holder notices at release.
    let _ = body.wake(heart(), Duration::ZERO);
}

struct Heart {
    body: Mutex<Body>,
    changed: Condvar,
    done: Condvar,
}

#[derive(Default)]
struct Body {
    /// Whose heart it is: a fork has it, and neither the thread nor the leases.
    process: u32,
    leases: Vec<Beating>,
    thread: Option<JoinHandle<()>>,
    thread_id: Option<std::thread::ThreadId>,
    beating_now: Option<u64>,
    /// Until when the thread sleeps, by the clock of the beats, if nobody wakes it.
    asleep_until: Duration,
    quiet: bool,
    is_put_off: bool,
}

struct Beating {
    id: u64,
    lease: Arc<dyn KeptAlive>,
    /// By the clock that also counts while the machine sleeps.
    due: Duration,
    failed: bool,
    on_lost: Option<OnLost>,
}

fn heart() -> &'static Heart {
    static HEART: OnceLock<Heart> = OnceLock::new();
    HEART.get_or_init(|| Heart { body: Mutex::default(), changed: Condvar::new(), done: Condvar::new() })
}

impl Heart {
    fn lock(&self) -> MutexGuard<'_, Body> {
        let mut body = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        body.forget_what_is_the_parents();
        body
    }

    /// The thread's life: it ends when it wakes and there is nothing to keep alive.
    fn run(&self) {
        let mut body = self.lock();
        body.thread_id = Some(std::thread::current().id());
        loop {
            let next = body.leases.iter().map(|beating| beating.due).min();
            let Some(next) = next.filter(|_| !body.quiet) else { break };
            let now = since_boot();
            let left = next.saturating_sub(now).min(LONGEST_SLEEP);
            if left.is_zero() {
                body = self.beat_one(body, next);
            } else {
                body.asleep_until = now + left;
                body = self.changed.wait_timeout(body, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        body.thread_id = None;
        if !body.quiet {
            body.thread = None;
        }
    }

    fn beat_one<'a>(&'a self, mut body: MutexGuard<'a, Body>, due: Duration) -> MutexGuard<'a, Body> {
        let Some(beating) = body.leases.iter().find(|beating| beating.due == due) else { return body };
        let (id, lease) = (beating.id, Arc::clone(&beating.lease));
        body.beating_now = Some(id);
        drop(body);
        let pulse = lease.beat();
        let mut body = self.lock();
        if let Some(on_lost) = body.note(id, &pulse) {
            drop(body);
            tell(on_lost, pulse);
            body = self.lock();
        }
        body.beating_now = None;
        self.done.notify_all();
        body
    }
}

fn tell(mut on_lost: OnLost, pulse: Pulse) {
    if let Pulse::Lost(reason) | Pulse::Failed(reason) = pulse {
        on_lost(reason);
    }
}

impl Body {
    fn forget_what_is_the_parents(&mut self) {
        if self.process == own_number() {
            return;
        }
        let parents = std::mem::replace(self, Self { process: own_number(), quiet: self.quiet, ..Self::default() });
        // There is no such thread here that could be joined or let go, and its leases are not ours to lose.
        std::mem::forget(parents);
    }

    /// Sees to it that the thread is there and looks by the time `due`.
    fn wake(&mut self, heart: &'static Heart, due: Duration) -> io::Result<()> {
        if self.quiet || self.is_put_off || self.leases.is_empty() {
            return Ok(());
        }
        if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            let builder = std::thread::Builder::new().name("lease-heartbeat".into());
            self.thread = Some(builder.spawn(|| heart.run())?);
        } else if due < self.asleep_until {
            heart.changed.notify_all();
        }
        Ok(())
    }

    /// Remembers how a beat went; the listener to be told, if the lease is lost.
    fn note(&mut self, id: u64, pulse: &Pulse) -> Option<OnLost> {
        let place = self.leases.iter().position(|beating| beating.id == id)?;
        let beating = &mut self.leases[place];
        let every = beating.lease.every();
        match pulse {
            Pulse::Good => {
                beating.failed = false;
                beating.due = since_boot() + jittered(every, id);
                None
            }
            // One failed beat is tried once more, soon; two in a row are a loss.
            Pulse::Failed(_) if !beating.failed => {
                beating.failed = true;
                beating.due = since_boot() + every / 4;
                None
            }
            Pulse::Failed(_) | Pulse::Lost(_) => self.leases.swap_remove(place).on_lost.take(),
        }
    }
}

/// Not all processes of a host beat in step.
fn jittered(every: Duration, seed: u64) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let spread = (u64::from(now.subsec_nanos()) ^ seed.wrapping_mul(0x9E37_79B9)) % 200;
    every.mul_f64(0.9 + f64::from(u32::try_from(spread).unwrap_or_default()) / 1000.0)
}

/// How a beat went.
pub(crate) enum Pulse {
    Good,
    /// The lease may still be ours, but it could not be said.
    Failed(String),
    /// The lease is not ours.
    Lost(String),
}

impl KeptAlive for Beaten {
    fn beat(&self) -> Pulse {
        if let Ok(Some(proof)) = self.store.proof_of_life() {
            proof.beat();
        }
        let kind = &self.kind;
        match self.store.heartbeat(kind, &self.owner, &self.token) {
            Ok(Refreshed::Refreshed { .. }) => Pulse::Good,
            Ok(Refreshed::NotHeld { .. }) => Pulse::Lost(format!("lease {kind} was released or reaped by somebody else")),
            Ok(Refreshed::Expired { .. }) => {
                Pulse::Lost(format!("lease {kind} expired before it could be refreshed (was this process suspended?)"))
            }
            Ok(Refreshed::NotOwner { holder, .. }) => {
                Pulse::Lost(format!("lease {kind} was taken over; it is held by {} now{}", or_nobody(holder), since(self)))
            }
            Err(error) => Pulse::Failed(format!("lease {kind} could not be refreshed twice in a row: {}", chain(&error))),
        }
    }

    fn every(&self) -> Duration {
        self.every
    }
}

fn or_nobody(holder: Option<String>) -> String {
    holder.unwrap_or_else(|| "nobody known".to_owned())
}

/// Since when its new holder has it.
fn since(lease: &Beaten) -> String {
    let Ok(super::Found::Lease(record)) = lease.store.found(&lease.kind) else { return String::new() };
    let document = record.to_json();
    document.get("acquiredAt").and_then(Json::as_str).map_or_else(String::new, |at| format!(" since {at}"))
}

/// A listener's note for whoever only wants to know whether it happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostNote(Arc<Mutex<Option<String>>>);

impl LostNote {
    pub(crate) fn set(&self, reason: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }

    pub(crate) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
