//! Waiters who hold what others wait for: whether any of them can ever be granted.
//!
//! Whoever takes slots of several pools in the common order never gets there. Who is under an outer grant has not chosen the
//! order: a process may hold a slot of the pool `b` and ask for one of `a`, while another holds `a` and waits for `b`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::Pool;
use super::acquire::Request;
use super::describe::AGREED;
use super::error::PoolResult;
use super::queue::{QUEUE, Queue};
use crate::json::Json;
use crate::store::Found;
use crate::sys::disk;

/// The files of several pools are not read in one moment: only what is found twice in a row is so.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What somebody keeps while waiting for a slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Holding<'a> {
    /// The kinds of leases of the same store.
    pub kinds: &'a [String],
    /// Whether one of them comes behind the slot in the common order. Of those who wait for each other at least one is out
    /// of order, so it is enough that those give up.
    pub is_out_of_order: bool,
}

/// A request that waits while its owner holds something.
#[derive(Clone, Debug)]
struct Waits {
    id: String,
    holds: Vec<String>,
    /// The slots of which it needs one, all of them held.
    wants: Vec<String>,
}

/// The requests of which none is granted before another of them is: every slot that they want is held by one of them.
fn stuck(mut waits: Vec<Waits>) -> BTreeSet<String> {
    loop {
        let held: BTreeSet<_> = waits.iter().flat_map(|wait| wait.holds.iter().cloned()).collect();
        let n_before = waits.len();
        waits.retain(|wait| wait.wants.iter().all(|kind| held.contains(kind)));
        if waits.len() == n_before {
            return waits.into_iter().map(|wait| wait.id).collect();
        }
    }
}

/// Looks now and then whether a request can be granted at all.
pub(super) struct Outlook<'a> {
    request: &'a Request<'a>,
    next_look: Instant,
    found_before: BTreeSet<String>,
}

impl<'a> Outlook<'a> {
    pub(super) fn of(request: &'a Request<'a>) -> Self {
        Self { request, next_look: Instant::now(), found_before: BTreeSet::new() }
    }

    /// Whether it cannot, and so has to give up.
    pub(super) fn is_hopeless(&mut self, pool: &Pool) -> PoolResult<bool> {
        if !self.request.wanted.holding.is_out_of_order || Instant::now() < self.next_look {
            return Ok(false);
        }
        self.next_look = Instant::now() + LOOK_EVERY;
        let found = stuck(pool.waits_of_holders()?);
        let is_hopeless = found.contains(&self.request.id) && found == self.found_before;
        self.found_before = found;
        Ok(is_hopeless)
    }
}

impl Pool {
    /// Everybody who holds something and waits for a slot of a pool in this store that has none left.
    fn waits_of_holders(&self) -> PoolResult<Vec<Waits>> {
        let mut waits = Vec::new();
        for name in disk::names(self.store.dir())? {
            let folder = self.store.dir().join(&name);
            if name.starts_with('.') || !folder.is_dir() {
                continue;
            }
            let queue = Queue::from_bytes(disk::read(&folder.join(QUEUE))?.as_deref());
            let now = self.store.now_ms();
            let holders: Vec<_> = queue.entries.iter().filter(|entry| !entry.holds().is_empty()).collect();
            if holders.is_empty() {
                continue;
            }
            let described = disk::read(&folder.join(AGREED))?.and_then(|bytes| Json::parse_bytes(&bytes).ok());
            let wants = described.as_ref().map(kinds_of_slots).unwrap_or_default();
            if wants.is_empty() || self.is_any_free(&wants)? {
                continue;
            }
            let waiting = holders.into_iter().filter(|entry| self.is_waiting(entry, now));
            waits.extend(waiting.map(|entry| Waits { id: entry.id().to_owned(), holds: entry.holds(), wants: wants.clone() }));
        }
        Ok(waits)
    }

    fn is_any_free(&self, kinds: &[String]) -> PoolResult<bool> {
        let now = self.store.now_ms();
        for kind in kinds {
            match self.store.found(kind)? {
                Found::Lease(record) if !self.store.is_dead(kind, &record, now) => {}
                _ => return Ok(true),
            }
        }
        Ok(false)
    }
}

fn kinds_of_slots(description: &Json) -> Vec<String> {
    let slots = description.get("slots").and_then(Json::as_array).unwrap_or_default();
    slots.iter().filter_map(|slot| slot.get("kind").and_then(Json::as_str).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests as `id: what it holds > what it wants`.
    #[track_caller]
    fn check(requests: &[&str], expected: &[&str]) {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let read = |text: &&str| {
            let (id, rest) = text.split_once(':').unwrap();
            let (holds, wants) = rest.split_once('>').unwrap();
            Waits { id: id.to_owned(), holds: words(holds), wants: words(wants) }
        };
        let found = stuck(requests.iter().map(read).collect());
        assert_eq!(found, expected.iter().map(|id| (*id).to_owned()).collect(), "{requests:?}");
    }

    #[test]
    fn who_waits_for_each_other() {
        check(&[], &[]);
        check(&["me: b > a", "you: a > b"], &["me", "you"]);
        check(&["me: b > a", "you: a > c", "third: c > b"], &["me", "you", "third"]);
        check(&["me: b > a1 a2", "you: a1 > b", "third: a2 > b"], &["me", "you", "third"]);
        check(&["me: b > a", "beside: b > a", "you: a > b"], &["me", "beside", "you"]);
    }

    /// As long as one slot's holder waits for nobody, everybody's turn comes.
    #[test]
    fn who_waits_for_somebody_who_works() {
        check(&["me: b > a"], &[]);
        check(&["me: b > a", "you: c > b"], &[]);
        check(&["me: b > a1 a2", "you: a1 > b"], &[]);
        check(&["me: b1 > a", "you: a > b1 b2"], &[]);
        check(&["me: b > a", "you: a > c", "third: c > d"], &[]);
    }

    /// Behind them, but not one of them: it is stuck as well.
    #[test]
    fn who_waits_for_those() {
        check(&["me: b > a", "you: a > b", "third: c > a"], &["me", "you", "third"]);
        check(&["me: b > a", "you: a > b", "third: c > d"], &["me", "you"]);
    }
}
