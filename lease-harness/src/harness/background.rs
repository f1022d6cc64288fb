//! Waiting for a slot without standing in the way of an async runtime.
//!
//! Which runtime that is is not our business: the work is done on a thread of its own, and the future only remembers
//! whom to wake.

use std::future::Future;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// What the work came to, and who waits for it.
struct Handover<T> {
    outcome: Option<T>,
    waker: Option<Waker>,
}

/// The outcome of work that goes on elsewhere. Dropped before it is there, the work is told to give up, and what it still
/// comes to is dropped.
struct Awaited<T> {
    handover: Arc<Mutex<Handover<T>>>,
    given_up: Arc<AtomicBool>,
    /// Who has the outcome has given nothing up, and what came of the work may still look at the flag: a slot does before each
    /// command of its pool.
    is_delivered: bool,
}

/// Does the work on a thread of its own; the work is given a flag that says that nobody waits for it any more. If it
/// panics, so does who waits for it.
pub(crate) async fn run<T, W>(work: W) -> io::Result<T>
where
    T: Send + 'static,
    W: FnOnce(Arc<AtomicBool>) -> T + Send + 'static,
{
    let handover = Arc::new(Mutex::new(Handover { outcome: None, waker: None }));
    let awaited = Awaited { handover, given_up: Arc::default(), is_delivered: false };
    let (handover, given_up) = (Arc::clone(&awaited.handover), Arc::clone(&awaited.given_up));
    thread::Builder::new().name("lease-wait".to_owned()).spawn(move || {
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| work(Arc::clone(&given_up))));
        hand_over(&handover, &given_up, outcome);
    })?;
    Ok(awaited.await.unwrap_or_else(|payload| panic::resume_unwind(payload)))
}

fn lock<T>(handover: &Mutex<Handover<T>>) -> MutexGuard<'_, Handover<T>> {
    handover.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hand_over<T>(handover: &Mutex<Handover<T>>, given_up: &AtomicBool, outcome: T) {
    let mut place = lock(handover);
    if given_up.load(Ordering::Acquire) {
        // The outcome is dropped without the lock: giving a slot back takes a while.
        drop(place);
        return;
    }
    place.outcome = Some(outcome);
    if let Some(waker) = place.waker.take() {
        waker.wake();
    }
}

impl<T> Future for Awaited<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Self { handover, is_delivered, .. } = self.get_mut();
        let mut place = lock(handover);
        match place.outcome.take() {
            Some(outcome) => {
                *is_delivered = true;
                Poll::Ready(outcome)
            }
            None => {
                place.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Awaited<T> {
    fn drop(&mut self) {
        if self.is_delivered {
            return;
        }
        let mut place = lock(&self.handover);
        self.given_up.store(true, Ordering::Release);
        let outcome = place.outcome.take();
        drop(place);
        drop(outcome);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Wake;

    use super::*;

    /// Wakes a thread that is parked for the next poll.
    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut future = std::pin::pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(value) => return value,
                Poll::Pending => thread::park(),
            }
        }
    }

    #[test]
    fn the_outcome_arrives() {
        assert_eq!(block_on(run(|_| 7)).unwrap(), 7);
    }

    #[test]
    fn an_outcome_that_has_arrived_was_not_given_up() {
        assert!(!block_on(run(|given_up| given_up)).unwrap().load(Ordering::Acquire));
    }

    #[test]
    fn the_waiting_thread_is_woken_when_the_work_is_done() {
        let (finish, may_finish) = mpsc::channel();
        let mut future = Box::pin(run(move |_| may_finish.recv().unwrap()));
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        finish.send("done").unwrap();
        assert_eq!(block_on(future).unwrap(), "done");
    }

    #[test]
    fn a_panic_arrives() {
        let awaited = run(|_| panic::resume_unwind(Box::new("slot 3")));
        let caught = panic::catch_unwind(AssertUnwindSafe(|| block_on::<io::Result<()>>(awaited)));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"slot 3"));
    }

    /// Says when it is dropped, as a slot that is given back would.
    struct TellsItsEnd(mpsc::Sender<()>);

    impl Drop for TellsItsEnd {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }

    #[test]
    fn an_outcome_nobody_waits_for_any_more_is_dropped() {
        let (ended, end) = mpsc::channel();
        let (finish, may_finish) = mpsc::channel::<()>();
        let mut future = Box::pin(run(move |given_up| {
            may_finish.recv().unwrap();
            assert!(given_up.load(Ordering::Acquire));
            TellsItsEnd(ended)
        }));
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(future);
        finish.send(()).unwrap();
        end.recv().unwrap();
    }
}
