//! The lock of the queue and of the statistics.

use std::time::{Duration, Instant};

use super::error::{PoolError, PoolResult};
use super::queue::{Entry, QUEUE, Queue, STATS, file_text};
use super::queue_text::QueueText;
use super::{Pool, eta};
use crate::json::{Json, object};
use crate::store::{self, Alone, Entering, Found, StoreErrorKind};
use crate::sys::disk;

const LOCK_WAIT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// From this pause on, who waits for the lock looks whether its holder is kept from releasing it.
const PATIENCE: Duration = Duration::from_millis(5);

/// Being alone with the queue and the statistics. Writing them is only possible here.
///
/// The format has an ordinary lease for that. Ours is its critical section, which whoever wants the lease has to enter.
pub(super) struct QueueLock<'pool> {
    pool: &'pool Pool,
    alone: Alone<'pool>,
}

impl<'pool> QueueLock<'pool> {
    /// Takes the lock, waiting at most ten seconds.
    pub(super) fn take(pool: &'pool Pool, owner: &str) -> PoolResult<Self> {
        let kind = pool.file.queue_lock_kind();
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut held = None;
        loop {
            if held.is_none() {
                held = match pool.store.enter_alone(kind, owner) {
                    Ok(Entering::Alone(alone)) => return Ok(Self { pool, alone }),
                    Ok(Entering::Held(record)) => Some(record),
                    Err(error) if error.kind() == StoreErrorKind::Busy && begun.elapsed() < LOCK_WAIT => continue,
                    Err(error) => return Err(error.into()),
                };
            }
            if LOCK_WAIT <= begun.elapsed() {
                let holder = held.as_ref().and_then(|record| record.owner()).unwrap_or("nobody known");
                let path = pool.store.dir().join(store::file_name(kind));
                let message = format!("pool queue lock busy >10s (held by {holder}) — investigate {}", path.display());
                return Err(PoolError::internal(message));
            }
            if PATIENCE <= pause {
                pool.store.clear_guard(kind);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
            // A look first: in a crowd, those who find the lock held would keep its holder out of its own critical section.
            held = match pool.store.found(kind)? {
                Found::Lease(record) if !pool.store.is_dead(kind, &record, pool.store.now_ms()) => Some(record),
                _ => None,
            };
        }
    }

    /// Writes the statistics with more durations.
    pub(super) fn remember(&self, more_ms: &[f64]) -> PoolResult<()> {
        let (durations_ms, damaged) = self.pool.read_stats()?;
        let list = eta::remember(durations_ms, more_ms).into_iter().map(Json::from).collect();
        self.alone.check()?;
        if damaged {
            self.tell_repair("stats_repaired", STATS);
        }
        self.pool.write_file(STATS, self.pool.swapped(STATS).as_ref(), &file_text(&object([("durationsMs", Json::Array(list))])))
    }

    /// Writes the text of the queue, unless the lock was lost meanwhile.
    pub(super) fn write_queue(&self, text: &QueueText) -> PoolResult<()> {
        self.alone.check()?;
        if text.is_empty() {
            // No file is an empty queue, and a waiter that gave up leaves nothing.
            disk::retire(&self.pool.path(QUEUE), self.pool.swapped(QUEUE).as_ref())?;
            return Ok(());
        }
        self.pool.write_file(QUEUE, self.pool.swapped(QUEUE).as_ref(), text.as_str())
    }

    /// A file of the wrong shape is reported by name when it is replaced by one of the right shape.
    fn tell_repair(&self, event: &str, file: &str) {
        self.pool.journal(event, [("path", Json::from(self.pool.path(file).display().to_string()))]);
    }
}

/// The same with the queue.
pub(super) struct LockedQueue<'pool> {
    lock: QueueLock<'pool>,
    /// Who was the first in line when the queue was last read or written.
    first: Option<String>,
    /// The queue, to be changed and then written by [`LockedQueue::write`].
    pub(super) queue: Queue,
}

impl<'pool> LockedQueue<'pool> {
    /// Takes the lock, waiting at most ten seconds, and reads the queue.
    pub(super) fn lock(pool: &'pool Pool, owner: &str) -> PoolResult<Self> {
        Self::in_lock(QueueLock::take(pool, owner)?)
    }

    /// Reads the queue inside the lock.
    pub(super) fn in_lock(lock: QueueLock<'pool>) -> PoolResult<Self> {
        let queue = lock.pool.read_queue()?;
        Ok(Self { lock, first: first_of(&queue), queue })
    }

    /// Writes the queue, unless the lock was lost meanwhile.
    pub(super) fn write(&mut self) -> PoolResult<()> {
        self.lock.alone.check()?;
        if std::mem::take(&mut self.queue.damaged) {
            self.lock.tell_repair("queue_repaired", QUEUE);
        }
        self.lock.write_queue(&QueueText::of(&self.queue))?;
        let first = first_of(&self.queue);
        if let Some(first) = first.as_deref().filter(|first| self.first.as_deref().is_some_and(|before| before != *first)) {
            self.lock.pool.ring_for(first);
        }
        self.first = first;
        Ok(())
    }

    /// Removes those of the `suspects`, and of those whose heartbeat is old, that wait no more, and returns them. Nobody else is
    /// asked whether it lives: many wait for this lock.
    pub(super) fn drop_stale(&mut self, suspects: &[Entry]) -> Vec<Entry> {
        let pool = self.lock.pool;
        let now = pool.store.now_ms();
        let entries = std::mem::take(&mut self.queue.entries);
        let is_suspect = |entry: &Entry| suspects.iter().any(|suspect| suspect.id() == entry.id());
        let waits = |entry: &Entry| pool.is_fresh(entry, now) && !is_suspect(entry) || pool.is_waiting(entry, now);
        let (live, stale) = entries.into_iter().partition(waits);
        self.queue.entries = live;
        stale
    }
}

fn first_of(queue: &Queue) -> Option<String> {
    queue.entries.first().map(|entry| entry.id().to_owned())
}
