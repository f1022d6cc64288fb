//! A race on two slots: four of ours, four of theirs, and on both sides some are killed in the middle of everything.
//!
//! Ours are killed from outside at random moments. Theirs die at a random one of their own steps, so that they also die inside
//! a critical section, and say before where they were. Whoever is killed is replaced.
//!
//! `LEASE_RACE_GRANTS` makes it longer, `LEASE_RACE_SEED` repeats the choices of an earlier one (not its moments: those are the
//! machine's).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lease_tests::history::Tail;
use lease_tests::order::{self, QueueWatcher, Verdict};
use lease_tests::{Lab, Running, reap, wait};
use serde_json::json;

use super::{burial, part};
use crate::chance::{Random, any_seed, number};
use crate::runs::{Run, Victim, check_nothing_left};
use crate::support::lab;

/// Some seconds.
const DEFAULT_GRANTS: u64 = 300;
const N_SLOTS: usize = 2;
/// How many take part on each side.
const N_SEATS: usize = 4;
/// One in so many of our runs is killed.
const OUR_MORTALITY: u64 = 5;
/// The longest that one of our runs lives before it is killed, about as long as it waits in this crowd.
const LONGEST_LIFE_US: u64 = 300_000;
/// The longest that it works before it is killed, if that is what it is to be killed at.
const LONGEST_WORK_US: u64 = 10_000;
/// The most steps that one of theirs does before it is killed: those of some grants.
const LONGEST_WAY: u64 = 1500;
/// One in so many of theirs does so many times more: who is always new is seldom far ahead in the queue.
const THEIR_LONGEVITY: [u64; 2] = [3, 30];
/// The most lines that whoever has a slot writes, with 2 ms after each.
const LONGEST_WORK: u64 = 6;
const LOOK_EVERY: Duration = Duration::from_millis(1);

#[test]
fn two_implementations_serve_everybody_alone_and_in_turn() {
    let seed = number("LEASE_RACE_SEED").unwrap_or_else(any_seed);
    let n_grants = number("LEASE_RACE_GRANTS").unwrap_or(DEFAULT_GRANTS);
    eprintln!("LEASE_RACE_SEED={seed} LEASE_RACE_GRANTS={n_grants}");
    let mut race = Race::start(seed);
    while race.n_started < n_grants {
        race.look();
    }
    let (lab, killed, verdict) = race.finish();
    lab.history().check_one_living_user_a_slot(&killed);
    check_order(&verdict);
    check_no_repairs(&lab);
    check_nothing_left(&lab);
}

/// First come was first served, and it was looked at.
#[track_caller]
fn check_order(verdict: &Verdict) {
    let is_ours = |owner: &str| owner.starts_with("ours");
    let mixed = |first: bool| {
        let is_mixed = |pair: &&(order::Asker, order::Asker)| is_ours(&pair.0.owner) == first && is_ours(&pair.1.owner) != first;
        verdict.pairs.iter().filter(is_mixed).count()
    };
    let (ours_first, theirs_first) = (mixed(true), mixed(false));
    eprintln!(
        "order: {} pairs, ours before theirs {ours_first}, theirs before ours {theirs_first}, overtaken on a free slot {}",
        verdict.pairs.len(),
        verdict.n_overtaken
    );
    assert!(verdict.faults.is_empty(), "{:#?}", verdict.faults);
    assert!(0 < ours_first && 0 < theirs_first, "nobody waited for the other side");
}

/// Neither found anything of the other's wrong.
#[track_caller]
fn check_no_repairs(lab: &Lab) {
    let found = |file: &str, words: &[&str]| {
        let text = fs::read_to_string(lab.store().join(file)).unwrap_or_default();
        let lines = text.lines().filter(|line| words.iter().any(|word| line.contains(word)));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("pool/pool.log", &["_repaired"]), Vec::<String>::new());
    assert_eq!(found("reaped.log", &["guard_lost", "guard_release_misfire", "\"corrupt\":true"]), Vec::<String>::new());
}

