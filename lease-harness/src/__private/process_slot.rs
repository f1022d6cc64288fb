//! The process form: one slot for the process, its environment in place before `main`.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;

use super::args::process_args;
use super::end::{hold_until_exit, stop_when_lost};
use super::lease::Lease;
use super::paths;
use super::request::{Ask, explain, guarded};
use super::selection::Selection;
use super::site::{Site, registered};
use super::turn::{Queue, queue_of};
use crate::harness::{LossWatch, Slot, SlotError, SlotErrorKind, Wait, background};

/// The process's slot, as its tests need it.
struct Held {
    pool_file: PathBuf,
    /// How the tests that were expected name that file.
    names: Vec<&'static str>,
    loss: LossWatch,
    queue: Arc<Queue>,
}

/// What came of the constructor.
static PROCESS: OnceLock<Process> = OnceLock::new();

/// The process's slot, or why it has none.
enum Process {
    /// It holds a slot of the pool in this file.
    Holds(Held),
    /// Its tests need a slot and could not get one, for this reason.
    Refused(String),
    /// No slot was asked for, for this reason.
    NotAsked(String),
}

ctor::declarative::ctor! {
    /// After the places, whose priority is 101, and before everybody who does not ask for a priority.
    #[ctor(unsafe, priority = 102)]
    fn take_process_slot() {
        before_main();
    }
}

/// Takes the process's slot if one of its tests will run. Writes nothing to stdout, and never panics.
fn before_main() {
    let sites = registered();
    if sites.is_empty() {
        return;
    }
    let process = guarded(|| take_for(&sites)).unwrap_or_else(|error| Process::Refused(explain(&error)));
    let _ = PROCESS.set(process);
}

