//! Tests of one process over the same outer claims take turns.
//!
//! Claims that each test takes for itself exclude each other by the store. Those that a process is under are joined by all of its
//! tests, and so would exclude none of them.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::harness::exclude_each_other;

/// Who is inside, and who waits, in the order in which they came.
static TESTS: Mutex<Vec<Test>> = Mutex::new(Vec::new());
static CHANGED: Condvar = Condvar::new();

/// Mode and key of each.
type Claims = &'static [(&'static str, &'static str)];

#[derive(Debug)]
struct Test {
    number: u64,
    /// The thread that stands still in the test, if it is known to.
    thread: Option<ThreadId>,
    scope: Option<&'static str>,
    claims: Claims,
}

/// Having the claims to oneself, among the tests of this process, until dropped.
#[derive(Debug)]
pub(super) struct ClaimsTurn {
    number: u64,
}

/// A test that waited for a turn of the test that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WouldWaitForItself;

impl fmt::Display for WouldWaitForItself {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it runs inside another test with these claims, and would wait for itself")
    }
}

fn tests() -> MutexGuard<'static, Vec<Test>> {
    TESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a test on this thread is inside.
pub(super) fn is_taken_by_this_thread() -> bool {
    let here = thread::current().id();
    tests().iter().any(|test| test.thread == Some(here))
}

/// Waits for the turn, for a test on this thread, which stands still meanwhile.
pub(super) fn take(scope: Option<&'static str>, claims: Claims) -> Result<ClaimsTurn, WouldWaitForItself> {
    let here = thread::current().id();
    let excludes = |test: &Test| test.scope == scope && exclude_each_other(test.claims, claims);
    if tests().iter().any(|test| test.thread == Some(here) && excludes(test)) {
        return Err(WouldWaitForItself);
    }
    Ok(wait(Some(here), scope, claims))
}

/// Waits for the turn, for a test whose thread goes on with other things meanwhile.
pub(super) fn take_elsewhere(scope: Option<&'static str>, claims: Claims) -> ClaimsTurn {
    wait(None, scope, claims)
}

fn wait(thread: Option<ThreadId>, scope: Option<&'static str>, claims: Claims) -> ClaimsTurn {
    let mut all = tests();
    let number = all.last().map_or(0, |last| last.number + 1);
    all.push(Test { number, thread, scope, claims });
    let excludes = |test: &Test| test.number < number && test.scope == scope && exclude_each_other(test.claims, claims);
    while all.iter().any(excludes) {
        all = CHANGED.wait(all).unwrap_or_else(PoisonError::into_inner);
    }
    ClaimsTurn { number }
}

impl Drop for ClaimsTurn {
    fn drop(&mut self) {
        tests().retain(|test| test.number != self.number);
        CHANGED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const SCOPE: Option<&str> = Some("claims_turn::tests");

    #[test]
    fn writers_are_alone_and_readers_together() {
        const WRITE: Claims = &[("write", "path:a")];
        const READ: Claims = &[("read", "path:a/b")];
        let (inside, both) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let reader = take_elsewhere(SCOPE, READ);
        drop(take_elsewhere(SCOPE, READ));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _turn = take(SCOPE, WRITE).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        both.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
            assert_eq!(both.load(Ordering::SeqCst), 0, "a reader is inside");
            drop(reader);
        });
        assert_eq!(both.load(Ordering::SeqCst), 200);
    }

    #[test]
    fn a_test_inside_a_test_is_told_so() {
        const CLAIMS: Claims = &[("write", "own")];
        let _turn = take(SCOPE, CLAIMS).unwrap();
        assert!(is_taken_by_this_thread());
        assert_eq!(take(SCOPE, CLAIMS).unwrap_err(), WouldWaitForItself);
        take(SCOPE, &[("write", "other")]).unwrap();
        take(None, CLAIMS).unwrap();
        thread::spawn(|| assert!(!is_taken_by_this_thread())).join().unwrap();
    }
}
