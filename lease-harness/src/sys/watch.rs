//! Sleeping until something changes in a folder.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};

use super::bell::Bell;

pub(crate) use imp::Watch;

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// A file was placed, removed, or closed after writing; or a bell was rung, or a signal came.
    Changed,
    /// Nothing happened for the time given.
    Timeout,
}

/// Who waits looks this often even if nothing is reported: a holder that dies where that is not reported, a time that runs out.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Who hears a bell looks this often even if it is silent.
const LOOK_UNRUNG: Duration = Duration::from_millis(500);
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

    /// Pauses for who hears a bell when there is reason to look, all of them as long as may be.
    pub(crate) fn for_bell(poll: Option<Duration>) -> Self {
        let longest = poll.map_or(LOOK_UNRUNG, |poll| poll.min(LOOK_UNRUNG)).max(FIRST_LOOK);
        Self { longest, next: longest }
    }

    /// The next pause if nothing has happened for so long that it is the longest.
    pub(crate) fn longest(&self) -> Option<Duration> {
        Some(self.next).filter(|next| *next == self.longest)
    }

    /// Sleeps until something changes, for one pause, at most for what is `left` of the wait.
    pub(crate) fn sleep(&mut self, watch: &Watch, left: Option<Duration>) {
        self.sleep_beside(watch, None, left);
    }

    /// The same, also until a bell is rung.
    pub(crate) fn sleep_beside(&mut self, watch: &Watch, bell: Option<&Bell>, left: Option<Duration>) -> Woken {
        let woken = watch.sleep_beside(bell, within(self.next, left));
        self.next = match woken {
            Woken::Changed => FIRST_LOOK,
            Woken::Timeout => (self.next * 4).min(self.longest),
        };
        woken
    }
}

