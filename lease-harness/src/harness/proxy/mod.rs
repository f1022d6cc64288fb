//! Slots that one process holds for others: for each test process of a run one, as long as that lives.
//!
//! A process that is about to become a test asks for a slot over a socket and gets its environment. Nothing else is left to do
//! for it: it need not stay beside the test, keep the lease alive and give it back, for that is done here. So a test costs its
//! run one process less, and a lease costs a few system calls of a process that is there anyway.

mod asking;
mod guard;
mod wire;

use std::fmt;
use std::io::{self, BufReader, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use asking::{Asked, Asker};
pub(super) use guard::Proxied;

use super::child::{CLEANUP_GRACE, Ended, LOST_GRACE};
use super::ending::Ending;
use super::error::{SlotError, SlotErrorKind};
use super::request::SlotRequest;
use super::run_notes::RunFolder;
use super::slot::Slot;
use crate::pool::Pool;
use crate::store::Env;
use crate::sys::process::{Process, are_outcomes_told, is_any_gone, most_descriptors, sleep_until_readable};
use crate::sys::socket::{listen_at, peer, stop_listening};
use wire::Kind;

/// The socket in the run's folder.
const SOCKET: &str = "slots";
/// Who connects says at once what he wants.
const ASKS_WITHIN: Duration = Duration::from_secs(2);
/// In about so many bytes; to get room for many more takes longer than to read twice.
const ASKS_WITH: usize = 1000;
/// Who is stopped and does not read is not told again and again where it stands.
const HEARS_WITHIN: Duration = Duration::from_millis(100);
/// How long the parent of a test may take to learn how that has ended. One that is itself stopped must not keep a slot.
const REAPED_WITHIN: Duration = Duration::from_millis(250);
/// So many tests are served at once, or fewer if this process may not have the descriptors for that; more of them wait to be
/// heard.
const MOST_AT_ONCE: usize = 256;
/// A pool need not be looked after for each test.
const UPKEEP_EVERY: Duration = Duration::from_millis(100);
/// Descriptors for one who waits, and for all that is not about one of them.
const FOR_EACH: usize = 8;
const FOR_ALL: usize = 48;
/// Where nobody can be heard for a moment, for want of a descriptor.
const PAUSE: Duration = Duration::from_millis(20);

/// What is asked of the pool for somebody.
type Ask = Box<dyn Fn(&Asker) -> SlotRequest + Send + Sync>;

/// Holds slots for the test processes of a run, until the run has ended.
///
/// # If the process dies
/// A [guard](super::guard_run) ends the tests that have slots then, and so does whoever is granted one of these slots.
pub struct SlotProxy {
    shared: Arc<Shared>,
    folder: PathBuf,
    proxied: Proxied,
}

impl fmt::Debug for SlotProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotProxy").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl SlotProxy {
    /// Whether slots can be held this way: the system has to tell how a process has ended that is not ours, since what a test
    /// that was cut off has left is ended, and what one leaves that ended by itself is not.
    #[must_use]
    pub fn is_possible() -> bool {
        are_outcomes_told()
    }

    /// Where it is to be asked that is [started](Self::start) in this folder.
    #[must_use]
    pub fn socket(folder: &RunFolder) -> PathBuf {
        folder.path().join(SOCKET)
    }

    /// Begins to listen in the folder of the run. All requests that `ask` makes are of one pool.
    ///
    /// # Errors
    /// When that pool cannot be asked, or there cannot be a socket or a thread.
    pub fn start(folder: &RunFolder, ask: impl Fn(&Asker) -> SlotRequest + Send + Sync + 'static) -> Result<Self, SlotError> {
        let any = ask(&Asker::this(PathBuf::from("/"), None, String::new()));
        let pool = any.open()?.at_a_pace_of(UPKEEP_EVERY);
        let text = |path: &Path| path.to_str().unwrap_or_default().to_owned();
        let owner = any.owner_name(&pool)?;
        let proxied = Proxied { file: text(any.file()), store: text(pool.store().dir()), owner: owner.clone() };
        let cannot = |error| SlotError::new(SlotErrorKind::Internal, format!("cannot listen for tests: {error}"));
        let shared = Shared::listening(folder, pool, owner, Box::new(ask)).map_err(cannot)?;
        Ok(Self { shared, folder: folder.path().to_owned(), proxied })
    }

    /// What a [guard](super::guard_run) has to know, to be written to it when it starts.
    #[must_use]
    pub fn told_to_guard(&self) -> String {
        format!("{}\n{}", self.folder.display(), self.proxied.to_lines())
    }

    /// Behind the end of the run: gives all slots back. Tests that still work are ended; those that a terminal's signal has asked
    /// to end may clean up before, for ten seconds or until `hurry` is asked.
    ///
    /// # Errors
    /// That leases were lost, or slots could not be given back, in the order in which it was found out.
    pub fn end(self, ended: Option<&Ended>, hurry: &Ending) -> Result<(), Vec<SlotError>> {
        let may_clean_up = ended.is_some_and(Ended::was_asked_for);
        let patience = Patience { grace: CLEANUP_GRACE, hurry: hurry.clone() };
        self.shared.end(may_clean_up.then_some(patience));
        let failures = std::mem::take(&mut *lock(&self.shared.failures));
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }
}

