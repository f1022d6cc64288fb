//! Many processes that take slots, hold them for a moment and give them back, again and again. N is the number of seconds.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::Duration;

use lease_harness::pool::{Outcome, SlotWanted};

use crate::children::{Helper, hear, say};
use crate::figures::{Sample, now_ns};
use crate::idle::n_own_wakes;
use crate::place::{self, OWNER};
use crate::spec::Spec;

/// So long after the start the processes begin, all at once.
const START_NS: u64 = 50_000_000;

/// What a worker says before the number of its sleeps.
const WAKES: &str = "wakes ";

/// One slot that was held.
#[derive(Clone, Copy)]
struct Turn {
    asked: u64,
    /// When it surely stood in the queue; the time of the grant, if it did not stand there.
    joined: u64,
    granted: u64,
    /// When it began to give the slot back.
    leaving: u64,
}

/// Prints how long after the release by one process another has the slot, with `waiters` in the queue; and how often any of them
/// has woken up for it.
pub(crate) fn hand_over(folder: &Path, seconds: u64, spec: &Spec<'_>) {
    let (n_waiters, hold_us) = (spec.number("waiters", 1), spec.number("hold-us", 5000));
    let run = Run { n_processes: n_waiters + 1, row: format!("worker:slots=1,hold-us={hold_us}"), seconds };
    let (mut turns, n_wakes) = run.turns(folder);
    let wakes = n_wakes as f64 / turns.len() as f64;
    turns.sort_unstable_by_key(|turn| turn.granted);
    let all_wait_from = turns.iter().take(run.n_processes as usize).map(|turn| turn.joined).max().unwrap_or_default();
    let handed = turns.windows(2).filter(|pair| all_wait_from <= pair[0].leaving && pair[1].joined <= pair[0].leaving);
    let times = handed.map(|pair| pair[1].granted.saturating_sub(pair[0].leaving)).collect();
    say(&format!("{} wakes={wakes:.1}", Sample::new(times).shown(spec.text())));
}

/// Prints the grants a second of `processes` over `slots`, and whether first come was first served. With `peer=flock` the slots are
/// as many files, each locked by every so-manyth process.
///
/// Behind its turn a process pauses, as long as it has held the slot if nothing else is said. Without that, who has unlocked a file
/// locks it again before anybody else has woken up, and a few processes would have all the turns.
pub(crate) fn throughput(folder: &Path, seconds: u64, spec: &Spec<'_>) {
    let (n_slots, hold_us) = (spec.number("slots", 4), spec.number("hold-us", 1000));
    let pause_us = spec.number("pause-us", hold_us);
    let peer = spec.get("peer").unwrap_or("none");
    let row = format!("worker:slots={n_slots},hold-us={hold_us},pause-us={pause_us},peer={peer}");
    let run = Run { n_processes: spec.number("processes", 64), row, seconds };
    let (turns, _) = run.turns(folder);
    let rate = turns.len() as f64 / seconds as f64;
    let most = turns.iter().map(|turn| n_passed_by(turn, &turns)).max().unwrap_or_default();
    let waits = Sample::new(turns.iter().map(|turn| turn.granted - turn.asked).collect());
    say(&format!("{} grants_a_second={rate:.1} most_passed={most}", waits.shown(spec.text())));
}

/// How many stood in the queue when this one asked, and were granted later. With n slots there may be n - 1: who stands farther
/// behind may take one of several slots that are free.
fn n_passed_by(turn: &Turn, turns: &[Turn]) -> usize {
    turns.iter().filter(|other| other.joined < turn.asked && turn.granted < other.granted).count()
}

struct Run {
    n_processes: u64,
    row: String,
    seconds: u64,
}

impl Run {
    /// All turns that were granted in time, and how often the processes have slept.
    fn turns(&self, folder: &Path) -> (Vec<Turn>, u64) {
        let mut workers: Vec<_> =
            (0..self.n_processes).map(|number| Helper::start(folder, &format!("{},number={number}", self.row))).collect();
        workers.iter_mut().for_each(|worker| assert_eq!(worker.line(), "ready"));
        let start = now_ns() + START_NS;
        let end = start + self.seconds * 1_000_000_000;
        workers.iter_mut().for_each(|worker| worker.tell(&format!("{start} {end}")));
        let lines: Vec<String> = workers.iter_mut().flat_map(Helper::lines).collect();
        let n_wakes = lines.iter().filter_map(|line| line.strip_prefix(WAKES)).map(|n| n.parse::<u64>().expect("a number")).sum();
        let turns = lines.iter().filter(|line| !line.starts_with(WAKES)).map(|line| Turn::read(line));
        (turns.filter(|turn| turn.granted <= end).collect(), n_wakes)
    }
}

impl Turn {
    fn read(line: &str) -> Self {
        let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().expect("a moment")).collect();
        let [asked, joined, granted, leaving] = numbers[..] else { panic!("not a turn: {line}") };
        Self { asked, joined, granted, leaving }
    }

    fn print(&self) -> String {
        format!("{} {} {} {}", self.asked, self.joined, self.granted, self.leaving)
    }
}

/// One of the processes: works from the moment that it is told to the other, and tells of its turns behind that.
pub(crate) fn work(folder: &Path, spec: &Spec<'_>) {
    let [hold, pause] = ["hold-us", "pause-us"].map(|key| Duration::from_micros(spec.number(key, 0)));
    let mut take_turn = if spec.get("peer") == Some("flock") { flock(folder, spec) } else { leases(folder, spec) };
    say("ready");
    let times = hear().expect("somebody says when to begin");
    let (start, end) = times.split_once(' ').expect("two moments");
    let [start, end] = [start, end].map(|text| text.parse::<u64>().expect("a moment"));
    thread::sleep(Duration::from_nanos(start.saturating_sub(now_ns())));
    let mut turns = Vec::new();
    while now_ns() < end {
        turns.push(take_turn(hold));
        if !pause.is_zero() {
            thread::sleep(pause);
        }
    }
    let mut lines: Vec<String> = turns.iter().map(Turn::print).collect();
    lines.push(format!("{WAKES}{}", n_own_wakes()));
    say(&lines.join("\n"));
}

type TakeTurn = Box<dyn FnMut(Duration) -> Turn>;

fn leases(folder: &Path, spec: &Spec<'_>) -> TakeTurn {
    let pool = place::pool(folder, spec.number("slots", 1));
    Box::new(move |hold| {
        let (asked, mut joined) = (now_ns(), None);
        let outcome = pool.acquire(&SlotWanted::by(OWNER), &mut |_| {
            joined.get_or_insert_with(now_ns);
            true
        });
        let granted = now_ns();
        let Ok(Outcome::Granted(held)) = outcome else { panic!("no slot: {outcome:?}") };
        thread::sleep(hold);
        let leaving = now_ns();
        place::give_back(&pool, held);
        Turn { asked, joined: joined.unwrap_or(granted), granted, leaving }
    })
}

/// The kernel keeps a line for each file; a process stands in the line of one.
fn flock(folder: &Path, spec: &Spec<'_>) -> TakeTurn {
    let number = spec.number("number", 0) % spec.number("slots", 1);
    let file = File::create(folder.join(format!("slot-{number}"))).expect("the folder is writable");
    Box::new(move |hold| {
        let asked = now_ns();
        file.lock().expect("a lock can be had");
        let granted = now_ns();
        thread::sleep(hold);
        let leaving = now_ns();
        file.unlock().expect("it is ours");
        Turn { asked, joined: granted, granted, leaving }
    })
}
