//! SIGKILL, in turn, for everybody who takes part in a run: whoever waits is granted the slot, which is provisioned again
//! for it, and nothing of the killed run still works on it.

use std::fs;
use std::path::PathBuf;

use lease_harness::pool::{Cleaned, Pool, PoolFile, PoolOptions};
use lease_harness::store::{Env, LeaseStore, StoreOptions};
use lease_tests::environment::LAB_MARK;
use lease_tests::{Event, Lab, Running, process, reap, scratch, wait};
use rustix::process::Signal;
use serde_json::json;

use crate::support::lab;

const TOKEN: &str = "6b2a0f0e-3b57-4c56-9df6-0e5f6a1d2c3b";

#[test]
fn a_killed_test_frees_its_slot() {
    Scene::cargo().kill(|work| work.child);
}

#[test]
fn a_killed_wrapper_frees_its_slot() {
    Scene::cargo().kill(|work| work.wrapper);
}

#[test]
fn a_killed_cargo_frees_the_slot_of_its_test() {
    Scene::cargo().kill(|work| work.leader);
}

#[cfg(feature = "nextest")]
#[test]
fn a_killed_test_frees_its_slot_under_nextest() {
    Scene::nextest().kill(|work| work.child);
}

#[cfg(feature = "nextest")]
#[test]
fn a_killed_wrapper_frees_its_slot_under_nextest() {
    Scene::nextest().kill(|work| work.wrapper);
}

#[cfg(feature = "nextest")]
#[test]
fn a_killed_nextest_frees_the_slot_of_its_test() {
    Scene::nextest().kill(|work| process::ancestor_with(work.wrapper, "nextest"));
}

#[cfg(feature = "nextest")]
#[test]
fn a_killed_parent_of_nextest_takes_the_run_with_it() {
    Scene::nextest().kill(|work| work.leader);
}

/// A command under `cargo lease run`: the wrapper is what the user started.
#[test]
fn a_killed_run_frees_its_slot() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let script = "\"$LAB_ACTOR\" daemon grandchild; exec \"$LAB_ACTOR\" tick child";
    let mut command = lab.lease(["run", "--", "sh", "-c", script]);
    command.env("LAB_RUN", "killed");
    let run = lab.start(command);
    Scene { lab, run }.kill(|work| work.wrapper);
}

/// A wrapper that is suspended for longer than its lease lives says nothing, but its command works on: it must not while
/// the next holder does.
#[test]
fn a_suspended_run_loses_its_slot_and_works_on_it_no_more() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let run = lab.start(lab.lease_actor(&["--ttl", "0.05"], &["tick", "child"]));
    let history = lab.history();
    history.wait_for("tick", |event| event.get("who") == "child");
    let before = history.all("provision");
    run.signal(Signal::STOP);
    lab.run(lab.lease_actor(&[], &["note", "successor"])).expect_success();
    check_successor(&lab, &before);
    run.signal(Signal::CONT);
    run.finish().expect_code(75);
    lab.check_all_given_back();
}

/// The same while its slot is still being provisioned: two provisions of one slot are never at work at the same time.
#[test]
fn a_suspended_run_provisions_its_slot_no_more_once_another_does() {
    let lab = lab();
    let (gate, actor) = (lab.path("gate"), env!("CARGO_BIN_EXE_actor"));
    let provision = format!("{} \"$1\"; [ -e {} ] || {actor} tick provisioner; :", lab.note("provision"), gate.display());
    lab.write_pool(&json!({"slots": [{"id": "a"}], "provision": provision}));
    let run = lab.start(lab.lease_actor(&["--ttl", "0.05"], &["note", "ran"]));
    let history = lab.history();
    history.wait_for("tick", |event| event.get("who") == "provisioner");
    let before = history.all("provision");
    run.signal(Signal::STOP);
    lab.open("gate");
    lab.run(lab.lease_actor(&[], &["note", "successor"])).expect_success();
    check_successor(&lab, &before);
    run.signal(Signal::CONT);
    let run = run.finish();
    assert!(!run.status.success() && run.stderr.contains("lease lost during reset"), "{}", run.account());
    assert_eq!(history.all("ran"), Vec::<Event>::new());
    lab.check_all_given_back();
}

