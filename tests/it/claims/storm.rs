//! Eight processes claim sets at random over keys that overlap, and some are killed with SIGKILL at random moments. A checker that
//! knows the rules only as a table of its own reads what they wrote down: no two holders of what excludes each other, no
//! token twice, none that goes back.
//!
//! `LEASE_CLAIM_SETS=20000` makes it as long as the rules were tried with; `LEASE_STORM_SEED` repeats the choices of an
//! earlier one (not its moments: those are the machine's).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lease_harness::claims::{ClaimStore, Mode};
use lease_harness::store::{LeaseStore, StoreOptions};
use lease_tests::Lab;

use crate::chance::{Random, any_seed, number};
use crate::support::lab;

const N_PROCESSES: usize = 8;
/// What each of them claims, one after the other, if nobody says otherwise.
const DEFAULT_SETS: u64 = 40;
/// The longest pause before a kill.
const LONGEST_PAUSE_US: u64 = 60_000;

#[test]
fn nobody_holds_what_excludes_each_other_and_no_token_comes_twice() {
    let (seed, n_sets) = (number("LEASE_STORM_SEED").unwrap_or_else(any_seed), number("LEASE_CLAIM_SETS"));
    let n_sets = n_sets.unwrap_or(DEFAULT_SETS);
    eprintln!("LEASE_STORM_SEED={seed} LEASE_CLAIM_SETS={n_sets}");
    let (lab, mut random) = (lab(), Random(seed));
    let mut running: Vec<_> = (0..N_PROCESSES).map(|_| start(&lab, random.below(u64::MAX), n_sets)).collect();
    let mut killed = BTreeSet::new();
    // One in four is killed, and another takes its place.
    for _ in 0..N_PROCESSES / 4 * usize::try_from(1 + n_sets / 100).expect("a small number") {
        std::thread::sleep(Duration::from_micros(random.below(LONGEST_PAUSE_US)));
        let victim = usize::try_from(random.below(N_PROCESSES as u64)).expect("a small number");
        let mut child = std::mem::replace(&mut running[victim], start(&lab, random.below(u64::MAX), n_sets));
        // Whoever has ended already cannot be killed any more.
        let was_living = child.try_wait().expect("a child").is_none();
        child.kill().expect("a child can be killed");
        child.wait().expect("a child ends");
        killed.extend(was_living.then(|| child.id()));
    }
    for mut child in running {
        assert!(child.wait().expect("a child ends").success());
    }
    let history = std::fs::read_to_string(lab.path("claims")).expect("a history");
    let n_seen = check(&history, &killed);
    assert!(usize::try_from(n_sets).expect("a small number") * (N_PROCESSES - 1) < n_seen, "{n_seen} sets were seen");
    let options = StoreOptions { store: Some(lab.store()), ..StoreOptions::default() };
    let claims = ClaimStore::new(LeaseStore::open(&options).expect("the store opens"), "scope").expect("a scope");
    assert_eq!((claims.list().expect("readable").len(), claims.waiters().expect("readable").len()), (0, 0));
}

fn start(lab: &Lab, seed: u64, n_sets: u64) -> Child {
    let mut command: Command = lab.command(env!("CARGO_BIN_EXE_claimant"));
    command.arg(lab.store()).arg(lab.path("claims")).args([(seed | 1).to_string(), n_sets.to_string()]);
    command.stdout(Stdio::null()).spawn().expect("a claimant starts")
}

/// A set that somebody has: key, mode and token of each claim.
struct Held<'a> {
    pid: u32,
    claims: Vec<(&'a str, Mode, u64)>,
}