struct Race {
    lab: Lab,
    random: Random,
    tail: Tail,
    queue: QueueWatcher,
    ours: Vec<Ours>,
    /// Each makes one run after the other.
    theirs: Vec<Running>,
    /// The names of the runs that were hit, of both sides.
    killed: BTreeSet<String>,
    workers: BTreeMap<String, Worker>,
    /// What a process said before it died: its run, and where it was.
    last_words: BTreeMap<u32, (String, String)>,
    /// For those of theirs that died and may still have a place in the queue. Others may die while one waits for its lock.
    burials: Vec<JoinHandle<()>>,
    n_started: u64,
    n_of_theirs: u64,
    n_launched: u64,
    /// How many of ours of each kind, in the order of [`Victim::ALL`].
    n_killed_of: [usize; 4],
    /// How many of theirs, and how many of these inside a critical section.
    n_theirs_killed: [usize; 2],
}

/// One of ours, and when it is to be killed.
struct Ours {
    run: Run,
    begun: Instant,
    doom: Option<Doom>,
}

/// When somebody is to be killed, in time since it began.
#[derive(Clone, Copy)]
enum Doom {
    Living(Duration),
    Working(Duration),
}

/// Who has its slot, and since when we know it.
struct Worker {
    pid: u32,
    since: Instant,
}

impl Race {
    fn start(seed: u64) -> Self {
        let lab = lab();
        lab.write_slots(&["a", "b"]);
        let (tail, queue) = (Tail::of(lab.history().path()), QueueWatcher::start(&lab.store().join("pool")));
        let mut race = Self {
            lab,
            random: Random(seed),
            tail,
            queue,
            ours: Vec::new(),
            theirs: Vec::new(),
            killed: BTreeSet::new(),
            workers: BTreeMap::new(),
            last_words: BTreeMap::new(),
            burials: Vec::new(),
            n_started: 0,
            n_of_theirs: 0,
            n_launched: 0,
            n_killed_of: [0; 4],
            n_theirs_killed: [0; 2],
        };
        race.ours = (0..N_SEATS).map(|_| race.launch_ours()).collect();
        race.theirs = (0..N_SEATS).map(|_| race.launch_theirs()).collect();
        race
    }

    fn next_name(&mut self, side: &str) -> String {
        self.n_launched += 1;
        format!("{side}-{}", self.n_launched)
    }

    fn launch_ours(&mut self) -> Ours {
        let (name, n_lines) = (self.next_name("ours"), self.random.below(LONGEST_WORK));
        let doom = match self.random.below(2 * OUR_MORTALITY) {
            0 => Some(Doom::Living(Duration::from_micros(self.random.below(LONGEST_LIFE_US)))),
            1 => Some(Doom::Working(Duration::from_micros(self.random.below(LONGEST_WORK_US)))),
            _ => None,
        };
        Ours { run: Run::start(&self.lab, name, n_lines), begun: Instant::now(), doom }
    }

    fn launch_theirs(&mut self) -> Running {
        let [one_in, times] = THEIR_LONGEVITY;
        let way = if self.random.below(one_in) == 0 { times * LONGEST_WAY } else { LONGEST_WAY };
        let (name, die_at) = (self.next_name("theirs"), 1 + self.random.below(way));
        let options = json!({"name": name, "work_ms": 2 * LONGEST_WORK, "poll_ms": 20, "die_at": die_at}).to_string();
        self.lab.start(part(&self.lab, "race", &self.lab.store(), &self.lab.pool_file(), &[&options]))
    }

    /// Takes down what has happened, kills whose time has come, and replaces whoever has ended.
    fn look(&mut self) {
        self.look_at_ours();
        for _ in 0..self.look_at_theirs() {
            let next = self.launch_theirs();
            self.theirs.push(next);
        }
        thread::sleep(LOOK_EVERY);
    }

    fn look_at_ours(&mut self) {
        self.take_down();
        for seat in 0..self.ours.len() {
            if self.ours[seat].run.process.has_ended() {
                let next = self.launch_ours();
                let ended = std::mem::replace(&mut self.ours[seat], next);
                self.settle_ours(ended);
            } else {
                self.strike(seat);
            }
        }
    }

