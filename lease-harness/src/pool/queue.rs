//! The queue: who waits, first in line first. Changed only under the pool's queue lock, an ordinary short lease.

use std::time::{Duration, Instant};

use super::error::{PoolError, PoolResult};
use super::salvage::{entries_in, entries_in_text};
use super::{Pool, eta};
use crate::json::{Json, Object, object};
use crate::store::{self, AcquireRequest, Acquired, Found, Vital};
use crate::sys::disk;

pub(super) const QUEUE: &str = "queue.json";
const STATS: &str = "stats.json";
const LOCK_TTL_MINUTES: f64 = 1.0;
const LOCK_WAIT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// From this pause on, who waits for the lock looks whether its holder is kept from releasing it.
const PATIENCE: Duration = Duration::from_millis(5);

/// How a waiter waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Somebody waits for the answer.
    Blocking,
    /// The answer is claimed later.
    Async,
}

impl Mode {
    /// The word of the format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Async => "async",
        }
    }

    /// The mode of a word.
    ///
    /// # Errors
    /// A usage error for any other word.
    pub fn from_word(word: &str) -> PoolResult<Self> {
        match word {
            "blocking" => Ok(Self::Blocking),
            "async" => Ok(Self::Async),
            _ => Err(PoolError::usage(format!("invalid mode {}", store::quoted(word)))),
        }
    }
}

/// Who is to wait.
pub(super) struct NewEntry<'a> {
    pub(super) id: &'a str,
    pub(super) owner: &'a str,
    pub(super) session: Option<&'a str>,
    pub(super) mode: Mode,
    /// Kinds of leases in this store.
    pub(super) holds: &'a [String],
}

/// One who waits. Keys that we do not know are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    members: Object,
}

impl Entry {
    fn new(new: &NewEntry<'_>, now: &str, alive: Option<&str>) -> Self {
        let mut members = Object::new();
        members.insert("id", new.id);
        members.insert("owner", new.owner);
        members.insert("session", new.session.unwrap_or(new.owner));
        members.insert("mode", new.mode.word());
        members.insert("enqueuedAt", now);
        members.insert("heartbeat", now);
        if let Some(alive) = alive {
            members.insert("alive", alive);
        }
        if !new.holds.is_empty() {
            members.insert("holds", Json::Array(new.holds.iter().map(Json::from).collect()));
        }
        Self { members }
    }

    /// The kinds of the leases that its owner keeps while it waits.
    pub(super) fn holds(&self) -> Vec<String> {
        let kinds = self.members.get("holds").and_then(Json::as_array).unwrap_or_default();
        kinds.iter().filter_map(|kind| kind.as_str().map(str::to_owned)).collect()
    }

    /// An entry needs an id that is text; what has none is nobody.
    pub(super) fn read(document: &Json) -> Option<Self> {
        let members = document.as_object()?;
        members.get("id").and_then(Json::as_str)?;
        Some(Self { members: members.clone() })
    }

    /// The request's id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.text("id").unwrap_or_default()
    }

    pub(super) fn owner(&self) -> Option<&str> {
        self.text("owner")
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.members.get(key).and_then(Json::as_str)
    }

    /// A member as it stands, `null` when absent.
    pub(super) fn member(&self, key: &str) -> Json {
        self.members.get(key).cloned().unwrap_or_default()
    }

    pub(super) fn mode(&self) -> Mode {
        self.text("mode").and_then(|word| Mode::from_word(word).ok()).unwrap_or(Mode::Blocking)
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.text("session")
    }

    pub(super) fn heartbeat_ms(&self) -> Option<f64> {
        self.text("heartbeat").and_then(store::parse_time)
    }

    /// The document.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::Object(self.members.clone())
    }
}

/// The queue as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Queue {
    pub(super) entries: Vec<Entry>,
    /// Whether the file had another shape than it should; what could be read of it is in `entries`.
    pub(super) damaged: bool,
}

impl Queue {
    pub(super) fn from_bytes(bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else { return Self::default() };
        let Ok(document) = Json::parse_bytes(bytes) else {
            return Self { entries: entries_in_text(&String::from_utf8_lossy(bytes)), damaged: true };
        };
        let items = document.get("entries").and_then(Json::as_array);
        match items.and_then(|items| items.iter().map(Entry::read).collect()) {
            Some(entries) => Self { entries, damaged: false },
            None => Self { entries: entries_in(document.get("entries").unwrap_or(&document)), damaged: true },
        }
    }

    fn to_file_text(&self) -> String {
        let entries = self.entries.iter().map(Entry::to_json).collect();
        file_text(&object([("entries", Json::Array(entries))]))
    }

    pub(super) fn place_of(&self, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.id() == id)
    }
}

fn file_text(document: &Json) -> String {
    let mut text = document.to_pretty();
    text.push('\n');
    text
}

/// Where somebody stands after joining.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The entry as it was written.
    pub entry: Entry,
    /// Its place, from 1.
    pub position: usize,
    /// About how long it will wait, in milliseconds.
    pub eta_ms: f64,
}