fn take_for(sites: &[&'static Site]) -> Result<Process, SlotError> {
    let selection = Selection::read(process_args().as_deref(), |name| std::env::var_os(name));
    if let Selection::Unknown(reason) = selection {
        return Ok(Process::NotAsked(format!("{reason}, so it was not known whether a leased test would run")));
    }
    let wanted: Vec<_> = sites.iter().copied().filter(|site| selection.may_run(&site.candidate())).collect();
    let Some(ask) = ask_for(&wanted)? else {
        return Ok(Process::NotAsked("no leased test is selected by the arguments of this process".to_owned()));
    };
    let pool_file = canonical(ask.pool_file.clone());
    let slot = ask.request().acquire_unbeaten()?;
    let environment = guarded(|| set_environment(&slot));
    // Whatever came of that: other slots of this process need the heart too.
    slot.start_heartbeat();
    environment?;
    let (loss, queue) = (slot.loss_watch(), queue_of(&slot));
    stop_when_lost(&slot);
    hold_until_exit(slot);
    let names = wanted.iter().map(|site| site.pool()).collect();
    Ok(Process::Holds(Held { pool_file, names, loss, queue }))
}

fn set_environment(slot: &Slot) -> Result<(), SlotError> {
    for (name, value) in slot.envs() {
        // SAFETY: This runs in a constructor, before `main`. It is relied on that no other thread reads or writes the
        // environment without the standard library's lock: the threads of this crate do not, and those that acquiring a
        // slot needs have ended; the heartbeat starts later. The constructor runs before all that ask for no priority, so
        // threads of other crates do not exist yet.
        unsafe { std::env::set_var(name, value) };
    }
    Ok(())
}

/// One request for all tests of the process: the longest TTL, the longest wait; pool and owner must be the same.
fn ask_for(sites: &[&'static Site]) -> Result<Option<Ask>, SlotError> {
    let mut asked: Option<(Ask, &Site)> = None;
    for site in sites {
        let ask = Ask {
            pool_file: paths::find(site.pool())?,
            ttl_minutes: site.asked_ttl_minutes(),
            wait: site.asked_wait(),
            owner: site.asked_owner(),
        };
        asked = Some(match asked {
            None => (ask, site),
            Some((first, first_site)) => (together(first, first_site, ask, site)?, first_site),
        });
    }
    Ok(asked.map(|(ask, _)| ask))
}

/// The same file has the same name, however it was written. For comparing only: what a pool file says is relative to where
/// it was found.
fn canonical(file: PathBuf) -> PathBuf {
    file.canonicalize().unwrap_or(file)
}

fn together(first: Ask, first_site: &Site, next: Ask, next_site: &Site) -> Result<Ask, SlotError> {
    let differ = |what: &str, first: &dyn Display, next: &dyn Display| {
        let tests = format!("`{}` and `{}`", first_site.test_name(), next_site.test_name());
        let way_out = "run them in processes of their own (cargo nextest does) or give them a `slot: Slot`";
        let message =
            format!("the tests {tests} share this process and its slot, but not the {what}: {first}, {next}; {way_out}");
        SlotError::new(SlotErrorKind::Usage, message)
    };
    if canonical(first.pool_file.clone()) != canonical(next.pool_file.clone()) {
        return Err(differ("pool", &first.pool_file.display(), &next.pool_file.display()));
    }
    if let (Some(owner), Some(other)) = (first.owner, next.owner)
        && owner != other
    {
        return Err(differ("owner", &owner, &other));
    }
    Ok(Ask {
        pool_file: first.pool_file,
        ttl_minutes: longest_ttl(first.ttl_minutes, next.ttl_minutes),
        wait: longest_wait(first.wait, next.wait),
        owner: first.owner.or(next.owner),
    })
}

/// An absent TTL is the pool's own, which is not known here: what a test asks for is at least what it needs.
fn longest_ttl(first: Option<f64>, next: Option<f64>) -> Option<f64> {
    match (first, next) {
        (Some(first), Some(next)) => Some(first.max(next)),
        (first, next) => first.or(next),
    }
}

fn longest_wait(first: Wait, next: Wait) -> Wait {
    match (first, next) {
        (Wait::Forever, _) | (_, Wait::Forever) => Wait::Forever,
        (Wait::For(first), Wait::For(next)) => Wait::For(first.max(next)),
        (Wait::No, wait) | (wait, Wait::No) => wait,
    }
}

/// The process's slot, for a test that starts.
fn held_for(site: &Site) -> Result<&'static Held, String> {
    match PROCESS.get() {
        Some(Process::Holds(held)) => is_about(held, site).map(|()| held),
        Some(Process::Refused(reason)) => Err(reason.clone()),
        Some(Process::NotAsked(reason)) => Err(format!("{reason}; a test with a `slot: Slot` takes one when it starts")),
        None => Err("the constructor that takes the process's slot did not run".to_owned()),
    }
}

/// Whether the slot is of the pool that the test wants. The file is only looked for if it was not found before: a test may
/// have changed the working directory.
fn is_about(held: &Held, site: &Site) -> Result<(), String> {
    if held.names.contains(&site.pool()) {
        return Ok(());
    }
    match paths::find(site.pool()).map(canonical) {
        Ok(file) if file == held.pool_file => Ok(()),
        Ok(file) => Err(other_pool(&file, &held.pool_file)),
        Err(error) => Err(explain(&error)),
    }
}

fn other_pool(wanted: &Path, held: &Path) -> String {
    let (wanted, held) = (wanted.display(), held.display());
    format!("this process holds a slot of {held}, not of {wanted}: it was not expected to run this test")
}

/// Waits for the test's turn over the process's slot.
pub(super) fn enter(site: &Site) -> Result<Lease, String> {
    let held = held_for(site)?;
    let turn = Arc::clone(&held.queue).wait(thread::current().id()).map_err(|error| error.to_string())?;
    Ok(Lease::new(held.loss.clone(), Some(turn)))
}

/// Like [`enter`], without blocking the thread.
pub(super) async fn enter_async(site: &Site) -> Result<Lease, String> {
    let held = held_for(site)?;
    let queue = Arc::clone(&held.queue);
    let asking = thread::current().id();
    let turn = match Arc::clone(&queue).take_if_free(asking) {
        Some(turn) => turn,
        None => background::run(move |_| queue.wait_elsewhere(asking)).await.map_err(|error| error.to_string())?,
    };
    Ok(Lease::new(held.loss.clone(), Some(turn)))
}

#[cfg(test)]
mod tests;
