//! The queue: who waits, first in line first. Changed only under the pool's queue lock, an ordinary short lease.

use super::error::{PoolError, PoolResult};
use super::queue_lock::{LockedQueue, QueueLock};
use super::queue_text::QueueText;
use super::salvage::{entries_in, entries_in_text};
use super::{Pool, eta};
use crate::json::{Json, Object, object};
use crate::store::{self, Vital};
use crate::sys::clock;

pub(super) const QUEUE: &str = "queue.json";
pub(super) const STATS: &str = "stats.json";
/// So many in front of a queue, and as many others, are asked at a look whether they live.
const ASKED: usize = 2;

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
        let members = document.as_object().filter(|_| is_entry(document))?;
        Some(Self { members: members.clone() })
    }

    /// The request's id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.text("id").unwrap_or_default()
    }

    fn is(&self, id: &str, owner: &str) -> bool {
        self.id() == id && self.owner() == Some(owner)
    }

    pub(super) fn owner(&self) -> Option<&str> {
        self.text("owner")
    }

    pub(super) fn has_proof(&self) -> bool {
        self.alive().is_some()
    }

    /// What proves that whoever waits lives.
    fn alive(&self) -> Option<&str> {
        self.text("alive")
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

fn is_entry(document: &Json) -> bool {
    document.get("id").is_some_and(|id| id.as_str().is_some())
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
        let Ok(mut document) = Json::parse_bytes(bytes) else {
            return Self { entries: entries_in_text(&String::from_utf8_lossy(bytes)), damaged: true };
        };
        match document.get_mut("entries").and_then(Json::as_array_mut) {
            Some(items) if items.iter().all(is_entry) => {
                let members = std::mem::take(items).into_iter().filter_map(Json::into_object);
                Self { entries: members.map(|members| Entry { members }).collect(), damaged: false }
            }
            _ => Self { entries: entries_in(document.get("entries").unwrap_or(&document)), damaged: true },
        }
    }

    pub(super) fn to_file_text(&self) -> String {
        let mut text = Json::pretty_list("entries", self.entries.iter().map(|entry| &entry.members));
        text.push('\n');
        text
    }

    pub(super) fn place_of(&self, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.id() == id)
    }
}

pub(super) fn file_text(document: &Json) -> String {
    let mut text = document.to_pretty();
    text.push('\n');
    text
}

/// How the queue looks to who comes by.
pub(super) enum Line {
    /// The first in line provably waits, and so looks after the pool.
    Attended { first: Entry, text: QueueText },
    /// Nobody waits, or it is not known whether the first in line does.
    Unattended(Queue),
}

impl Line {
    /// Whether it is known that nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Unattended(queue) if queue.entries.is_empty() && !queue.damaged)
    }

    /// How many wait, if that many are ahead of who comes now that no slot can be had before its turn.
    pub(super) fn crowd(&self, n_slots: usize) -> Option<usize> {
        match self {
            Self::Attended { text, .. } => Some(text.n_entries()).filter(|n_waiting| 2 * n_slots <= *n_waiting),
            Self::Unattended(_) => None,
        }
    }

    pub(super) fn into_queue(self) -> Queue {
        match self {
            Self::Attended { text, .. } => text.to_queue(),
            Self::Unattended(queue) => queue,
        }
    }
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

impl Pool {
    pub(super) fn read_queue(&self) -> PoolResult<Queue> {
        Ok(Queue::from_bytes(self.store.read(&self.path(QUEUE))?.as_deref()))
    }

    fn provably_waits(&self, entry: &Entry) -> bool {
        let vital = self.store.vital(entry.alive());
        matches!(vital, Vital::Alive { silent_for } if store::millis(silent_for) <= self.waiter_stale_ms())
    }

    /// The queue as a text that can be changed without reading it whole; none if it is to be read whole.
    fn queue_text(&self) -> PoolResult<Option<QueueText>> {
        if !self.store.has_additions() {
            return Ok(None);
        }
        let bytes = self.store.read(&self.path(QUEUE))?;
        Ok(bytes.map_or_else(|| Some(QueueText::default()), |bytes| QueueText::from_bytes(bytes).ok()))
    }

    pub(super) fn first_in_line(&self) -> PoolResult<Option<Entry>> {
        Ok(self.queue_text()?.and_then(|text| text.first()))
    }

    /// The entry of a request as it stands.
    pub(super) fn entry_of(&self, id: &str) -> PoolResult<Option<Entry>> {
        if let Some(entry) = self.queue_text()?.and_then(|text| text.find(id)) {
            return Ok(Some(entry));
        }
        Ok(self.read_queue()?.entries.into_iter().find(|entry| entry.id() == id))
    }

    /// How the queue looks to who comes by.
    pub(super) fn line(&self) -> PoolResult<Line> {
        let Some(bytes) = self.store.read(&self.path(QUEUE))? else { return Ok(Line::Unattended(Queue::default())) };
        let text = match QueueText::from_bytes(bytes) {
            Ok(text) if self.store.has_additions() => text,
            Ok(text) => return Ok(Line::Unattended(text.to_queue())),
            Err(bytes) => return Ok(Line::Unattended(Queue::from_bytes(Some(&bytes)))),
        };
        Ok(match text.first().filter(|first| self.provably_waits(first)) {
            Some(first) => Line::Attended { first, text },
            None => Line::Unattended(text.to_queue()),
        })
    }

    /// Whether an entry still waits: provably, or by its heartbeat. A process that is provably gone does not.
    pub(super) fn is_waiting(&self, entry: &Entry, now_ms: i64) -> bool {
        let fresh = self.is_fresh(entry, now_ms);
        match self.store.vital(entry.alive()) {
            Vital::Dead(_) => false,
            Vital::Alive { silent_for } => fresh || store::millis(silent_for) <= self.waiter_stale_ms(),
            Vital::Unknown => fresh,
        }
    }