impl Joined {
    /// The document `{entry, position, etaMs}`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        object([("entry", self.entry.to_json()), ("position", Json::from(self.position)), ("etaMs", Json::from(self.eta_ms))])
    }
}

/// Holding the queue lock. Writing the queue and the statistics is only possible here.
pub(super) struct LockedQueue<'pool> {
    pool: &'pool Pool,
    owner: String,
    token: String,
    /// The queue, to be changed and then written by [`LockedQueue::write`].
    pub(super) queue: Queue,
}

impl Drop for LockedQueue<'_> {
    fn drop(&mut self) {
        let _ = self.pool.store.release(self.pool.file.queue_lock_kind(), &self.owner, &self.token);
    }
}

impl<'pool> LockedQueue<'pool> {
    /// Takes the queue lock, waiting at most ten seconds, and reads the queue.
    pub(super) fn lock(pool: &'pool Pool, owner: &str) -> PoolResult<Self> {
        let token = acquire_lock(pool, owner)?;
        let mut locked = Self { pool, owner: owner.to_owned(), token, queue: Queue::default() };
        locked.queue = pool.read_queue()?;
        Ok(locked)
    }

    /// Writes the queue, unless the lock was lost meanwhile.
    pub(super) fn write(&mut self) -> PoolResult<()> {
        self.check()?;
        if std::mem::take(&mut self.queue.damaged) {
            self.tell_repair("queue_repaired", QUEUE);
        }
        if self.queue.entries.is_empty() {
            // No file is an empty queue, and a waiter that gave up leaves nothing.
            disk::remove_file(&self.pool.path(QUEUE))?;
            return Ok(());
        }
        self.pool.write_file(QUEUE, &self.queue.to_file_text())
    }

    /// Writes the statistics with one more duration.
    fn remember(&self, duration_ms: f64) -> PoolResult<()> {
        let (durations_ms, damaged) = self.pool.read_stats()?;
        let list = eta::remember(durations_ms, duration_ms).into_iter().map(Json::from).collect();
        self.check()?;
        if damaged {
            self.tell_repair("stats_repaired", STATS);
        }
        self.pool.write_file(STATS, &file_text(&object([("durationsMs", Json::Array(list))])))
    }

    /// A file of the wrong shape is reported by name when it is replaced by one of the right shape.
    fn tell_repair(&self, event: &str, file: &str) {
        self.pool.journal(event, [("path", Json::from(self.pool.path(file).display().to_string()))]);
    }

    /// Whoever was suspended for longer than the lock lives must not write what it read before.
    fn check(&self) -> PoolResult<()> {
        let kind = self.pool.file.queue_lock_kind();
        match self.pool.store.found(kind)? {
            Found::Lease(record) if record.token() == Some(&self.token) => Ok(()),
            _ => Err(PoolError::internal(format!("the queue lock {kind} was lost while it was held"))),
        }
    }

    /// Removes entries that wait no more and returns them.
    pub(super) fn drop_stale(&mut self) -> Vec<Entry> {
        let now = self.pool.store.now_ms();
        let entries = std::mem::take(&mut self.queue.entries);
        let (live, stale) = entries.into_iter().partition(|entry| self.pool.is_waiting(entry, now));
        self.queue.entries = live;
        stale
    }
}