/// How many sets were begun.
fn check(history: &str, killed: &BTreeSet<u32>) -> usize {
    let mut held: HashMap<&str, Held<'_>> = HashMap::new();
    let (mut seen, mut n_seen) = (BTreeSet::new(), 0);
    let mut over = Over::default();
    for line in history.lines() {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("{line}"));
        let (what, pid, set, claims) = (word(), word().parse().expect("a process number"), word(), word());
        if what == "end" {
            let ended = held.remove(set).unwrap_or_else(|| panic!("{line} without a start"));
            over.put(&ended);
            continue;
        }
        n_seen += 1;
        let claims = claims.split(' ').map(read_claim).collect();
        let begun = Held { pid, claims };
        // Whoever is in the way and was killed is dead: nobody else would have been granted this.
        held.retain(|_, other| {
            let excludes = begun.claims.iter().any(|ours| other.claims.iter().any(|theirs| excludes(ours, theirs)));
            assert!(!excludes || killed.contains(&other.pid), "{line}: {} of process {} excludes it", shown(other), other.pid);
            if excludes {
                over.put(other);
            }
            !excludes
        });
        for (key, mode, token) in &begun.claims {
            assert!(seen.insert((*key, *token)), "{line}: token {token} of {key} comes twice");
            let last = over.last(key, *mode);
            assert!(last < *token, "{line}: {token} of {key} comes behind {last}");
        }
        held.insert(set, begun);
    }
    n_seen
}

/// The largest tokens in sets that are over, of each key: of all, and of those that had it alone.
#[derive(Default)]
struct Over<'a> {
    all: BTreeMap<&'a str, u64>,
    alone: BTreeMap<&'a str, u64>,
}

impl<'a> Over<'a> {
    fn put(&mut self, ended: &Held<'a>) {
        let mut put = |into: fn(&mut Self) -> &mut BTreeMap<&'a str, u64>, key, token: u64| {
            let last = into(self).entry(key).or_default();
            *last = token.max(*last);
        };
        for (key, mode, token) in &ended.claims {
            put(|over| &mut over.all, *key, *token);
            if *mode != Mode::Read {
                put(|over| &mut over.alone, *key, *token);
            }
        }
    }

    /// The last token that was granted before. Of two readers one may be granted first and write so later.
    fn last(&self, key: &str, mode: Mode) -> u64 {
        let tokens = if mode == Mode::Read { &self.alone } else { &self.all };
        tokens.get(key).copied().unwrap_or_default()
    }
}

fn read_claim(text: &str) -> (&str, Mode, u64) {
    let mut parts = text.split('=');
    let mut part = || parts.next().unwrap_or_else(|| panic!("{text} is no claim"));
    let (mode, key) = (part().parse().expect("a mode"), part());
    (key, mode, part().parse().expect("a token"))
}

fn shown(held: &Held<'_>) -> String {
    held.claims.iter().map(|(key, mode, token)| format!("{mode}:{key}={token}")).collect::<Vec<_>>().join(" ")
}

/// The rules once more, for these keys only, and written down another way.
fn excludes(left: &(&str, Mode, u64), right: &(&str, Mode, u64)) -> bool {
    let (is_read, releases) =
        ([left, right].map(|claim| claim.1 == Mode::Read), [left, right].map(|claim| claim.0 == "release:r1"));
    match releases {
        [true, true] => true,
        [true, false] => !is_read[1],
        [false, true] => !is_read[0],
        [false, false] => is_read != [true, true] && (overlap(left.0, right.0) || overlap(right.0, left.0)),
    }
}

fn overlap(left: &str, right: &str) -> bool {
    let family = |key: &str| ["path:", "workspace:", "git-"].iter().any(|prefix| key.starts_with(prefix));
    match (left, right) {
        (left, right) if left == right => true,
        ("repo-content:*", right) => family(right),
        ("git-ref:main", "git-refs:r1") => true,
        ("workspace:co1", right) => {
            matches!(right, "git-index:co1" | "git-head:co1") || (right.starts_with("path:") && !right.starts_with("path:co2:"))
        }
        ("workspace:co2", right) => right == "git-index:co2" || (right.starts_with("path:") && !right.starts_with("path:co1:")),
        (left, right) => match (place(left), place(right)) {
            (Some((left_in, left)), Some((right_in, right))) => {
                let same_checkout = left_in.is_none() || right_in.is_none() || left_in == right_in;
                same_checkout && format!("{right}/").starts_with(&format!("{left}/"))
            }
            _ => false,
        },
    }
}

/// Checkout and path.
fn place(key: &str) -> Option<(Option<&str>, &str)> {
    let rest = key.strip_prefix("path:")?;
    let (checkout, path) = rest.split_once(':').map_or((None, rest), |(checkout, path)| (Some(checkout), path));
    Some((checkout, path.strip_suffix("/*.md").unwrap_or(path)))
}