    /// The entries that wait, in order, and those that do not. Of a long queue only some are asked whether they live: those in
    /// front, who matter next, and a few of the others, another few each time.
    pub(super) fn who_waits(&self, entries: Vec<Entry>, now_ms: i64) -> (Vec<Entry>, Vec<Entry>) {
        let begin = clock::any_below(entries.len());
        let (mut place, mut n_living) = (0, 0);
        entries.into_iter().partition(|entry| {
            let is_asked = n_living < ASKED || (begin..begin + ASKED).contains(&place);
            place += 1;
            let waits = !is_asked && self.is_fresh(entry, now_ms) || self.is_waiting(entry, now_ms);
            n_living += usize::from(is_asked && waits);
            waits
        })
    }

    pub(super) fn all_wait(&self, entries: &[Entry]) -> bool {
        let now = self.store.now_ms();
        entries.iter().all(|entry| self.is_waiting(entry, now))
    }

    /// Whether an entry waits by what its heartbeat says.
    pub(super) fn is_fresh(&self, entry: &Entry, now_ms: i64) -> bool {
        entry.heartbeat_ms().is_some_and(|heartbeat| store::to_f64(now_ms) - heartbeat <= self.waiter_stale_ms())
    }

    /// Whether an entry's heartbeat is to be renewed, so that it is fresh for other programs.
    pub(super) fn has_aged(&self, entry: &Entry) -> bool {
        let age = entry.heartbeat_ms().map_or(f64::INFINITY, |heartbeat| store::to_f64(self.store.now_ms()) - heartbeat);
        self.waiter_stale_ms() / 3.0 < age
    }

    /// The entries that wait, in order.
    pub(super) fn waiting(&self, now_ms: i64) -> PoolResult<Vec<Entry>> {
        let mut entries = self.read_queue()?.entries;
        entries.retain(|entry| self.is_waiting(entry, now_ms));
        Ok(entries)
    }

    /// The durations that can be read, and whether the file has another shape than it should.
    pub(super) fn read_stats(&self) -> PoolResult<(Vec<f64>, bool)> {
        let Some(bytes) = self.store.read(&self.path(STATS))? else { return Ok((Vec::new(), false)) };
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
        // Whatever can fail comes before the entry is written: who is told of a failure does not know that it waits.
        let average = self.moving_avg_ms()?;
        let lock = QueueLock::take(self, new.owner)?;
        let proof = self.store.proof_of_life()?;
        let now = store::iso(self.store.now_ms()).unwrap_or_default();
        let entry = Entry::new(new, &now, proof.as_ref().map(store::ProofOfLife::id));
        let position = match self.queue_text()? {
            Some(mut text) => {
                text.push(entry.clone());
                lock.write_queue(&text)?;
                text.n_entries()
            }
            None => {
                let mut locked = LockedQueue::in_lock(lock)?;
                locked.drop_stale(&[]);
                locked.queue.entries.push(entry.clone());
                locked.write()?;
                locked.queue.entries.len()
            }
        };
        Ok(Joined { entry, position, eta_ms: eta::wait_ms(position, average) })
    }

    /// Leaves the queue; false for an entry that is not there, or is somebody else's, which stays as it is.
    ///
    /// # Errors
    /// When the queue cannot be changed.
    pub fn dequeue(&self, entry_id: &str, owner: &str) -> PoolResult<bool> {
        let is_there = self.read_queue()?.entries.iter().any(|entry| entry.is(entry_id, owner));
        let has_left = is_there && self.dequeue_known(entry_id, owner)?;
        if has_left {
            // It may be another process that waits for it.
            self.ring_for(entry_id);
        }
        Ok(has_left)
    }

    /// The same for who has seen the entry a moment ago, and listens to nobody.
    pub(super) fn dequeue_known(&self, entry_id: &str, owner: &str) -> PoolResult<bool> {
        let lock = QueueLock::take(self, owner)?;
        if let Some(mut text) = self.queue_text()? {
            let first = text.first();
            if text.take(entry_id).is_some_and(|entry| entry.is(entry_id, owner)) {
                lock.write_queue(&text)?;
                drop(lock);
                let was_first = first.is_some_and(|first| first.id() == entry_id);
                if let Some(next) = text.first().filter(|_| was_first) {
                    self.ring_for(next.id());
                }
                return Ok(true);
            }
        }
        let mut locked = LockedQueue::in_lock(lock)?;
        let before = locked.queue.entries.len();
        locked.queue.entries.retain(|entry| !entry.is(entry_id, owner));
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
        let dropped = locked.drop_stale(&[]);
        let place = locked.queue.place_of(entry_id).filter(|place| locked.queue.entries[*place].owner() == Some(owner));
        if let Some(place) = place {
            let now = store::iso(self.store.now_ms()).unwrap_or_default();
            locked.queue.entries[place].members.insert("heartbeat", now.clone());
            // Those who provably wait as well are spared writing the whole queue once more, each for its own sake.
            for entry in &mut locked.queue.entries {
                if self.has_aged(entry) && self.provably_waits(entry) {
                    entry.members.insert("heartbeat", now.clone());
                }
            }
        }
        if place.is_some() || !dropped.is_empty() {
            locked.write()?;
        }
        drop(locked);
        let Some(place) = place else { return Ok(None) };
        Ok(Some((place + 1, eta::wait_ms(place + 1, self.moving_avg_ms()?))))
    }

    /// Remembers how long slots were held.
    pub(super) fn remember_durations(&self, owner: &str, durations_ms: &[f64]) -> PoolResult<()> {
        QueueLock::take(self, owner)?.remember(durations_ms)
    }
}
