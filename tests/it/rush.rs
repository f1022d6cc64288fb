//! Many processes ask at the same moment for the only slot, and none of them waits: one is granted it, the others are told
//! that there is none, and nobody leaves anything behind.
//!
//! `LEASE_RUSH_ROUNDS` makes it longer.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use lease_tests::snapshot::Snapshot;
use lease_tests::{Finished, Lab, Running, binary, wait};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::chance::number;
use crate::support::lab;

/// A few seconds.
const DEFAULT_ROUNDS: u64 = 10;
const N_ASKERS: usize = 64;
/// What tells of the past and may grow: journals, statistics, and the counters of grants.
const PAST: [&str; 4] = ["reaped.log", "pool/pool.log", "pool/stats.json", ".fence/slot-a"];

#[test]
fn of_all_who_ask_at_once_one_gets_the_slot_and_the_others_leave_nothing() {
    let n_rounds = number("LEASE_RUSH_ROUNDS").unwrap_or(DEFAULT_ROUNDS);
    let lab = lab();
    lab.write_pool(&json!({"slots": [{"id": "a"}]}));
    let rush = Rush { gate: gate(&lab), lab };
    // The first grant makes the folders that stay.
    rush.give_back(&rush.won_by_one(1));
    let before = Snapshot::of(&rush.lab.store());
    for _ in 0..n_rounds {
        let grant = rush.won_by_one(N_ASKERS);
        rush.give_back(&grant);
        let mut left = before.differences(&Snapshot::of(&rush.lab.store()));
        left.retain(|difference| !PAST.iter().any(|path| difference.starts_with(&format!("{path} "))));
        assert_eq!(left, Vec::<String>::new());
    }
}

/// A pipe: who opens it for reading waits until somebody opens it for writing, and all who wait go on at once.
fn gate(lab: &Lab) -> PathBuf {
    let gate = lab.path("gate");
    mknodat(CWD, &gate, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("the laboratory is writable");
    gate
}

struct Rush {
    lab: Lab,
    gate: PathBuf,
}

impl Rush {
    /// Lets so many processes go at once, and returns the grant of the one that won.
    fn won_by_one(&self, n_askers: usize) -> Value {
        self.forget_last_round();
        let askers: Vec<_> = (0..n_askers).map(|number| self.start(number)).collect();
        wait::until_true("everybody stands at the gate", || self.lab.history().all("ready").len() == n_askers);
        let _open = OpenOptions::new().write(true).open(&self.gate).expect("somebody waits at the gate");
        let answers: Vec<_> = askers.into_iter().map(Running::finish).map(|asker| answer(&asker)).collect();
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer["ok"] == true);
        assert_eq!((won.len(), lost.len()), (1, n_askers - 1), "{won:#?}");
        assert!(lost.iter().all(|answer| answer["code"] == "saturated" && answer["position"] == 1), "{lost:#?}");
        self.check_only_the_lease_is_there();
        won.into_iter().next().expect("one has won")
    }

    /// What they have said and written is only of interest to whoever reads a failure of their round.
    fn forget_last_round(&self) {
        let _ = fs::remove_file(self.lab.history().path());
        let logs = self.lab.path("logs");
        fs::remove_dir_all(&logs).and_then(|()| fs::create_dir(&logs)).expect("the laboratory is writable");
    }

    fn start(&self, number: usize) -> Running {
        let (gate, program) = (self.gate.display().to_string(), binary::cargo_lease().display().to_string());
        let owner = format!("asker-{number}");
        let mut asker = self.lab.actor(["at-gate", &gate, &program, "pool", "acquire", "--no-wait", "--owner", &owner]);
        asker.env("LEASE_STORE", self.lab.store()).env("LEASE_POOL_FILE", self.lab.pool_file());
        self.lab.start(asker)
    }

    /// Every asker has ended, so nothing but the winner's lease may be left of them.
    fn check_only_the_lease_is_there(&self) {
        let store = self.lab.store();
        let is_left =
            |name: &String| name.ends_with(".json") || [".guard-", ".room-", ".tmp-"].iter().any(|start| name.starts_with(start));
        assert_eq!(names(&store).into_iter().filter(is_left).collect::<Vec<_>>(), ["slot-a.json"]);
        assert_eq!(names(&store.join(".alive")), Vec::<String>::new(), "proofs of processes that have ended");
        assert_eq!(Lab::queue(&store, "pool"), Vec::<Value>::new(), "nobody waits");
    }

    fn give_back(&self, grant: &Value) {
        let [owner, token] = ["owner", "token"].map(|key| grant[key].as_str().expect("a grant names it"));
        let release = self.lab.lease(["pool", "release", "--slot", "a", "--owner", owner, "--token", token]);
        let released = self.lab.run(release).expect_success();
        assert_eq!(answer(&released)["released"], true, "{}", released.account());
        // The grant of a process that has ended is kept for a day, for whoever claims it.
        let request_id = grant["request_id"].as_str().expect("a grant answers a request");
        fs::remove_file(self.lab.store().join(format!("pool/grants/{request_id}.json"))).expect("the grant was written down");
    }
}

/// The one document on stdout, and nothing else; the exit code is that of the answer.
#[track_caller]
fn answer(run: &Finished) -> Value {
    let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.account()));
    let code = if answer["ok"] == true { 0 } else { 1 };
    assert_eq!((run.status.code(), run.stderr.as_str()), (Some(code), ""), "{}", run.account());
    answer
}

fn names(folder: &Path) -> Vec<String> {
    let listing = fs::read_dir(folder).expect("the store can be read");
    listing.map(|entry| entry.expect("the store can be read").file_name().to_string_lossy().into_owned()).collect()
}