/// A command that ends at once leaves a lease without a proof of life. Once it has expired, nothing of it works on the slot
/// when the next provision or reset begins, as little as of a run that is gone.
#[test]
fn what_works_under_an_expired_lease_is_ended_before_the_slot_is_made_clean_again() {
    let reprovision = |lab: &Lab| {
        let file = PoolFile::load(&lab.pool_file()).unwrap();
        let store = LeaseStore::open(&StoreOptions { store: Some(lab.store()), ..StoreOptions::default() }).unwrap();
        let env = [(LAB_MARK, lab.id().to_owned()), ("LAB_HISTORY", lab.history().path().display().to_string())];
        let env = Env::Fixed(env.map(|(name, value)| (name.to_owned(), value)).into());
        let pool = Pool::open(file, store, PoolOptions { env, ..PoolOptions::default() }).unwrap();
        assert_eq!(pool.reprovision(pool.slot(Some(&"a".into())).unwrap(), "acme", None).unwrap(), Cleaned::Reprovisioned);
    };
    let acquire = |lab: &Lab| drop(lab.run(lab.lease_actor(&[], &["note", "ran"])).expect_success());
    for make_clean in [reprovision as fn(&Lab), acquire] {
        let lab = lab();
        lab.write_slots(&["a"]);
        let mut work = lab.actor(["tick", "worker"]);
        work.env("POOL_RUN_TOKEN", TOKEN);
        let mut work = lab.start(work);
        lab.history().wait_for("tick", |_| true);
        let record = json!({
            "v": 1, "kind": "slot-a", "owner": "acme", "token": TOKEN, "heartbeat": "2020-01-01T00:00:00.000Z",
            "ttlMinutes": 30, "payload": {"requestId": TOKEN, "mode": "blocking", "fence": 7},
        });
        fs::create_dir(lab.store()).unwrap();
        fs::write(lab.store().join("slot-a.json"), record.to_string()).unwrap();
        make_clean(&lab);
        assert!(work.has_ended(), "still at work on a slot that is made clean");
        let history = lab.history().events();
        let cleaned = history.iter().position(|event| event.word == "provision").expect("the slot was made clean");
        assert!(history[cleaned..].iter().all(|event| event.word != "tick"), "it was at work when the slot was made clean");
    }
}

/// A run whose only test works for ever, and has left behind a process that does the same.
struct Scene {
    lab: Lab,
    run: Running,
}

/// Who works on the slot.
struct Work {
    /// The process of the test.
    child: u32,
    /// Ours around it.
    wrapper: u32,
    /// What the user started: it became cargo, or is the parent of nextest.
    leader: u32,
}

impl Scene {
    fn cargo() -> Self {
        Self::start(&["test", "--test", "solo", "works_for_ever"])
    }

    #[cfg(feature = "nextest")]
    fn nextest() -> Self {
        Self::start(&["nextest", "run", "works_for_ever"])
    }

    fn start(args: &[&str]) -> Self {
        let lab = lab();
        lab.write_slots(&["a"]);
        let folder: PathBuf = scratch::fixture(&lab, "solo", "solo");
        let mut command = lab.lease(args);
        // Whoever is killed cleans nothing up.
        command.current_dir(folder).env("LAB_RUN", "killed").env("TMPDIR", lab.root());
        let run = lab.start(command);
        Self { lab, run }
    }

    /// Kills one of those who take part while somebody waits for the slot.
    fn kill(self, victim: impl Fn(&Work) -> u32) {
        let Self { lab, run } = self;
        let history = lab.history();
        history.wait_for("tick", |event| event.get("who") == "grandchild");
        let tick = history.wait_for("tick", |event| event.get("who") == "child");
        let killed = history.all("provision");
        let successor = lab.start(lab.lease_actor(&[], &["note", "successor"]));
        lab.wait_for_queue(1);
        process::kill(victim(&workers(&tick, &run)));
        successor.finish().expect_success();
        assert!(!run.finish().status.success(), "the killed run must not end well");
        check_successor(&lab, &killed);
        wait::until_true("nothing of the killed run is left", || reap::marked(lab.id()).is_empty());
        lab.check_all_given_back();
    }
}

/// The wrapper of a test is a process of its own; a plain run is its own wrapper.
fn workers(tick: &Event, run: &Running) -> Work {
    let (child, leader) = (tick.pid(), run.pid());
    let is_plain = process::arguments_of(leader).iter().any(|argument| argument == "--");
    let wrapper = if is_plain { leader } else { process::ancestor_with(child, "__runner") };
    Work { child, wrapper, leader }
}

#[track_caller]
fn check_successor(lab: &Lab, killed: &[Event]) {
    let events = lab.history().events();
    let provisions: Vec<_> = events.iter().enumerate().filter(|(_, event)| event.word == "provision").collect();
    assert_eq!(provisions.len(), killed.len() + 1, "the slot is provisioned again");
    let (fresh, _) = provisions[killed.len()];
    let late: Vec<_> = events[fresh..].iter().filter(|event| event.word == "tick").collect();
    assert!(late.is_empty(), "still at work after the slot was provisioned for its successor: {:?}", late.first());
    let successor = events.iter().position(|event| event.word == "successor").expect("the successor ran");
    assert!(successor > fresh, "the successor began before its slot was provisioned");
}
