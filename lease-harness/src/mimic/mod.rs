//! Tests that are made at run time, each in a slot: trials for [`libtest_mimic`]. With the feature `mimic`.
//!
//! A test target with `harness = false` is a program of its own. Its `main` makes the trials, for instance one for each file
//! of a folder, and [`main`](main()) runs them as libtest would: the same arguments, the same output, the same exit status;
//! cargo, nextest and `cargo lease` know no difference.
//!
//! ```toml
//! [dev-dependencies]
//! lease-harness = { version = "0.1", features = ["mimic"] }
//!
//! [[test]]
//! name = "cases"
//! harness = false
//! ```
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use lease_harness::Slot;
//! use lease_harness::mimic::{self, Failed};
//!
//! fn answers(slot: &Slot, request: &str) -> Result<(), Failed> {
//!     let port: u16 = slot.get("ports.api")?;
//!     // … start the server there, and send it the request.
//!     # let _ = (port, request);
//!     Ok(())
//! }
//!
//! fn main() -> ExitCode {
//!     let requests = ["list", "add", "remove"];
//!     mimic::main(requests.map(|request| {
//!         mimic::leased(format!("answers::{request}"), "pool.json", move |slot| answers(slot, request))
//!     }))
//! }
//! ```
//!
//! # When a slot is held
//!
//! A trial takes its slot when it starts to run and gives it back when its body ends, however it ends. What is listed,
//! filtered out or ignored takes none. Libtest-mimic runs as many trials at once as there are processors, or as
//! `--test-threads` or `RUST_TEST_THREADS` says, and each of them holds a slot of its own; those for which the pool has none
//! wait, and say so on stderr. With nextest each trial is a process.
//!
//! Below `cargo lease`, or beside tests that share a slot of the process, the trials of one process share that slot: they
//! take turns on it, and `reset` and `health` run before each but the first.
//!
//! # How a trial ends
//!
//! * A slot that cannot be had fails its trial, with the reason as the message; the others run.
//! * A panic fails the trial, and its slot is given back.
//! * A lease that is lost ends the process, what the trial had started on the slot with it: a sentence on stderr says which
//!   slot, and the exit status is 75. Nothing that lost its lease ends green.
//! * Libtest-mimic does not capture what trials print, so `--nocapture` is accepted and changes nothing.
//!
//! # If the process dies
//!
//! Every slot that its trials had is given to the next in line within moments.

mod arguments;
mod listing;
mod printing;
mod told;
mod wanted;

use std::env;
use std::process::ExitCode;

pub use libtest_mimic;
pub use libtest_mimic::{Completion, Failed, Measurement, Trial};
pub use wanted::Wanted;

use self::printing::nobody_reads;
use crate::__private::{enter_with, explain, lost, say};
use crate::harness::{Slot, SlotErrorKind};

/// Libtest's exit code when a test failed.
const FAILED: u8 = 101;

/// A test that runs in a slot of this pool: the name of a pool file, or a [`SlotRequest`](crate::SlotRequest) with more
/// to say.
///
/// The trial is one like others: it can be ignored or given a kind, and stand in a list beside trials without a slot.
///
/// ```
/// use std::time::Duration;
///
/// use lease_harness::mimic::{Trial, leased};
/// use lease_harness::{SlotRequest, Wait};
///
/// let patient = SlotRequest::from_file("devices.json").wait(Wait::For(Duration::from_secs(60)));
/// let trials = vec![
///     leased("database::migrates", "pool.json", |slot| {
///         let url = slot.env("DATABASE_URL").ok_or("the pool has no DATABASE_URL")?;
///         assert!(url.starts_with("postgres://"));
///         Ok(())
///     }),
///     leased("device::blinks", patient, |slot| {
///         let blinked = slot.command("blink").status()?;
///         if blinked.success() { Ok(()) } else { Err("it stays dark".into()) }
///     })
///     .with_ignored_flag(true),
///     Trial::test("needs_no_slot", || Ok(())),
/// ];
/// # assert_eq!(trials[1].name(), "device::blinks");
/// ```
pub fn leased<F>(name: impl Into<String>, pool: impl Into<Wanted>, body: F) -> Trial
where
    F: FnOnce(&Slot) -> Result<(), Failed> + Send + 'static,
{
    leased_ignorable(name, pool, |slot| body(slot).map(|()| Completion::Completed))
}