    fn take_down(&mut self) {
        for event in self.tail.events() {
            let run = event.get("run").to_owned();
            match event.word.as_str() {
                "start" => {
                    self.n_started += 1;
                    self.n_of_theirs += u64::from(run.starts_with("theirs"));
                    self.workers.insert(run, Worker { pid: event.pid(), since: Instant::now() });
                }
                "crash" => {
                    self.killed.insert(run.clone());
                    self.last_words.insert(event.pid(), (run, event.get("inside").to_owned()));
                }
                _ => {}
            }
        }
    }

    fn strike(&mut self, seat: usize) {
        let ours = &mut self.ours[seat];
        let worker = self.workers.get(&ours.run.name);
        let is_due = match ours.doom {
            None => false,
            Some(Doom::Living(life)) => life <= ours.begun.elapsed(),
            Some(Doom::Working(work)) => worker.is_some_and(|worker| work <= worker.since.elapsed()),
        };
        if !is_due {
            return;
        }
        ours.doom = None;
        let choice = self.random.below(Victim::N_AT_WORK);
        if let Some(victim) = ours.run.strike(&self.lab, worker.map(|worker| worker.pid), choice) {
            self.killed.insert(ours.run.name.clone());
            self.n_killed_of[victim as usize] += 1;
        }
    }

    #[track_caller]
    fn settle_ours(&self, ended: Ours) {
        let finished = ended.run.process.finish();
        if !self.killed.contains(&ended.run.name) {
            finished.expect_success();
        }
    }

    /// How many of theirs have ended: killed by themselves, or because the race is over. Nothing else may end them.
    fn look_at_theirs(&mut self) -> usize {
        let mut n_ended = 0;
        for seat in (0..self.theirs.len()).rev() {
            if self.theirs[seat].has_ended() {
                n_ended += 1;
                let process = self.theirs.swap_remove(seat);
                self.settle_theirs(process);
            }
        }
        let finished = self.burials.extract_if(.., |burial| burial.is_finished());
        finished.for_each(|burial| burial.join().expect("a burial never panics"));
        n_ended
    }

    #[track_caller]
    fn settle_theirs(&mut self, process: Running) {
        let pid = process.pid();
        let finished = process.finish();
        if finished.status.signal() != Some(9) {
            finished.expect_success();
            return;
        }
        self.take_down();
        let (run, inside) = self.last_words.remove(&pid).unwrap_or_else(|| panic!("killed by nobody: {}", finished.account()));
        self.n_theirs_killed[0] += 1;
        self.n_theirs_killed[1] += usize::from(!inside.is_empty());
        burial::make_old(&self.lab, &run, inside.split(',').filter(|kind| !kind.is_empty()));
        let store = self.lab.store();
        self.burials.push(thread::spawn(move || burial::make_entry_old(&store, &run)));
    }

    /// Lets everybody end. Ours go on until theirs have ended: it is ours who notice at once when one of ours has died.
    fn finish(mut self) -> (Lab, BTreeSet<String>, Verdict) {
        self.lab.open("stop");
        wait::until_true("theirs have ended", || {
            self.look_at_ours();
            self.look_at_theirs();
            self.theirs.is_empty() && self.burials.is_empty()
        });
        for ours in std::mem::take(&mut self.ours) {
            self.settle_ours(ours);
        }
        self.take_down();
        wait::until_true("nobody is at work", || reap::marked(self.lab.id()).is_empty());
        eprintln!("grants: {}, of these theirs {}", self.n_started, self.n_of_theirs);
        eprintln!(
            "killed: ours {:?} of {:?}, theirs {} of these inside a guard {}",
            self.n_killed_of,
            Victim::ALL,
            self.n_theirs_killed[0],
            self.n_theirs_killed[1]
        );
        assert!(0 < self.n_killed_of.iter().sum::<usize>() && 0 < self.n_theirs_killed[0], "nobody was hit");
        let verdict = order::judge(&self.queue.finish(), &order::granted(&self.lab.store().join("pool")), N_SLOTS);
        (self.lab, self.killed, verdict)
    }
}
