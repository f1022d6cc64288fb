//! A storm: many runs on two slots, of which some are killed with SIGKILL at random moments.
//!
//! `LEASE_STORM_ROUNDS` makes it longer, `LEASE_STORM_SEED` repeats the choices of an earlier one (not its moments: those
//! are the machine's).

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lease_tests::{Lab, Running, reap, wait};
use rustix::process::Signal;

use crate::support::lab;

/// A few seconds.
const DEFAULT_ROUNDS: u64 = 20;
/// The runs of a round; there are two slots.
const N_RUNS: usize = 6;
/// As many of them are killed at most.
const N_KILLS: usize = 3;
/// The longest a round waits before a kill, about as long as a run takes from its start to its end.
const LONGEST_PAUSE_US: u64 = 60_000;
/// The most lines that a run writes while it has its slot, with 2 ms after each.
const LONGEST_WORK: u64 = 20;

#[test]
fn whoever_is_not_killed_is_served_alone_and_nothing_is_left() {
    let (seed, n_rounds) = (number("LEASE_STORM_SEED").unwrap_or_else(any_seed), number("LEASE_STORM_ROUNDS"));
    let n_rounds = n_rounds.unwrap_or(DEFAULT_ROUNDS);
    eprintln!("LEASE_STORM_SEED={seed} LEASE_STORM_ROUNDS={n_rounds}");
    let mut storm = Storm { lab: lab(), random: Random(seed), killed: BTreeSet::new(), n_killed_of: [0; 4] };
    storm.lab.write_slots(&["a", "b"]);
    for round in 0..n_rounds {
        storm.rage(round);
    }
    eprintln!("killed: {:?} of {:?}", storm.n_killed_of, Victim::ALL);
    assert!(!storm.killed.is_empty(), "nobody was hit");
    storm.check_nothing_left();
}

/// What of a run is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// Our process while it has no slot yet, or is just getting one.
    Waiter,
    /// Our process around a command.
    Wrapper,
    /// The command.
    Child,
    /// Both at once, as the kernel does it with a whole control group.
    Group,
}

impl Victim {
    const ALL: [Self; 4] = [Self::Waiter, Self::Wrapper, Self::Child, Self::Group];
}

struct Storm {
    lab: Lab,
    random: Random,
    /// The names of the runs that were hit.
    killed: BTreeSet<String>,
    /// How many of each kind, in the order of [`Victim::ALL`].
    n_killed_of: [usize; 4],
}

/// One `cargo-lease run`, told apart from all others by its name.
struct Run {
    name: String,
    process: Running,
}

impl Run {
    fn if_living(&mut self) -> Option<&mut Self> {
        (!self.process.has_ended()).then_some(self)
    }
}

impl Storm {
    fn rage(&mut self, round: u64) {
        let mut runs: Vec<_> = (0..N_RUNS).map(|n| self.start(format!("round-{round}-run-{n}"))).collect();
        for _ in 0..N_KILLS {
            // Not to wait for anything: this is what makes the moment a random one.
            std::thread::sleep(Duration::from_micros(self.random.below(LONGEST_PAUSE_US)));
            let mut living: Vec<_> = runs.iter_mut().filter_map(Run::if_living).collect();
            if !living.is_empty() {
                let victim = self.random.below(living.len() as u64);
                self.strike(living.swap_remove(usize::try_from(victim).expect("a small number")));
            }
        }
        for run in runs {
            self.check_served(run);
        }
        wait::until_true("nobody is at work", || reap::marked(self.lab.id()).is_empty());
        let history = self.lab.history();
        history.check_one_living_user_a_slot(&self.killed);
        // Nobody is left who could write into it; a long history takes long to read.
        std::fs::remove_file(history.path()).expect("the laboratory is writable");
    }

    fn start(&mut self, name: String) -> Run {
        let n_lines = self.random.below(LONGEST_WORK).to_string();
        let mut command = self.lab.lease_actor(&[], &["work", &n_lines]);
        command.env("LAB_RUN", &name);
        Run { process: self.lab.start(command), name }
    }

    /// Kills a part of a run that has not been awaited.
    fn strike(&mut self, run: &Run) {
        let choice = self.random.below(3);
        let command = self.lab.history().all("start").into_iter().find(|event| event.get("run") == run.name);
        let victim = match (&command, choice) {
            (None, _) => Victim::Waiter,
            (Some(_), 0) => Victim::Wrapper,
            (Some(_), 1) => Victim::Child,
            (Some(_), _) => Victim::Group,
        };
        let is_hit = match (victim, command) {
            (Victim::Child, Some(command)) => reap::kill_of_run(self.lab.id(), &run.name, command.pid()),
            (Victim::Group, _) => {
                run.process.signal_group(Signal::KILL);
                true
            }
            _ => {
                run.process.signal(Signal::KILL);
                true
            }
        };
        if is_hit {
            self.killed.insert(run.name.clone());
            self.n_killed_of[victim as usize] += 1;
        }
    }

    /// Waits for the end of a run; one that nobody killed ended well and did all of its work.
    #[track_caller]
    fn check_served(&self, run: Run) {
        let finished = run.process.finish();
        if self.killed.contains(&run.name) {
            return;
        }
        let account = finished.expect_success().account();
        for word in ["provision", "start", "end"] {
            let n_lines = self.lab.history().all(word).iter().filter(|event| event.get("run") == run.name).count();
            assert_eq!(n_lines, 1, "{word} of {}: {account}", run.name);
        }
    }

    /// The next who comes gives back what the killed held, and whoever comes a minute later clears away what they had
    /// half-written.
    fn check_nothing_left(&self) {
        let run = || self.lab.run(self.lab.lease_actor(&[], &["note", "last"])).expect_success();
        run();
        let is_half_written = |name: &String| [".tmp-", ".room-", ".alive/.new-"].iter().any(|start| name.starts_with(start));
        let left: Vec<_> = self.left().into_iter().filter(|name| !is_half_written(name)).collect();
        assert!(left.is_empty(), "left by the killed: {left:?}");
        self.left().iter().for_each(|name| age(&self.lab.store().join(name)));
        run();
        self.lab.check_all_given_back();
        assert_eq!(self.left(), Vec::<String>::new(), "left for more than a minute");
        wait::until_true("no process is left", || reap::marked(self.lab.id()).is_empty());
    }

    /// Leases, guards, proofs of life and what is half-written.
    fn left(&self) -> Vec<String> {
        let names = |folder: &str| {
            let listing = std::fs::read_dir(self.lab.store().join(folder)).into_iter().flatten();
            listing
                .map(|entry| entry.expect("the store can be read").file_name().to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        let is_left =
            |name: &String| name.ends_with(".json") || [".guard-", ".tmp-", ".room-"].iter().any(|kind| name.starts_with(kind));
        let proofs = names(".alive").into_iter().map(|name| format!(".alive/{name}"));
        names("").into_iter().filter(is_left).chain(proofs).collect()
    }
}

/// As if it had been there for some minutes already.
fn age(path: &Path) {
    let file = File::open(path).expect("what is aged can be opened");
    file.set_modified(SystemTime::now() - Duration::from_secs(300)).expect("a modification time can be set");
}

/// The same numbers for the same seed (splitmix64).
struct Random(u64);

impl Random {
    /// A number from 0 to `limit` - 1.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

fn any_seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}

/// What a variable says.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, which is no whole number")))
}
