//! A storm: many runs on two slots, of which some are killed with SIGKILL at random moments.
//!
//! `LEASE_STORM_ROUNDS` makes it longer, `LEASE_STORM_SEED` repeats the choices of an earlier one (not its moments: those
//! are the machine's).

use std::collections::BTreeSet;
use std::time::Duration;

use lease_tests::{Lab, reap, wait};

use crate::chance::{Random, any_seed, number};
use crate::runs::{Run, Victim, check_nothing_left};
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
    check_nothing_left(&storm.lab);
}

struct Storm {
    lab: Lab,
    random: Random,
    /// The names of the runs that were hit.
    killed: BTreeSet<String>,
    /// How many of each kind, in the order of [`Victim::ALL`].
    n_killed_of: [usize; 4],
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
        let n_lines = self.random.below(LONGEST_WORK);
        Run::start(&self.lab, name, n_lines)
    }

    fn strike(&mut self, run: &Run) {
        let choice = self.random.below(Victim::N_AT_WORK);
        let command = self.lab.history().all("start").into_iter().find(|event| event.get("run") == run.name);
        if let Some(victim) = run.strike(&self.lab, command.map(|event| event.pid()), choice) {
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
}
