//! Passing on the signals that were sent to us alone.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use crate::sys::process::{Bound, Witness};
use crate::sys::signal::{Caught, END_REQUESTS, SignalSet};

/// How long a signal may be on its way to the rest of the group before it counts as one to us alone.
///
/// The kernel needs no time for that. Service managers and shells that end a tree of processes one by one do, and the command
/// would get the signal twice.
const SETTLE: Duration = Duration::from_millis(20);

/// Takes the signals to us, and passes on those that the command did not get itself.
pub(super) struct Relay {
    caught: Caught,
    /// None if a new one could not be had; then every signal counts as one to the group.
    witness: Option<Witness>,
    undecided: SignalSet,
    due: Option<Instant>,
    seen: SignalSet,
}

impl Relay {
    pub(super) fn new(caught: Caught, witness: Witness) -> Self {
        Self { caught, witness: Some(witness), undecided: SignalSet::EMPTY, due: None, seen: SignalSet::EMPTY }
    }

    /// Readable when [`turn`](Self::turn) has something to do.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.caught.as_fd()
    }

    /// When `turn` has something to do at the latest.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether somebody has asked us or the command to end.
    pub(super) fn has_asked_to_end(&self) -> bool {
        !(self.seen & END_REQUESTS).is_empty()
    }

    /// Notes what came, and decides about what came a while ago.
    pub(super) fn turn(&mut self, child: &Bound) -> io::Result<()> {
        let came = self.caught.drain();
        self.take_up(came);
        if self.due.is_some_and(|due| due <= Instant::now()) {
            self.due = None;
            self.decide(child)?;
        }
        Ok(())
    }

    fn take_up(&mut self, came: SignalSet) {
        if !came.is_empty() {
            self.seen |= came;
            self.undecided |= came;
            self.due.get_or_insert_with(|| Instant::now() + SETTLE);
        }
    }

    fn decide(&mut self, child: &Bound) -> io::Result<()> {
        let signals = std::mem::take(&mut self.undecided);
        let heard = self.heard();
        pass_on(signals, heard, child)?;
        if (signals & heard).is_empty() {
            return Ok(());
        }
        // What the witness has heard once it cannot hear again. The new one is there before the old one goes, and what
        // came by then is judged by the old one.
        let fresh = Witness::start().ok();
        let late = self.caught.drain();
        let heard = self.heard();
        self.witness = fresh;
        self.seen |= late;
        pass_on(late & heard, heard, child)?;
        self.take_up(late - heard);
        Ok(())
    }

    fn heard(&self) -> SignalSet {
        self.witness.as_ref().map_or(SignalSet::ALL, Witness::heard)
    }
}

/// Sends the command those of `signals` that it did not get itself: the ones that did not go to the group, and all
/// if it has left the group.
fn pass_on(signals: SignalSet, heard: SignalSet, child: &Bound) -> io::Result<()> {
    let missed = if child.is_in_our_group() { signals - heard } else { signals };
    missed.iter().try_for_each(|signal| child.send(signal))
}
