//! The process form: a slot of each pool for the process, their environment in place before `main`.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};

use super::args::process_args;
use super::cases::Cases;
use super::end::{end_before_main, held_until_exit, hold_until_exit, stop_when_lost};
use super::lease::Lease;
use super::listing;
use super::own_tests;
use super::request::{Ask, explain, guarded};
use super::selection::Selection;
use super::site::{Site, is_any_registered, process_forms, registered};
use super::turn::{self, Queue, Turn, queue_of};
use crate::harness::{
    LossWatch, Slot, SlotError, SlotErrorKind, Wait, background, put_off, quiesce, refuse_shared_variables, resume,
};

/// The process's slots, as its tests need them.
struct Held {
    /// As they were found, with absolute paths.
    pool_files: Vec<PathBuf>,
    /// How the tests that were expected name those files.
    names: Vec<Vec<&'static str>>,
    losses: Vec<LossWatch>,
    /// In the order in which turns are taken.
    queues: Vec<Arc<Queue>>,
}

/// What came of the constructor.
static PROCESS: OnceLock<Process> = OnceLock::new();

/// What is wrong with the cases of its tests.
static CASES: OnceLock<Cases> = OnceLock::new();

/// The process's slots, or why it has none.
enum Process {
    /// It holds a slot of each of these pools.
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

/// Takes the process's slot if one of its tests will run, and tells a listing of all. Writes nothing to stdout, and never
/// panics.
fn before_main() {
    if !is_any_registered() {
        return;
    }
    listing::tell_sites(registered);
    let process = guarded(take_what_is_needed).unwrap_or_else(|error| Process::Refused(explain(&error)));
    let _ = PROCESS.set(process);
}

fn take_what_is_needed() -> Result<Process, SlotError> {
    let selection = Selection::read(process_args().as_deref(), |name| std::env::var_os(name));
    if let Selection::Unknown(reason) = selection {
        return Ok(Process::NotAsked(format!("{reason}, so it was not known whether a leased test would run")));
    }
    // A program may have hundreds of tests of which one runs here: the others are passed by without their names being made.
    let sites = process_forms(selection.whole_names());
    let cases = CASES.get_or_init(|| Cases::look(&sites, &selection));
    if let Err(reason) = cases.refuse_process(&sites, &selection) {
        end_before_main(&reason);
    }
    let will_run = |site: &&Site| selection.may_run(&site.candidate()) && cases.refuse(site).is_ok();
    let wanted = really_selected(sites.iter().copied().filter(will_run).collect(), &selection);
    let Some(ask) = ask_for(&wanted)? else {
        return Ok(Process::NotAsked("no leased test is selected by the arguments of this process".to_owned()));
    };
    let slots = acquire(&ask)?;
    let names = wanted.iter().map(|site| site.pools()).collect();
    let queues = turn::in_order(slots.iter().collect()).into_iter().map(queue_of).collect();
    let losses = slots.iter().map(Slot::loss_watch).collect();
    slots.iter().for_each(stop_when_lost);
    hold_until_exit(slots);
    // A test may change the working directory.
    let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
    let pool_files = ask.pool_files.iter().map(absolute).collect();
    Ok(Process::Holds(Held { pool_files, names, losses, queues }))
}

/// Without those of a generator, whose tests have names that are not known here, if libtest says that none is selected.
fn really_selected(mut sites: Vec<&'static Site>, selection: &Selection) -> Vec<&'static Site> {
    if sites.iter().any(|site| site.is_known_to_libtest())
        && let Some(args) = selection.to_list()
        && let Ok(names) = own_tests::list(&args)
    {
        sites.retain(|site| !site.is_known_to_libtest() || names.iter().any(|name| site.covers(name)));
    }
    sites
}

/// Takes the slots and sets their environment.
fn acquire(ask: &Ask) -> Result<Vec<Slot>, SlotError> {
    if 1 < ask.pool_files.len() {
        refuse_shared_variables(&ask.requests())?;
    }
    // No thread of ours may run while the environment changes, so that one that began before had to end and begin anew. Who
    // waits for a second slot holds the first one meanwhile, and needs it.
    if ask.pool_files.len() == 1 {
        put_off();
    }
    let slots = guarded(|| ask.acquire(None)).inspect_err(|_| resume())?;
    quiesce();
    let environment = guarded(|| set_environments(&slots));
    // Whatever came of that: other slots of this process need the heart too.
    resume();
    environment?;
    Ok(slots)
}

/// What every grant sets has room for one of them: an outer one, which whoever holds it looks for, else the one written
/// first. What is set last stays.
fn set_environments(slots: &[Slot]) -> Result<(), SlotError> {
    let (joined, taken): (Vec<_>, Vec<_>) = slots.iter().partition(|slot| slot.is_joined());
    joined.into_iter().chain(taken).rev().try_for_each(set_environment)
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

/// One request for all tests of the process: the longest TTL, the longest wait; pools and owner must be the same.
fn ask_for(sites: &[&'static Site]) -> Result<Option<Ask>, SlotError> {
    let mut asked: Option<(Ask, &Site)> = None;
    for site in sites {
        let ask = Ask::of(site)?;
        asked = Some(match asked {
            None => (ask, site),
            Some((first, first_site)) => (together(first, first_site, ask, site)?, first_site),
        });
    }
    Ok(asked.map(|(ask, _)| ask))
}

/// The same files have the same names in the same order, however they were written. For comparing only: what a pool file
/// says is relative to where it was found.
fn canonical(files: &[PathBuf]) -> Vec<PathBuf> {
    let mut files: Vec<_> = files.iter().map(|file| file.canonicalize().unwrap_or_else(|_| file.clone())).collect();
    files.sort();
    files
}

fn shown(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" and ")
}

fn together(first: Ask, first_site: &Site, next: Ask, next_site: &Site) -> Result<Ask, SlotError> {
    let differ = |what: &str, first: &dyn Display, next: &dyn Display| {
        let tests = format!("`{}` and `{}`", first_site.test_name(), next_site.test_name());
        let way_out = "run them in processes of their own (cargo nextest does) or give them a `slot: Slot`";
        let message =
            format!("the tests {tests} share this process and its slot, but not the {what}: {first}, {next}; {way_out}");
        SlotError::new(SlotErrorKind::Usage, message)
    };
    if canonical(&first.pool_files) != canonical(&next.pool_files) {
        return Err(differ("pool", &shown(&first.pool_files), &shown(&next.pool_files)));
    }
    if let (Some(owner), Some(other)) = (first.owner, next.owner)
        && owner != other
    {
        return Err(differ("owner", &owner, &other));
    }
    Ok(Ask {
        pool_files: first.pool_files,
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
    CASES.get().map_or(Ok(()), |cases| cases.refuse(site))?;
    match PROCESS.get() {
        Some(Process::Holds(held)) => is_about(held, site).map(|()| held),
        Some(Process::Refused(reason)) => Err(reason.clone()),
        Some(Process::NotAsked(reason)) => Err(format!("{reason}; a test with a `slot: Slot` takes one when it starts")),
        None => Err("the constructor that takes the process's slot did not run".to_owned()),
    }
}

/// Whether the slots are of the pools that the test wants. The files are only looked for if they were not found before: a
/// test may have changed the working directory.
fn is_about(held: &Held, site: &Site) -> Result<(), String> {
    if held.names.contains(&site.pools()) {
        return Ok(());
    }
    let files = canonical(&site.find_pools().map_err(|error| explain(&error))?);
    let held = canonical(&held.pool_files);
    if files == held { Ok(()) } else { Err(other_pools(&files, &held)) }
}

fn other_pools(wanted: &[PathBuf], held: &[PathBuf]) -> String {
    let (wanted, held) = (shown(wanted), shown(held));
    format!("this process holds a slot of {held}, not of {wanted}: it was not expected to run this test")
}

/// Waits for the test's turn over the process's slots, and has them clean if it asks for that.
pub(super) fn enter(site: &Site) -> Result<Lease, String> {
    let held = held_for(site)?;
    let asking = thread::current().id();
    let turns = held.queues.iter().map(|queue| Arc::clone(queue).wait(asking)).collect::<Result<Vec<_>, _>>();
    let turns = turns.map_err(|error| error.to_string())?;
    if must_reset(site, &turns) {
        held.reset_used(&turns)?;
    }
    Ok(held.lease(turns))
}

/// Like [`enter`], without blocking the thread.
pub(super) async fn enter_async(site: &Site) -> Result<Lease, String> {
    let held = held_for(site)?;
    let asking = thread::current().id();
    let turns: Option<Vec<_>> = held.queues.iter().map(|queue| Arc::clone(queue).take_if_free(asking)).collect();
    let turns = match turns {
        Some(turns) => turns,
        None => elsewhere(move || held.wait_elsewhere(asking)).await?,
    };
    if !must_reset(site, &turns) {
        return Ok(held.lease(turns));
    }
    elsewhere(move || held.reset_used(&turns).map(|()| held.lease(turns))).await?
}

/// Whether the test finds a slot used and does not want that.
fn must_reset(site: &Site, turns: &[Turn]) -> bool {
    site.asks_to_reset() && turns.iter().any(Turn::was_used)
}

async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    background::run(move |_| work()).await.map_err(|error| error.to_string())
}

impl Held {
    fn wait_elsewhere(&self, asking: ThreadId) -> Vec<Turn> {
        self.queues.iter().map(|queue| Arc::clone(queue).wait_elsewhere(asking)).collect()
    }

    /// Cleans the slots that tests of this process have had before. If that fails, the next test that asks for it tries again.
    fn reset_used(&self, turns: &[Turn]) -> Result<(), String> {
        let slots = held_until_exit();
        let used = slots.iter().filter(|slot| turns.iter().any(|turn| turn.was_used() && turn.is_over(slot)));
        used.into_iter().try_for_each(|slot| guarded(|| slot.reset()).map_err(|error| explain(&error)))
    }

    fn lease(&self, turns: Vec<Turn>) -> Lease {
        Lease::new(self.losses.clone(), turns)
    }
}

#[cfg(test)]
mod tests;