impl Drop for SlotProxy {
    fn drop(&mut self) {
        self.shared.end(None);
    }
}

/// How long tests may go on behind the end of their run.
struct Patience {
    grace: Duration,
    /// What ends that before its time.
    hurry: Ending,
}

impl Patience {
    fn wait_for(&self, process: &Process) {
        let until = Instant::now() + self.grace;
        while Instant::now() < until && !self.hurry.is_asked() {
            if !matches!(process.sleep_until_gone(until.min(Instant::now() + PAUSE)), Ok(false)) {
                return;
            }
        }
    }
}

/// What the threads have in common. Each of them listens, then looks after the one who came until that one has ended.
struct Shared {
    /// The system wakes one of those who listen for each who asks.
    listener: UnixListener,
    /// How many listen or are about to.
    n_idle: AtomicUsize,
    workers: Mutex<Vec<JoinHandle<()>>>,
    /// Who has asked and has not ended, or has a slot that is not given back, in the order in which they asked.
    served: Mutex<Vec<Arc<Process>>>,
    /// There is one less.
    given_back: Condvar,
    failures: Mutex<Vec<SlotError>>,
    pool: Pool,
    /// Who asks for the tests, if nobody says so.
    owner: String,
    ask: Ask,
    /// The run is over: nobody waits any more.
    given_up: Arc<AtomicBool>,
    /// How long its tests may go on after that, if they may.
    patience: OnceLock<Option<Patience>>,
    /// Readable once it is over, since nobody has the other end then.
    ended: PipeReader,
    end: Mutex<Option<PipeWriter>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn listening(folder: &RunFolder, pool: Pool, owner: String, ask: Ask) -> io::Result<Arc<Self>> {
        let listener = listen_at(&SlotProxy::socket(folder))?;
        let (ended, end) = io::pipe()?;
        let shared = Arc::new(Self {
            listener,
            n_idle: AtomicUsize::default(),
            workers: Mutex::default(),
            served: Mutex::default(),
            given_back: Condvar::new(),
            failures: Mutex::default(),
            pool,
            owner,
            ask,
            given_up: Arc::default(),
            patience: OnceLock::new(),
            ended,
            end: Mutex::new(Some(end)),
        });
        shared.add_worker()?;
        Ok(shared)
    }

