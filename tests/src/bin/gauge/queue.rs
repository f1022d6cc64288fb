//! A queue in which many wait: each of them has a proof of life of its own, as a process has, and all of them live.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lease_harness::json::Json;
use lease_harness::pool::{HeldSlot, Mode, Outcome, Pool, SlotWanted, Wait};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::passes::Pass;
use crate::place::{self, OWNER};
use crate::spec::Spec;

/// Joins, looks once and leaves.
pub(crate) fn turn(folder: &Path, spec: &Spec<'_>) -> Pass {
    let crowd = Crowd::gather(folder, spec.number("waiters", 0));
    let wanted = SlotWanted { wait: Wait::For(Duration::ZERO), ..SlotWanted::by(OWNER) };
    Box::new(move || {
        let outcome = crowd.pool().acquire(&wanted, &mut |_| true).expect("the store is usable");
        assert!(matches!(outcome, Outcome::TimedOut { .. }), "{outcome:?}");
    })
}

/// Joins and leaves without a look.
pub(crate) fn join_and_leave(folder: &Path, spec: &Spec<'_>) -> Pass {
    let crowd = Crowd::gather(folder, spec.number("waiters", 0));
    Box::new(move || {
        let joined = crowd.pool().enqueue(OWNER, None, Mode::Blocking).expect("the store is usable");
        assert!(crowd.pool().dequeue(joined.entry.id(), OWNER).expect("the store is usable"), "it has waited");
    })
}

pub(crate) fn status(folder: &Path, spec: &Spec<'_>) -> Pass {
    let crowd = Crowd::gather(folder, spec.number("waiters", 0));
    Box::new(move || {
        let status = crowd.pool().status().expect("the store is usable");
        assert_eq!(status.queue.len(), crowd.n_waiters());
    })
}

/// What joining and leaving cannot do without: the file of the queue is read twice, and written anew twice, as bytes.
pub(crate) fn file(folder: &Path, spec: &Spec<'_>) -> Pass {
    let crowd = Crowd::gather(folder, spec.number("waiters", 0));
    let (path, temporary) = (crowd.queue(), crowd.pool().dir().join(".tmp-gauge"));
    Box::new(move || {
        for _ in 0..2 {
            let bytes = fs::read(&path).unwrap_or_default();
            fs::write(&temporary, &bytes).expect("the folder is writable");
            fs::rename(&temporary, &path).expect("the folder is writable");
        }
    })
}

struct Crowd {
    pool: Pool,
    /// The only slot, so that nobody is granted one.
    _held: Box<HeldSlot>,
    /// Locked as long as this lives.
    proofs: Vec<File>,
}

impl Crowd {
    /// Everybody is put into the queue at once: one by one, each would look at all before it.
    fn gather(folder: &Path, n_waiters: u64) -> Self {
        allow_files(n_waiters + 100);
        let pool = place::pool(folder, 1);
        let held = place::take(&pool, &SlotWanted::by("holder"));
        let mut crowd = Self { pool, _held: held, proofs: Vec::new() };
        if n_waiters == 0 {
            return crowd;
        }
        let joined = crowd.pool.enqueue("waiter", None, Mode::Blocking).expect("the store is usable");
        let entries: Vec<Json> = (0..n_waiters).map(|number| crowd.waiter(&joined.entry.to_json(), number)).collect();
        let document: Json = lease_harness::json::object([("entries", Json::Array(entries))]);
        fs::write(crowd.queue(), document.to_pretty() + "\n").expect("the folder is writable");
        crowd
    }

    /// By this a pass has all of the crowd, and not only the field that it uses: else the waiters would be gone.
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn n_waiters(&self) -> usize {
        self.proofs.len()
    }

    fn queue(&self) -> PathBuf {
        self.pool.dir().join("queue.json")
    }

    /// An entry as `example`, of somebody else who lives.
    fn waiter(&mut self, example: &Json, number: u64) -> Json {
        let (id, alive) = (uuid::Uuid::new_v4().to_string(), uuid::Uuid::new_v4().to_string());
        let proof = File::create_new(self.pool.store().dir().join(".alive").join(&alive)).expect("the folder is writable");
        proof.try_lock().expect("nobody else knows it");
        self.proofs.push(proof);
        let mut entry = example.clone();
        let members = entry.as_object_mut().expect("an entry is an object");
        members.insert("id", id.as_str());
        members.insert("owner", format!("waiter-{number}").as_str());
        members.insert("alive", alive.as_str());
        entry
    }
}

fn allow_files(n_files: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < n_files) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(n_files), maximum }).expect("so many files may be open");
    }
}
