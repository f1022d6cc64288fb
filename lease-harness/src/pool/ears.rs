//! How a waiter hears that it may be its turn.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

use super::acquire::Request;
use super::queue::STATS;
use super::sweep::Seen;
use super::{JOURNAL, Pool};
use crate::json::number_from_text;
use crate::store::{self, Env};
use crate::sys::bell::{self, Bell};
use crate::sys::disk;
use crate::sys::watch::{Pauses, Watch, Woken};

/// What the name of a bell begins with, in the pool's folder. A name with a dot is no part of the format.
const BELL: &str = ".bell-";
/// After so long without anything to hear, who waits looks all the same.
const QUIET: Duration = Duration::from_secs(1);
/// A bell of a request that does not wait is left behind if it is older than this.
const BELL_LIMIT: Duration = Duration::from_secs(60);

/// The ears of one waiter.
pub(super) struct Ears<'pool> {
    pool: &'pool Pool,
    /// None where it could not be made, or nobody would ring it.
    bell: Option<Bell>,
    watch: Watch,
    is_listening: bool,
    /// Whether it is told of every change, and not only of the end of certain files.
    hears_all: bool,
    poll: Option<Duration>,
    pauses: Pauses,
    was_woken: bool,
    /// For how long there was nothing to hear, in pauses of the longest kind since the last look.
    quiet: Duration,
}

impl<'pool> Ears<'pool> {
    /// Ears for a request, which hear the bell only; and all where there is none.
    pub(super) fn of(pool: &'pool Pool, request: &Request<'_>) -> Self {
        let bell = pool.store.has_additions().then(|| pool.hang_bell(&request.id)).flatten();
        let poll = request.wanted.poll.or_else(|| poll_from(&pool.env));
        let watch = Watch::nothing();
        let pauses = Pauses::for_bell(poll);
        let mut ears = Self {
            pool,
            bell,
            watch,
            is_listening: false,
            hears_all: false,
            poll,
            pauses,
            was_woken: false,
            quiet: Duration::ZERO,
        };
        if ears.bell.is_none() {
            ears.listen();
        }
        ears
    }

    /// Hears from now on also of what happens in the store; false if it did that before.
    pub(super) fn listen(&mut self) -> bool {
        if self.is_listening {
            return false;
        }
        let store = self.pool.store.dir();
        self.watch = Watch::of_ends(&[store, &store::alive_folder(store)]);
        self.pauses = Pauses::new(&self.watch, self.poll);
        self.is_listening = true;
        true
    }

    /// Hears from now on of every change, of the queue as well.
    pub(super) fn listen_to_all(&mut self) {
        if self.hears_all {
            return;
        }
        let (store, pool) = (self.pool.store.dir(), self.pool.dir());
        self.watch = Watch::new(&[store, &pool, &store::alive_folder(store)], self.pool.names_without_news());
        self.pauses = Pauses::new(&self.watch, self.poll);
        (self.is_listening, self.hears_all) = (true, true);
    }

    /// Which files are of interest, by their names: they end.
    pub(super) fn listen_for(&mut self, names: HashSet<Vec<u8>>) {
        if !self.hears_all {
            self.watch.set_ends(names);
        }
    }

    /// Whether the last sleep ended because there was something to hear.
    pub(super) fn was_woken(&self) -> bool {
        self.was_woken
    }

    /// Whether this file is known to have ended while we slept.
    pub(super) fn has_ended(&self, name: &str) -> bool {
        self.watch.news().iter().any(|news| news == name.as_bytes())
    }

    /// Whether there is reason to look: something was heard, a short while ago or now, or nothing for long. Who says how often is
    /// looked is obeyed, and who hears nothing looks always.
    pub(super) fn is_time_to_look(&self) -> bool {
        let hears_nothing = self.is_listening && !self.watch.is_live();
        self.poll.is_some() || hears_nothing || self.quiet.is_zero()
    }

    pub(super) fn sleep(&mut self, left: Option<Duration>) {
        let calm = self.pauses.longest();
        self.was_woken = self.pauses.sleep_beside(&self.watch, self.bell.as_ref(), left) == Woken::Changed;
        self.quiet = calm.filter(|_| !self.was_woken).map_or(Duration::ZERO, |pause| self.quiet + pause);
        if QUIET <= self.quiet {
            self.quiet = Duration::ZERO;
        }
    }
}

impl Drop for Ears<'_> {
    fn drop(&mut self) {
        // To make a bell and to remove it costs as much as half a turn. It goes with the pool's handle.
        if let Some(bell) = self.bell.take() {
            *self.pool.idle_bell.lock().unwrap_or_else(PoisonError::into_inner) = Some(bell);
        }
    }
}

impl Pool {
    /// The files whose end may make it our turn: the leases of the slots, and the proofs of life of their holders.
    pub(super) fn ends_of_interest(&self, seen: &Seen<'_>) -> HashSet<Vec<u8>> {
        let leases = self.file.slots().iter().map(|slot| store::file_name(slot.kind()).into_bytes());
        leases.chain(seen.proofs.iter().map(|proof| proof.clone().into_bytes())).collect()
    }

    /// Files whose changes mean nothing to a waiter, although they change at every turn.
    fn names_without_news(&self) -> Vec<String> {
        let lock = store::file_name(self.file.queue_lock_kind());
        [lock.as_str(), STATS, JOURNAL].map(str::to_owned).to_vec()
    }

    fn hang_bell(&self, request_id: &str) -> Option<Bell> {
        let path = self.bell_of(request_id)?;
        let idle = self.idle_bell.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The folder is there: whoever comes to wait has agreed on the pool's description.
        idle.and_then(|bell| bell.rehang(&path)).or_else(|| Bell::hang(&path).ok())
    }

    /// Wakes whoever waits for this request.
    pub(super) fn ring_for(&self, request_id: &str) {
        if let Some(path) = self.bell_of(request_id) {
            bell::ring(&path);
        }
    }

    /// An id that comes from another program need not be good for a file name.
    fn bell_of(&self, request_id: &str) -> Option<PathBuf> {
        self.grant_path(request_id).filter(|_| self.store.has_additions())?;
        Some(self.path(&format!("{BELL}{request_id}")))
    }

    /// Removes the bells of waiters that are gone.
    pub(super) fn tidy_bells(&self) {
        let names = disk::names(&self.dir()).unwrap_or_default();
        let bells: Vec<_> = names.iter().filter_map(|name| name.strip_prefix(BELL)).collect();
        let Some(queue) = (!bells.is_empty()).then(|| self.read_queue().ok()).flatten() else { return };
        for id in bells.into_iter().filter(|id| queue.place_of(id).is_none()) {
            let path = self.path(&format!("{BELL}{id}"));
            if matches!(disk::age_of(&path), Ok(Some(age)) if BELL_LIMIT < age) {
                let _ = disk::remove_file(&path);
            }
        }
    }
}

/// The longest pause between looks, as other implementations let it be set.
fn poll_from(env: &Env) -> Option<Duration> {
    let text = env.get("POOL_POLL_MS").or_else(|| env.get("E2E_LEASE_POLL_MS"))?;
    let millis = number_from_text(&text).filter(|millis| 0.0 <= *millis)?;
    Duration::try_from_secs_f64(millis / 1e3).ok()
}