    fn add_worker(self: &Arc<Self>) -> io::Result<()> {
        let mut workers = lock(&self.workers);
        if self.is_over() || most_at_once() <= workers.len() {
            return Ok(());
        }
        let shared = Arc::clone(self);
        // Counted by who starts it, so that nobody else starts one more for the same reason.
        self.n_idle.fetch_add(1, Ordering::Relaxed);
        let worker = thread::Builder::new().name("lease-proxy".to_owned()).spawn(move || shared.work());
        match worker {
            Ok(worker) => {
                workers.push(worker);
                Ok(())
            }
            Err(error) => {
                self.n_idle.fetch_sub(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    fn work(self: &Arc<Self>) {
        while let Some(stream) = self.listen() {
            if self.n_idle.fetch_sub(1, Ordering::Relaxed) == 1 {
                // Without one more the next who asks is heard when somebody here has nothing to do any more.
                let _ = self.add_worker();
            }
            self.serve(stream).unwrap_or_else(|error| lock(&self.failures).push(error));
            self.n_idle.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The next who asks; none once the run is over.
    fn listen(&self) -> Option<UnixStream> {
        loop {
            let heard = self.listener.accept();
            if self.is_over() {
                return None;
            }
            match heard {
                Ok((stream, _)) => return Some(stream),
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// Gets a slot for who asks, and holds it as long as he lives.
    fn serve(&self, stream: UnixStream) -> Result<(), SlotError> {
        // Who does not ask as we do is not one of us; who cannot be watched holds his slot himself, when he hears nothing.
        let Some((asker, process)) = heard(&stream) else { return Ok(()) };
        let process = Arc::new(process);
        let _served = Served::begin(self, &process);
        self.wait_for_those_before(&process);
        let slot = self.acquire(&asker, &process, &Arc::new(stream));
        slot.map_or(Ok(()), |slot| self.hold(slot, &process))
    }

    /// Whoever runs tests starts the next one as soon as one has ended, and that one must not find the slot of the other in use.
    fn wait_for_those_before(&self, process: &Arc<Process>) {
        let mut served = lock(&self.served);
        let is_before = |served: &[Arc<Process>]| {
            is_any_gone(served.iter().take_while(|other| !Arc::ptr_eq(other, process)).map(Arc::as_ref))
        };
        while is_before(&served) {
            served = self.given_back.wait(served).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn acquire(&self, asker: &Asker, process: &Arc<Process>, stream: &Arc<UnixStream>) -> Option<Slot> {
        let env = Env::Fixed(asker.env.iter().cloned().collect());
        let request = (self.ask)(asker).of_pool(self.pool.clone()).or_owner(&self.owner);
        let request = request.for_process(Arc::clone(process), env).give_up_when(Arc::clone(&self.given_up));
        let told = Arc::clone(stream);
        let request = request.on_wait(move |waiting| {
            let texts = asking::told_of_wait(waiting);
            // Who cannot be told is gone, which ends the wait, or stopped.
            let _ = wire::send(&told, Kind::Waits, texts.iter().map(Vec::as_slice));
        });
        // Who does not hear the answer has ended, and so will what was acquired for him.
        match request.acquire() {
            Ok(slot) => {
                let texts = slot.envs().iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
                let _ = wire::send(stream, Kind::Granted, texts);
                Some(slot)
            }
            Err(error) => {
                let _ = wire::send(stream, Kind::Refused, asking::told_of_refusal(&error).iter().map(Vec::as_slice));
                None
            }
        }
    }

    /// Holds a slot until the process in it has ended.
    fn hold(&self, slot: Slot, process: &Process) -> Result<(), SlotError> {
        if !self.wait_for_end(&slot, process) {
            // It was cut off, so what it had started may still work on the slot that the next holder is about to get.
            let ended = process.kill().map_err(|error| SlotError::new(SlotErrorKind::Internal, format!("a test is {error}")));
            let failures = [ended, slot.end_survivors()].into_iter().filter_map(Result::err);
            lock(&self.failures).extend(failures);
        }
        slot.release()
    }

    /// Waits until the process has ended, and asks it to end if it lost its lease or the run is over; whether it has ended by
    /// itself.
    fn wait_for_end(&self, slot: &Slot, process: &Process) -> bool {
        let loss = slot.loss_watch();
        loop {
            let awaited = [process.end_fd(), Some(loss.as_fd()), Some(self.ended.as_fd())];
            if sleep_until_readable(&awaited, None).is_err() {
                thread::sleep(PAUSE);
            }
            if process.is_gone() {
                return process.outcome_within(REAPED_WITHIN).is_some_and(|outcome| outcome.code().is_some());
            }
            if let Some(reason) = loss.reason() {
                end_lost(process, reason);
                return false;
            }
            if self.is_over() {
                if let Some(patience) = self.patience.get().and_then(Option::as_ref) {
                    patience.wait_for(process);
                }
                return false;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    /// Ends all that is going on, and waits until it has ended.
    fn end(&self, patience: Option<Patience>) {
        let Some(end) = lock(&self.end).take() else { return };
        let _ = self.patience.set(patience);
        {
            // Nobody is added behind this.
            let _workers = lock(&self.workers);
            self.given_up.store(true, Ordering::Release);
        }
        drop(end);
        stop_listening(&self.listener);
        let workers = std::mem::take(&mut *lock(&self.workers));
        for worker in workers {
            // A panic has been told where it happened.
            let _ = worker.join();
        }
        self.pool.catch_up(&self.owner);
    }
}

/// One who is served until this is dropped.
struct Served<'a> {
    shared: &'a Shared,
    process: &'a Arc<Process>,
}

impl<'a> Served<'a> {
    fn begin(shared: &'a Shared, process: &'a Arc<Process>) -> Self {
        lock(&shared.served).push(Arc::clone(process));
        Self { shared, process }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        lock(&self.shared.served).retain(|served| !Arc::ptr_eq(served, self.process));
        self.shared.given_back.notify_all();
    }
}

fn most_at_once() -> usize {
    (most_descriptors().saturating_sub(FOR_ALL) / FOR_EACH).clamp(1, MOST_AT_ONCE)
}

/// Who is at the other end, and his process.
fn heard(stream: &UnixStream) -> Option<(Asker, Process)> {
    stream.set_read_timeout(Some(ASKS_WITHIN)).ok()?;
    stream.set_write_timeout(Some(HEARS_WITHIN)).ok()?;
    let (Kind::Asks, texts) = wire::receive(&mut BufReader::with_capacity(ASKS_WITH, stream)).ok()? else { return None };
    Some((Asker::of_texts(texts)?, peer(stream).ok()?))
}

/// Ends a test whose lease is lost, and says why among what it has said itself.
fn end_lost(process: &Process, reason: &str) {
    // What cannot be told or asked has ended, or is ended with all that carries the mark of its grant.
    let _ = process.say_for_it(&format!("error: {reason}"));
    let _ = process.ask_to_end();
    let _ = process.sleep_until_gone(Instant::now() + LOST_GRACE);
}

#[cfg(test)]
mod tests;
