//! One test at a time over one slot.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use crate::harness::Slot;

/// The queue for one slot. Unlike a `MutexGuard` a turn may move between threads, as the body of an async test does,
/// and a panic of the test that had it does not spoil it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    given_back: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The thread on which the test that has the turn asked for it.
    taken_by: Option<ThreadId>,
    /// Whether a test has had the slot before: it is then as that test left it.
    was_used: bool,
}

impl State {
    /// Gives the turn away; whether the slot was used before.
    fn give_to(&mut self, asking: ThreadId) -> bool {
        self.taken_by = Some(asking);
        std::mem::replace(&mut self.was_used, true)
    }
}

/// Having the slot to oneself, until dropped.
#[derive(Debug)]
pub(super) struct Turn {
    queue: Arc<Queue>,
    was_used: bool,
}

impl Turn {
    /// Whether another test of this process has had the slot before.
    pub(super) fn was_used(&self) -> bool {
        self.was_used
    }

    /// Whether it is this slot's.
    pub(super) fn is_over(&self, slot: &Slot) -> bool {
        Arc::ptr_eq(&self.queue, &queue_of(slot))
    }
}

/// A test that waited for a turn which it has itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WouldWaitForItself;

impl fmt::Display for WouldWaitForItself {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it runs inside another test on the same slot, and would wait for itself")
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn, for a test on the thread `asking` that stands still meanwhile.
    pub(super) fn wait(self: Arc<Self>, asking: ThreadId) -> Result<Turn, WouldWaitForItself> {
        if self.lock().taken_by == Some(asking) {
            return Err(WouldWaitForItself);
        }
        Ok(self.wait_elsewhere(asking))
    }

    /// The turn, if nobody has it.
    pub(super) fn take_if_free(self: Arc<Self>, asking: ThreadId) -> Option<Turn> {
        let mut state = self.lock();
        if state.taken_by.is_some() {
            return None;
        }
        let was_used = state.give_to(asking);
        drop(state);
        Some(Turn { queue: self, was_used })
    }

    /// Waits for the turn, for a test on the thread `asking` that goes on with other things meanwhile.
    pub(super) fn wait_elsewhere(self: Arc<Self>, asking: ThreadId) -> Turn {
        let mut state = self.lock();
        while state.taken_by.is_some() {
            state = self.given_back.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let was_used = state.give_to(asking);
        drop(state);
        Turn { queue: self, was_used }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.queue.lock().taken_by = None;
        self.queue.given_back.notify_one();
    }
}

/// The store's directory and the slot's lease kind. Who takes several turns takes them in this order.
type Key = (PathBuf, String);

fn key_of(slot: &Slot) -> Key {
    (slot.store_dir().to_owned(), slot.kind().to_owned())
}

pub(super) fn in_order(mut slots: Vec<&Slot>) -> Vec<&Slot> {
    slots.sort_by_key(|slot| key_of(slot));
    slots
}

/// The queue for this slot, the same for everyone in the process who shares it.
pub(super) fn queue_of(slot: &Slot) -> Arc<Queue> {
    static QUEUES: Mutex<Vec<(Key, Arc<Queue>)>> = Mutex::new(Vec::new());
    let key = key_of(slot);
    let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, queue)) = queues.iter().find(|(known, _)| *known == key) {
        return Arc::clone(queue);
    }
    let queue = Arc::new(Queue::default());
    queues.push((key, Arc::clone(&queue)));
    queue
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn here() -> ThreadId {
        thread::current().id()
    }

    #[test]
    fn one_at_a_time() {
        let queue = Arc::new(Queue::default());
        let inside = AtomicUsize::new(0);
        let visits = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _turn = Arc::clone(&queue).wait(here()).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        visits.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(visits.load(Ordering::SeqCst), 800);
    }

    #[test]
    fn a_panic_gives_the_turn_back() {
        let queue = Arc::new(Queue::default());
        let theirs = Arc::clone(&queue);
        let panicked = thread::spawn(move || {
            let _turn = theirs.wait(here()).unwrap();
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(panicked.join().is_err());
        queue.wait(here()).unwrap();
    }

    #[test]
    fn a_test_inside_a_test_is_told_so() {
        let queue = Arc::new(Queue::default());
        let _turn = Arc::clone(&queue).wait(here()).unwrap();
        assert_eq!(queue.wait(here()).unwrap_err(), WouldWaitForItself);
    }

    #[test]
    fn a_turn_is_taken_at_once_only_if_it_is_free() {
        let queue = Arc::new(Queue::default());
        let turn = Arc::clone(&queue).take_if_free(here()).unwrap();
        assert!(Arc::clone(&queue).take_if_free(here()).is_none());
        assert!(!turn.was_used());
        drop(turn);
        assert!(queue.take_if_free(here()).unwrap().was_used());
    }

    #[test]
    fn a_turn_can_end_on_another_thread() {
        let queue = Arc::new(Queue::default());
        let turn = Arc::clone(&queue).wait_elsewhere(here());
        thread::spawn(move || drop(turn)).join().unwrap();
        queue.wait(here()).unwrap();
    }
}