/// Like [`leased`], but the body may find out that the test does not apply, and ignore it.
///
/// ```
/// use lease_harness::mimic::{Completion, leased_ignorable};
///
/// let trial = leased_ignorable("prints_in_colour", "printers.json", |slot| {
///     if !slot.get::<bool>("colour")? {
///         return Ok(Completion::ignored_with("this printer has no colours"));
///     }
///     Ok(Completion::Completed)
/// });
/// # assert!(trial.is_test());
/// ```
pub fn leased_ignorable<F>(name: impl Into<String>, pool: impl Into<Wanted>, body: F) -> Trial
where
    F: FnOnce(&Slot) -> Result<Completion, Failed> + Send + 'static,
{
    let (name, pool) = (name.into(), pool.into());
    told::remember(&name, &pool);
    Trial::ignorable_test(name.clone(), move || in_a_slot(&name, pool, body))
}

/// A benchmark that runs in a slot.
///
/// The body is told whether it is only tried, as `cargo test` does it; otherwise it has to measure, see [`Trial::bench`].
/// The time to get the slot is not in what it measures itself.
///
/// ```
/// use std::time::Instant;
///
/// use lease_harness::mimic::{Measurement, leased_bench};
///
/// let trial = leased_bench("answers_fast", "pool.json", |slot, only_tried| {
///     let began = Instant::now();
///     // … ask the server of the slot.
///     # let _ = slot;
///     let avg = began.elapsed().as_nanos() as u64;
///     Ok((!only_tried).then_some(Measurement { avg, variance: 0 }))
/// });
/// # assert!(trial.is_bench());
/// ```
pub fn leased_bench<F>(name: impl Into<String>, pool: impl Into<Wanted>, body: F) -> Trial
where
    F: FnOnce(&Slot, bool) -> Result<Option<Measurement>, Failed> + Send + 'static,
{
    let (name, pool) = (name.into(), pool.into());
    told::remember(&name, &pool);
    Trial::bench(name.clone(), move |only_tried| in_a_slot(&name, pool, |slot| body(slot, only_tried)))
}

/// Runs the trials as the arguments of this process say, and gives what `main` returns: success, or 101 if one failed.
///
/// The arguments are those of libtest-mimic, and what it leaves out of libtest's and people use: several filters, any of
/// which is enough; `--no-capture`; the variable `RUST_TEST_THREADS`. Trials are listed in libtest's words, also benchmarks,
/// which nextest would not understand otherwise. With arguments that it does not know the process ends
/// with 2, before anything runs.
///
/// If nobody reads the output any more, trials that have not begun fail without taking a slot; one sentence on stderr, and
/// 101.
///
/// Whoever wants to look at the outcome first runs the trials by `libtest_mimic::run`: they take their slots there too, and
/// only what this page says of arguments, lists and output is libtest-mimic's own. Also `cargo lease nextest run` does not
/// learn then which of them take slots, and cannot queue them before they start.
pub fn main(trials: impl IntoIterator<Item = Trial>) -> ExitCode {
    let trials: Vec<_> = trials.into_iter().collect();
    told::tell(&trials);
    let (arguments, trials) = arguments::read(env::args_os(), env::var_os("RUST_TEST_THREADS"), trials);
    let ended = match arguments.list {
        true => listing::print(&arguments, &trials).map(|()| ExitCode::SUCCESS),
        false => printing::run(&arguments, trials).map(|conclusion| conclusion.exit_code()),
    };
    match ended {
        Ok(code) => code,
        Err(reason) => {
            say(&reason);
            ExitCode::from(FAILED)
        }
    }
}

fn in_a_slot<T>(name: &str, pool: Wanted, body: impl FnOnce(&Slot) -> Result<T, Failed>) -> Result<T, Failed> {
    // The lease ends behind the slot, also in a panic: giving the slot back may be what finds out about a loss.
    let (lease, slot) = enter_with(|| pool.request(name, nobody_reads()))
        .map_err(|reason| format!("no slot for the trial `{name}`: {reason}"))?;
    let outcome = body(&slot);
    give_back(slot);
    drop(lease);
    outcome
}

/// A slot that is not ours any more ends the process; one that cannot be given back is ended by its lifetime.
fn give_back(slot: Slot) {
    match slot.release() {
        Ok(()) => {}
        Err(error) if error.kind() == SlotErrorKind::Lost => lost(&explain(&error)),
        Err(error) => say(&explain(&error)),
    }
}
