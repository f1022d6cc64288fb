//! Telling whoever works under a lease that it is lost.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};

/// Tells of the loss of a lease: readable when it happened, with the sentence for people.
///
/// Clones tell of the same lease; all of it may be used from several threads.
#[derive(Clone, Debug)]
pub struct LossWatch {
    inner: Arc<LossInner>,
}

#[derive(Debug)]
struct LossInner {
    reason: OnceLock<String>,
    /// Gets one byte that nobody takes out, and so stays readable.
    told: PipeReader,
    tell: PipeWriter,
}

impl LossWatch {
    /// A watch of a lease that is not lost.
    ///
    /// # Errors
    ///
    /// If the process may not have two more descriptors.
    pub fn new() -> io::Result<Self> {
        let (told, tell) = io::pipe()?;
        Ok(Self { inner: Arc::new(LossInner { reason: OnceLock::new(), told, tell }) })
    }

    /// Says that the lease is lost, and why: a sentence for people that names the slot. The first reason stays.
    pub fn declare(&self, reason: impl Into<String>) {
        if self.inner.reason.set(reason.into()).is_ok() {
            // One byte goes into a pipe of ours that is empty and has a reader.
            let _ = (&self.inner.tell).write_all(b"!");
        }
    }

    /// Why the lease was lost, if it was.
    pub fn reason(&self) -> Option<&str> {
        self.inner.reason.get().map(String::as_str)
    }

    /// Whether the lease was lost.
    pub fn is_lost(&self) -> bool {
        self.reason().is_some()
    }
}

/// For polling only: readable once the lease is lost. What can be read must be left there.
impl AsFd for LossWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.told.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::process::sleep_until_readable;

    #[test]
    fn whoever_waits_hears_the_first_reason() {
        let watch = LossWatch::new().unwrap();
        assert_eq!((watch.reason(), watch.is_lost()), (None, false));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let watch = watch.clone();
                scope.spawn(move || {
                    while !watch.is_lost() {
                        sleep_until_readable(&[Some(watch.as_fd())], None).unwrap();
                    }
                    assert_eq!(watch.reason(), Some("first"));
                });
            }
            watch.declare("first");
            watch.declare("second");
        });
        assert_eq!((watch.reason(), watch.is_lost()), (Some("first"), true));
    }
}
