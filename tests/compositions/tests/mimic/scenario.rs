//! Leased trials of every shape. What a check does with them is said in the environment.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lease_harness::mimic::{Completion, Failed, Measurement, Trial, leased, leased_bench, leased_ignorable};
use lease_harness::{Slot, SlotRequest, Wait};

/// A file that gets the name of each scenario whose body runs, with its slot.
pub(crate) const LOG: &str = "SCENARIO_LOG";
/// Set for scenarios that are to stay inside until this file is there.
pub(crate) const STAYS_UNTIL: &str = "SCENARIO_STAYS_UNTIL";
/// The same for the scenario without a slot.
pub(crate) const FREE_UNTIL: &str = "SCENARIO_FREE_UNTIL";

/// How many of the scenarios `meets` are inside at once.
pub(crate) const N_MEETING: usize = 3;
/// How many scenarios `many` there are.
pub(crate) const N_MANY: usize = 12;

/// Longer than any test here takes; then a process whose test failed is not left behind for ever.
const LONG: Duration = Duration::from_secs(300);

/// The trials.
pub(crate) fn trials() -> Vec<Trial> {
    let impatient = SlotRequest::from_file("behaviour.json").wait(Wait::No);
    let mut trials = vec![
        scenario("plain", |_| Ok(())),
        scenario("ignored", |_| Ok(())).with_ignored_flag(true),
        scenario("kind", |_| Ok(())).with_kind("some"),
        scenario("fails", |_| Err("as told".into())),
        scenario("panics", |_| panic!("as told")),
        leased("impatient", impatient, |slot| inside("impatient", slot, |_| Ok(()))),
        leased_ignorable("not_applicable", "behaviour.json", |slot| {
            inside("not_applicable", slot, |_| Ok(Completion::ignored_with("as told")))
        }),
        leased_bench("bench", "behaviour.json", |slot, only_tried| {
            let name = if only_tried { "bench tried" } else { "bench measured" };
            inside(name, slot, |_| Ok((!only_tried).then_some(Measurement { avg: 1, variance: 0 })))
        }),
        Trial::test("free", || {
            stay_until(FREE_UNTIL);
            Ok(())
        }),
    ];
    trials.extend((0..N_MEETING).map(|nth| scenario(&format!("meets::{nth}"), |_| meet())));
    trials.extend((0..N_MANY).map(|nth| scenario(&format!("many::{nth}"), |_| Ok(()))));
    trials
}

fn scenario(name: &str, body: impl FnOnce(&Slot) -> Result<(), Failed> + Send + 'static) -> Trial {
    let inner_name = name.to_owned();
    leased(name, "behaviour.json", move |slot| inside(&inner_name, slot, body))
}

/// Is inside, alone on the slot.
fn inside<T>(name: &str, slot: &Slot, body: impl FnOnce(&Slot) -> Result<T, Failed>) -> Result<T, Failed> {
    let _alone = Alone::on(slot.id());
    if let Some(log) = std::env::var_os(LOG) {
        let mut log = OpenOptions::new().append(true).create(true).open(log)?;
        log.write_all(format!("{} {}\n", name.replace(' ', "_"), slot.id()).as_bytes())?;
    }
    stay_until(STAYS_UNTIL);
    body(slot)
}

fn stay_until(variable: &str) {
    if let Some(gate) = std::env::var_os(variable).map(PathBuf::from) {
        wait_for(|| gate.exists());
    }
}

/// Comes back when all that meet are inside, or far too late.
fn meet() -> Result<(), Failed> {
    static INSIDE: AtomicUsize = AtomicUsize::new(0);
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let met = wait_for(|| INSIDE.load(Ordering::SeqCst) == N_MEETING);
    if met { Ok(()) } else { Err("the others did not come".into()) }
}

fn wait_for(done: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !done() && begun.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(5));
    }
    done()
}

static USED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Being the only trial on a slot.
struct Alone(String);

impl Alone {
    fn on(slot: &str) -> Self {
        let is_alone = USED.lock().unwrap().insert(slot.to_owned());
        assert!(is_alone, "two trials on slot {slot} at once");
        Self(slot.to_owned())
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        USED.lock().unwrap().remove(&self.0);
    }
}
