//! Sleeping until something changes in a folder.

use std::path::Path;
use std::time::Duration;

pub(crate) use imp::Watch;

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// A file was placed, removed, or closed after writing.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "changes are reported on Linux only"))]
    Changed,
    /// Nothing happened for the time given.
    Timeout,
}

/// Who waits looks this often even if nothing is reported: a holder that dies where that is not reported, a time that runs out.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Where no change is reported at all, every look is made by ourselves.
const LOOK_UNTOLD: Duration = Duration::from_millis(50);
/// After something changed it looks again soon: a dying process is reported just before its lock is free.
const FIRST_LOOK: Duration = Duration::from_millis(1);

/// The pauses between looks: short after a change, longer while nothing happens.
#[derive(Debug)]
pub(crate) struct Pauses {
    longest: Duration,
    next: Duration,
}

impl Pauses {
    /// Pauses for who hears of changes by `watch`; none is longer than `poll`, if that is given.
    pub(crate) fn new(watch: &Watch, poll: Option<Duration>) -> Self {
        let own = if watch.is_live() { LOOK_EVERY } else { LOOK_UNTOLD };
        let longest = poll.map_or(own, |poll| poll.min(own)).max(FIRST_LOOK);
        Self { longest, next: FIRST_LOOK }
    }

    /// Sleeps until something changes, for one pause, at most for what is `left` of the wait.
    pub(crate) fn sleep(&mut self, watch: &Watch, left: Option<Duration>) {
        self.next = match watch.sleep(within(self.next, left)) {
            Woken::Changed => FIRST_LOOK,
            Woken::Timeout => (self.next * 4).min(self.longest),
        };
    }

    /// The same for who need not hear of changes: the longest pause.
    pub(crate) fn sleep_through(&self, left: Option<Duration>) {
        std::thread::sleep(within(self.longest, left));
    }
}

/// A wait ends when its time is over, and not at the look after that.
fn within(pause: Duration, left: Option<Duration>) -> Duration {
    left.map_or(pause, |left| pause.min(left))
}

/// Names that begin with a dot are working files of the format; their coming and going means nothing to a waiter.
fn matters(name: &[u8], ignored: &[String]) -> bool {
    !name.is_empty() && name[0] != b'.' && ignored.iter().all(|ignored| ignored.as_bytes() != name)
}

#[cfg(target_os = "linux")]
mod imp {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::time::Instant;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::{Duration, Path, Woken, matters};

    /// A watch of folders; without one (no watch left for this user) it only sleeps.
    #[derive(Debug)]
    pub(crate) struct Watch {
        inotify: Option<OwnedFd>,
        ignored: Vec<String>,
    }

    impl Watch {
        /// Watches the folders if all of them can be watched, but for the files in them with one of the `ignored` names.
        pub(crate) fn new(dirs: &[&Path], ignored: Vec<String>) -> Self {
            let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
            let inotify = inotify.filter(|inotify| {
                let watched = dirs.iter().filter(|dir| watches(inotify, dir)).count();
                watched == dirs.len()
            });
            Self { inotify, ignored }
        }

        /// Whether changes are reported at all; if not, the caller has to look by itself more often.
        pub(crate) fn is_live(&self) -> bool {
            self.inotify.is_some()
        }

        /// Sleeps until something that matters changes, at most `limit`.
        pub(crate) fn sleep(&self, limit: Duration) -> Woken {
            let Some(inotify) = &self.inotify else {
                std::thread::sleep(limit);
                return Woken::Timeout;
            };
            let end = Instant::now() + limit;
            loop {
                let left = end.saturating_duration_since(Instant::now());
                if !readable(inotify, left) {
                    return Woken::Timeout;
                }
                if drain(inotify, &self.ignored) {
                    return Woken::Changed;
                }
            }
        }
    }

    fn watches(inotify: &OwnedFd, dir: &Path) -> bool {
        // A process that dies closes its locked file, which is how a waiter hears of it at once.
        let what = WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE | WatchFlags::CLOSE_WRITE;
        inotify::add_watch(inotify, dir, what).is_ok()
    }

    fn readable(fd: &OwnedFd, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 });
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        match poll(&mut fds, Some(&limit)) {
            Ok(ready) => ready > 0,
            // A signal: whoever sleeps looks again.
            Err(_) => true,
        }
    }

    /// Reads all that is there; true if something of it matters.
    fn drain(fd: &OwnedFd, ignored: &[String]) -> bool {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(fd, &mut space);
        let mut found = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    let lost = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                    found |= lost || event.file_name().is_some_and(|name| matters(name.to_bytes(), ignored));
                }
                Err(Errno::INTR) => {}
                Err(_) => return found,
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::{Duration, Path, Woken, matters};

    /// Elsewhere a waiter looks by itself.
    #[derive(Debug)]
    pub(crate) struct Watch;

    impl Watch {
        pub(crate) fn new(_dirs: &[&Path], _ignored: Vec<String>) -> Self {
            let _ = matters;
            Self
        }

        pub(crate) fn is_live(&self) -> bool {
            false
        }

        pub(crate) fn sleep(&self, limit: Duration) -> Woken {
            std::thread::sleep(limit);
            Woken::Timeout
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pause_is_longer_than_what_is_left_of_the_wait() {
        let left = Duration::from_millis(7);
        for pause in [LOOK_EVERY, LOOK_UNTOLD] {
            assert_eq!(within(pause, Some(left)), left);
            assert_eq!(within(pause, Some(Duration::MAX)), within(pause, None));
        }
        let watch = Watch::new(&[], Vec::new());
        for (poll, longest) in [(None, LOOK_EVERY), (Some(left), left), (Some(Duration::ZERO), FIRST_LOOK)] {
            let longest = if watch.is_live() { longest } else { longest.min(LOOK_UNTOLD) };
            assert_eq!(Pauses::new(&watch, poll).longest, longest, "{poll:?}");
        }
        assert!(Pauses::new(&watch, Some(Duration::from_secs(3600))).longest <= LOOK_EVERY);
    }
}
