//! Telling whoever works under a lease that it is lost.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::sys::flag::Flag;

/// Tells of the loss of a lease: readable when it happened, with the sentence for people.
///
/// Clones tell of the same lease; all of it may be used from several threads.
#[derive(Clone, Debug)]
pub struct LossWatch {
    inner: Arc<LossInner>,
}

struct LossInner {
    reason: OnceLock<String>,
    hooks: Mutex<Vec<Hook>>,
    told: Flag,
}

/// What is done about a loss.
type Hook = Box<dyn FnOnce(&str) + Send>;

impl fmt::Debug for LossInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LossInner").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl LossWatch {
    /// A watch of a lease that is not lost.
    ///
    /// # Errors
    ///
    /// If the process may not have another descriptor, or two where the system is not Linux.
    pub fn new() -> io::Result<Self> {
        let told = Flag::new()?;
        Ok(Self { inner: Arc::new(LossInner { reason: OnceLock::new(), hooks: Mutex::default(), told }) })
    }

    /// Says that the lease is lost, and why: a sentence for people that names the slot. The first reason stays.
    pub fn declare(&self, reason: impl Into<String>) {
        if self.inner.reason.set(reason.into()).is_ok() {
            self.inner.told.raise();
            self.call_hooks();
        }
    }

    /// Has `hook` called with the reason when the lease is lost, on the thread that found out; here and now if it is lost
    /// already. The heart does not beat meanwhile, so a hook that takes long has a thread of its own.
    pub(crate) fn on_loss(&self, hook: impl FnOnce(&str) + Send + 'static) {
        self.hooks().push(Box::new(hook));
        if self.is_lost() {
            self.call_hooks();
        }
    }

    fn hooks(&self) -> MutexGuard<'_, Vec<Hook>> {
        self.inner.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call_hooks(&self) {
        let hooks = std::mem::take(&mut *self.hooks());
        hooks.into_iter().for_each(|hook| hook(self.reason().unwrap_or_default()));
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

    #[test]
    fn a_hook_is_called_once_whenever_it_came() {
        let (said, heard) = std::sync::mpsc::channel();
        let watch = LossWatch::new().unwrap();
        let before = said.clone();
        watch.on_loss(move |reason| before.send(format!("before {reason}")).unwrap());
        watch.declare("first");
        watch.declare("second");
        watch.on_loss(move |reason| said.send(format!("after {reason}")).unwrap());
        assert_eq!(heard.into_iter().collect::<Vec<_>>(), ["before first", "after first"]);
    }
}