/// Waits until one of these can be read, at most `limit`; true also for a signal.
fn wait_for(fds: &mut [PollFd<'_>], limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 });
    poll(fds, Some(&limit)).map_or(true, |n_ready| 0 < n_ready)
}

/// A wait ends when its time is over, and not at the look after that.
fn within(pause: Duration, left: Option<Duration>) -> Duration {
    left.map_or(pause, |left| pause.min(left))
}

/// Which files a watch is about.
#[derive(Debug)]
enum About {
    /// All but working files of the format, whose names begin with a dot, and these.
    AllBut(Vec<String>),
    /// These, and only that they end: a file is removed, or whoever has it open for writing closes it.
    EndsOf(HashSet<Vec<u8>>),
}

impl About {
    fn is_about(&self, name: &[u8]) -> bool {
        match self {
            Self::AllBut(ignored) => {
                !name.is_empty() && name[0] != b'.' && ignored.iter().all(|ignored| ignored.as_bytes() != name)
            }
            Self::EndsOf(names) => names.contains(name),
        }
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::cell::RefCell;
    use std::ffi::CStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::sync::{Mutex, PoisonError};
    use std::time::Instant;

    use rustix::event::{PollFd, PollFlags};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::{About, Bell, Duration, HashSet, Path, Woken, wait_for};
    use crate::sys::process::own_number;

    /// A watch of folders; without one (no watch left for this user) it only sleeps.
    #[derive(Debug)]
    pub(crate) struct Watch {
        inotify: Option<Instance>,
        about: About,
        /// The names of what made the last sleep end.
        news: RefCell<Vec<Vec<u8>>>,
    }

    /// An instance of inotify, and the watches in it. It is kept for the next watch of this process: closing one waits for
    /// others in the kernel, several milliseconds, and whoever has waited has no time for that.
    #[derive(Debug)]
    struct Instance {
        fd: Option<OwnedFd>,
        watches: Vec<i32>,
    }

    const MOST_IDLE: usize = 2;

    /// Instances that are not in use, and whose they are: a fork shares those of its parent, and may not read from them.
    static IDLE: Mutex<(u32, Vec<OwnedFd>)> = Mutex::new((0, Vec::new()));

    impl Instance {
        fn new() -> Option<Self> {
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.0 != own_number() {
                *idle = (own_number(), Vec::new());
            }
            let known = idle.1.pop();
            let fd = known.or_else(|| inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok())?;
            Some(Self { fd: Some(fd), watches: Vec::new() })
        }

        /// Watches a folder; false if that cannot be.
        fn add(&mut self, dir: &Path, what: WatchFlags) -> bool {
            let added = self.fd.as_ref().and_then(|fd| inotify::add_watch(fd, dir, what).ok());
            self.watches.extend(added);
            added.is_some()
        }
    }

    impl Drop for Instance {
        fn drop(&mut self) {
            let Some(fd) = self.fd.take() else { return };
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.0 == own_number() {
                for watch in self.watches.drain(..) {
                    let _ = inotify::remove_watch(&fd, watch);
                }
                drain(&fd, &About::EndsOf(HashSet::new()), &mut Vec::new());
                // Others of this user need some, too.
                if idle.1.len() < MOST_IDLE {
                    idle.1.push(fd);
                }
            }
        }
    }

    impl Watch {
        /// Watches the folders if all of them can be watched, but for the files in them with one of the `ignored` names.
        pub(crate) fn new(dirs: &[&Path], ignored: Vec<String>) -> Self {
            Self::over(dirs, About::AllBut(ignored))
        }

        /// Watches for the end of some of the files in the folders, which [`Watch::set_ends`] names.
        pub(crate) fn of_ends(dirs: &[&Path]) -> Self {
            Self::over(dirs, About::EndsOf(HashSet::new()))
        }

        /// A watch of nothing.
        pub(crate) fn nothing() -> Self {
            Self { inotify: None, about: About::EndsOf(HashSet::new()), news: RefCell::default() }
        }

        fn over(dirs: &[&Path], about: About) -> Self {
            // A process that dies closes its locked file, which is how a waiter hears of it at once.
            let ends = WatchFlags::DELETE | WatchFlags::CLOSE_WRITE;
            let moves = WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
            let what = if matches!(about, About::AllBut(_)) { ends | moves } else { ends };
            let mut inotify = Instance::new();
            if !inotify.as_mut().is_some_and(|inotify| dirs.iter().all(|dir| inotify.add(dir, what))) {
                inotify = None;
            }
            Self { inotify, about, news: RefCell::default() }
        }

        /// From now on it is about these files.
        pub(crate) fn set_ends(&mut self, names: HashSet<Vec<u8>>) {
            self.about = About::EndsOf(names);
        }

        /// Whether changes are reported at all; if not, the caller has to look by itself more often.
        pub(crate) fn is_live(&self) -> bool {
            self.inotify.is_some()
        }

        /// The names of what made the last sleep end, as far as that is known.
        pub(crate) fn news(&self) -> Vec<Vec<u8>> {
            self.news.borrow().clone()
        }

        /// Sleeps until something that matters changes, at most `limit`.
        pub(crate) fn sleep(&self, limit: Duration) -> Woken {
            self.sleep_beside(None, limit)
        }

        /// The same, also until a bell is rung.
        pub(crate) fn sleep_beside(&self, bell: Option<&Bell>, limit: Duration) -> Woken {
            self.news.borrow_mut().clear();
            let end = Instant::now() + limit;
            loop {
                let inotify = self.inotify.as_ref().and_then(|inotify| inotify.fd.as_ref());
                let bell_fd = bell.map(|bell| PollFd::new(bell, PollFlags::IN));
                let watch_fd = inotify.map(|inotify| PollFd::new(inotify, PollFlags::IN));
                let mut fds: Vec<_> = bell_fd.into_iter().chain(watch_fd).collect();
                if !wait_for(&mut fds, end.saturating_duration_since(Instant::now())) {
                    return Woken::Timeout;
                }
                let is_rung = bell.is_some() && !fds[0].revents().is_empty();
                if let Some(bell) = bell.filter(|_| is_rung) {
                    bell.silence();
                }
                let has_changed = inotify.is_some_and(|inotify| drain(inotify, &self.about, &mut self.news.borrow_mut()));
                // A signal, too: whoever sleeps looks again.
                if is_rung || has_changed || fds.iter().all(|fd| fd.revents().is_empty()) {
                    return Woken::Changed;
                }
            }
        }
    }

    /// Reads all that is there; true if something of it matters, whose names are the news.
    fn drain(fd: &OwnedFd, about: &About, news: &mut Vec<Vec<u8>>) -> bool {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(fd, &mut space);
        let mut found = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(CStr::to_bytes).filter(|name| about.is_about(name));
                    found |= name.is_some() || event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                    news.extend(name.map(<[u8]>::to_vec));
                }
                Err(Errno::INTR) => {}
                Err(_) => return found,
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use rustix::event::{PollFd, PollFlags};

    use super::{About, Bell, Duration, HashSet, Path, Woken, wait_for};

    /// Elsewhere a waiter looks by itself, unless somebody rings.
    #[derive(Debug)]
    pub(crate) struct Watch;

    impl Watch {
        pub(crate) fn new(_dirs: &[&Path], ignored: Vec<String>) -> Self {
            let _ = About::AllBut(ignored).is_about(b"");
            Self
        }

        pub(crate) fn of_ends(_dirs: &[&Path]) -> Self {
            Self
        }

        pub(crate) fn nothing() -> Self {
            Self
        }

        pub(crate) fn set_ends(&mut self, names: HashSet<Vec<u8>>) {
            let _ = About::EndsOf(names);
        }

        pub(crate) fn is_live(&self) -> bool {
            false
        }

        pub(crate) fn news(&self) -> Vec<Vec<u8>> {
            Vec::new()
        }

        pub(crate) fn sleep(&self, limit: Duration) -> Woken {
            self.sleep_beside(None, limit)
        }

        pub(crate) fn sleep_beside(&self, bell: Option<&Bell>, limit: Duration) -> Woken {
            let mut fds: Vec<_> = bell.into_iter().map(|bell| PollFd::new(bell, PollFlags::IN)).collect();
            if !wait_for(&mut fds, limit) {
                return Woken::Timeout;
            }
            if let Some(bell) = bell {
                bell.silence();
            }
            Woken::Changed
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