fn acquire_lock(pool: &Pool, owner: &str) -> PoolResult<String> {
    let kind = pool.file.queue_lock_kind();
    let proof = pool.store.proof_of_life()?;
    let payload = proof.as_ref().map_or(Json::Null, |proof| object([("alive", Json::from(proof.id()))]));
    let request = AcquireRequest { kind, owner, ttl_minutes: LOCK_TTL_MINUTES, payload };
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        // A look first: in a crowd, those who find the lock held would keep its holder out of its own critical section.
        let held = match pool.store.found(kind)? {
            Found::Lease(record) if !pool.store.is_dead(kind, &record, pool.store.now_ms()) => record,
            _ => match pool.store.acquire(&request)? {
                Acquired::Acquired { record, .. } => return Ok(record.token().unwrap_or_default().to_owned()),
                Acquired::Held { record, .. } => record,
            },
        };
        let holder = held.owner().unwrap_or("nobody known");
        if begun.elapsed() >= LOCK_WAIT {
            let path = pool.store.dir().join(format!("{kind}.json"));
            let message = format!("pool queue lock busy >10s (held by {holder}) — investigate {}", path.display());
            return Err(PoolError::internal(message));
        }
        if PATIENCE <= pause {
            pool.store.clear_guard(kind);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

impl Pool {
    /// Files whose changes mean nothing to a waiter, although they change at every turn.
    pub(super) fn names_without_news(&self) -> Vec<String> {
        let lock = format!("{}.json", self.file.queue_lock_kind());
        [lock.as_str(), STATS, super::JOURNAL].map(str::to_owned).to_vec()
    }

    pub(super) fn read_queue(&self) -> PoolResult<Queue> {
        Ok(Queue::from_bytes(disk::read(&self.path(QUEUE))?.as_deref()))
    }

    /// Whether an entry still waits: provably, or by its heartbeat. A process that is provably gone does not.
    pub(super) fn is_waiting(&self, entry: &Entry, now_ms: i64) -> bool {
        let limit = self.waiter_stale_ms();
        let fresh = entry.heartbeat_ms().is_some_and(|heartbeat| store::to_f64(now_ms) - heartbeat <= limit);
        match self.store.vital(entry.members.get("alive").and_then(Json::as_str)) {
            Vital::Dead(_) => false,
            Vital::Alive { silent_for } => fresh || silent_for.as_secs_f64() * 1000.0 <= limit,
            Vital::Unknown => fresh,
        }
    }

    /// The entries that wait, in order.
    pub(super) fn waiting(&self, now_ms: i64) -> PoolResult<Vec<Entry>> {
        let mut entries = self.read_queue()?.entries;
        entries.retain(|entry| self.is_waiting(entry, now_ms));
        Ok(entries)
    }

    /// The durations that can be read, and whether the file has another shape than it should.
    fn read_stats(&self) -> PoolResult<(Vec<f64>, bool)> {
        let Some(bytes) = disk::read(&self.path(STATS))? else { return Ok((Vec::new(), false)) };
        let document = Json::parse_bytes(&bytes).unwrap_or_default();
        let Some(list) = document.get("durationsMs").and_then(Json::as_array) else { return Ok((Vec::new(), true)) };
        let numbers = list.iter().filter_map(Json::as_f64).filter(|duration| duration.is_finite());
        let durations: Vec<f64> = numbers.collect();
        let damaged = durations.len() < list.len();
        Ok((durations, damaged))
    }

    /// How long slots were held lately, on average, in milliseconds.
    ///
    /// # Errors
    /// When the statistics cannot be read.
    pub fn moving_avg_ms(&self) -> PoolResult<f64> {
        Ok(eta::moving_average(&self.read_stats()?.0, self.moving_avg_seed_ms()))
    }

    /// Joins the queue at its end.
    ///
    /// # Errors
    /// A usage error when the owner is outside the fence; else when the queue cannot be changed.
    ///
    /// # If the process dies
    /// The entry is dropped as soon as anybody looks who believes in proofs of life, else when its heartbeat is stale.
    pub fn enqueue(&self, owner: &str, session: Option<&str>, mode: Mode) -> PoolResult<Joined> {
        let id = self.store.ids().fresh();
        self.enqueue_as(&NewEntry { id: &id, owner, session, mode, holds: &[] })
    }

    pub(super) fn enqueue_as(&self, new: &NewEntry<'_>) -> PoolResult<Joined> {
        self.store.fence().check(new.owner)?;
        let proof = self.store.proof_of_life()?;
        // Whatever can fail comes before the entry is written: who is told of a failure does not know that it waits.
        let average = self.moving_avg_ms()?;
        let mut locked = LockedQueue::lock(self, new.owner)?;
        locked.drop_stale();
        let now = store::iso(self.store.now_ms()).unwrap_or_default();
        let entry = Entry::new(new, &now, proof.as_ref().map(store::ProofOfLife::id));
        locked.queue.entries.push(entry.clone());
        locked.write()?;
        let position = locked.queue.entries.len();
        Ok(Joined { entry, position, eta_ms: eta::wait_ms(position, average) })
    }

    /// Leaves the queue; false for an entry that is not there, or is somebody else's, which stays as it is.
    ///
    /// # Errors
    /// When the queue cannot be changed.
    pub fn dequeue(&self, entry_id: &str, owner: &str) -> PoolResult<bool> {
        let is_mine = |entry: &Entry| entry.id() == entry_id && entry.owner() == Some(owner);
        if !self.read_queue()?.entries.iter().any(is_mine) {
            return Ok(false);
        }
        let mut locked = LockedQueue::lock(self, owner)?;
        let before = locked.queue.entries.len();
        locked.queue.entries.retain(|entry| !is_mine(entry));
        let has_left = locked.queue.entries.len() < before;
        if has_left {
            locked.write()?;
        }
        Ok(has_left)
    }

    /// Says that a waiter still waits; its place if it is in the queue.
    ///
    /// # Errors
    /// When the queue cannot be changed.
    pub fn heartbeat_entry(&self, entry_id: &str, owner: &str) -> PoolResult<Option<(usize, f64)>> {
        let mut locked = LockedQueue::lock(self, owner)?;
        let dropped = locked.drop_stale();
        let place = locked.queue.place_of(entry_id).filter(|place| locked.queue.entries[*place].owner() == Some(owner));
        if let Some(place) = place {
            let now = store::iso(self.store.now_ms()).unwrap_or_default();
            locked.queue.entries[place].members.insert("heartbeat", now);
        }
        if place.is_some() || !dropped.is_empty() {
            locked.write()?;
        }
        drop(locked);
        let Some(place) = place else { return Ok(None) };
        Ok(Some((place + 1, eta::wait_ms(place + 1, self.moving_avg_ms()?))))
    }

    /// Remembers how long a slot was held.
    pub(super) fn remember_duration(&self, owner: &str, duration_ms: f64) -> PoolResult<()> {
        LockedQueue::lock(self, owner)?.remember(duration_ms)
    }
}
