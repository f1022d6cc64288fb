//! Catching the relayed signals for a while.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::{SigId, flag, low_level};

use super::{Disposition, RELAYED, SignalSet, disposition};

/// As long as it lives, the relayed signals do not end this process but are noted here.
///
/// A signal that was ignored stays ignored. A handler that was there before goes on being called. When the last of
/// these is dropped, what was to end the process ends it again.
#[derive(Debug)]
pub(crate) struct Caught {
    wake: UnixStream,
    noted: Vec<(i32, Arc<AtomicBool>)>,
    ids: Vec<SigId>,
}

impl Caught {
    pub(crate) fn start() -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        LISTENERS.enter();
        let mut caught = Self { wake, noted: Vec::new(), ids: Vec::new() };
        for signal in RELAYED.iter() {
            let before = disposition(signal)?;
            if before == Disposition::Ignored {
                continue;
            }
            caught.note(signal, &waker)?;
            if before == Disposition::Default {
                emulate_default(signal)?;
            }
        }
        Ok(caught)
    }

    fn note(&mut self, signal: i32, waker: &UnixStream) -> io::Result<()> {
        let noted = Arc::new(AtomicBool::new(false));
        // Actions run in the order of their registration: who is woken finds the note.
        self.ids.push(flag::register(signal, Arc::clone(&noted))?);
        self.ids.push(low_level::pipe::register(signal, waker.try_clone()?)?);
        self.noted.push((signal, noted));
        Ok(())
    }

    /// The signals that are caught.
    pub(crate) fn signals(&self) -> SignalSet {
        let mut signals = SignalSet::EMPTY;
        for (signal, _) in &self.noted {
            signals.insert(*signal);
        }
        signals
    }

    /// The signals that came since the last call. However often one came, it counts once, as the system does it with
    /// signals that are pending.
    pub(crate) fn drain(&mut self) -> SignalSet {
        let mut waste = [0; 64];
        while matches!(self.wake.read(&mut waste), Ok(n_bytes) if 0 < n_bytes) {}
        let mut came = SignalSet::EMPTY;
        for (signal, noted) in &self.noted {
            if noted.swap(false, Ordering::SeqCst) {
                came.insert(*signal);
            }
        }
        came
    }
}

/// Readable when a signal came.
impl AsFd for Caught {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Drop for Caught {
    fn drop(&mut self) {
        LISTENERS.leave();
        for id in self.ids.drain(..) {
            low_level::unregister(id);
        }
    }
}

/// How many listen, so that the defaults are back when nobody does.
struct Listeners {
    n_listeners: Mutex<usize>,
    none: AtomicBool,
}

static LISTENERS: Listeners = Listeners { n_listeners: Mutex::new(0), none: AtomicBool::new(true) };

impl Listeners {
    fn enter(&self) {
        let mut n_listeners = self.n_listeners.lock().unwrap_or_else(PoisonError::into_inner);
        *n_listeners += 1;
        self.none.store(false, Ordering::SeqCst);
    }

    fn leave(&self) {
        let mut n_listeners = self.n_listeners.lock().unwrap_or_else(PoisonError::into_inner);
        *n_listeners -= 1;
        self.none.store(*n_listeners == 0, Ordering::SeqCst);
    }
}

/// Ends the process by `signal` when it comes while nobody listens.
///
/// Once a handler is installed it stays (taking it out again could take out somebody else's that came later), so it has to
/// do what the system would have done without it. Called when the default was in place, hence once a signal.
fn emulate_default(signal: i32) -> io::Result<()> {
    flag::register_conditional_default(signal, &LISTENERS.none).map(drop)
}
