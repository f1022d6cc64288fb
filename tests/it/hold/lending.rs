//! Each test has a slot of the run to itself, and nothing is acquired for it.

use std::collections::BTreeSet;
use std::fs;

use lease_tests::{Event, binary, process, wait};

use super::{N_MANY, Scene, check_grants, check_said};
use crate::support::{in_workspace, lab};

/// A group of the user's for all tests, wider than the run has slots.
const MY_GROUP: &str = "[test-groups]\nmine = { max-threads = 8 }\n\
    [[profile.default.overrides]]\nfilter = 'all()'\ntest-group = 'mine'\n";

#[test]
fn tests_take_turns_in_slots_that_are_made_ready_once() {
    let scene = Scene::new(&["a", "b", "c"]);
    scene.lab.run(scene.held(&["nextest", "run", "many", "--test-threads", "8"])).expect_success();
    let history = scene.lab.history();
    assert_eq!(history.check_one_user_a_slot(), N_MANY);
    assert_eq!(scene.how_often("provision"), 3);
    let starts = history.all("start");
    let seen = |field: &str| starts.iter().map(|event| event.get(field).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!((seen("slot").len(), seen("token").len()), (3, 3), "every slot is of use, under one lease each");
    scene.check_ended();
}

#[test]
fn no_more_slots_are_held_than_tests_run_at_once() {
    let scene = Scene::new(&["a", "b", "c"]);
    scene.configure("[profile.default]\ntest-threads = 2\n[profile.one]\ntest-threads = 1\n");
    let table: [(&[&str], usize); 6] = [
        (&["run", "many"], 2),
        (&["run", "many", "-j3"], 3),
        (&["run", "many", "-P", "one"], 1),
        (&["run", "notes", "-j3"], 1),
        (&["run", "many", "--no-run"], 0),
        (&["run", "nothing", "--no-tests", "pass"], 0),
    ];
    let mut n_before = 0;
    for (words, n_slots) in table {
        let run = scene.lab.run(scene.held(&[&["nextest"], words].concat())).expect_success();
        assert_eq!(scene.how_often("provision") - n_before, n_slots, "{}", run.account());
        n_before += n_slots;
    }
    scene.check_ended();
}

#[test]
fn the_first_slot_is_waited_for_and_others_are_not() {
    let scene = Scene::new(&["a", "b"]);
    let gate = scene.lab.path("other-gate").display().to_string();
    let holders = ["one", "two"].map(|owner| scene.lab.start(scene.lab.lease_actor(&["--owner", owner], &["hold", &gate])));
    scene.lab.history().wait_for("start", |event| event.get("slot") == "b");
    let refused = scene.lab.run(scene.held(&["--no-wait", "nextest", "run", "many"])).expect_code(1);
    check_said(&refused, &["saturated"]);
    assert_eq!(scene.how_often("tick"), 0, "no test ran");
    let run = scene.lab.start(scene.held(&["nextest", "run", "many", "-j2"]));
    scene.lab.wait_for_queue(1);
    scene.lab.open("other-gate");
    for holder in holders {
        holder.finish().expect_success();
    }
    run.finish().expect_success();
    assert_eq!(scene.lab.history().check_one_user_a_slot(), 2 + N_MANY);
    scene.check_ended();
}

#[test]
fn what_is_not_free_is_left_out_and_said() {
    let scene = Scene::new(&["a", "b"]);
    let holder = scene.lab.start(scene.lab.lease_actor(&[], &["hold", "other-gate"]));
    scene.lab.history().wait_for("start", |_| true);
    let run = scene.lab.run(scene.held(&["nextest", "run", "many", "-j2"])).expect_success();
    check_said(&run, &["note: this run holds 1 of the 2 slots of pool pool that would be of use: no more are free"]);
    assert_eq!(scene.how_often("provision"), 2);
    scene.lab.open("other-gate");
    holder.finish().expect_success();
    assert_eq!(scene.lab.history().check_one_user_a_slot(), 1 + N_MANY);
    scene.check_ended();
}

/// Nextest counts each group from 0, and a test is in one group only.
#[test]
fn groups_of_the_users_do_not_put_two_tests_into_one_slot() {
    let scene = Scene::new(&["a", "b"]);
    scene.configure(
        "[test-groups]\nmine = { max-threads = 8 }\n\
         [[profile.default.overrides]]\nfilter = 'test(/many::[a-f]/)'\ntest-group = 'mine'\n",
    );
    scene.lab.run(scene.held(&["nextest", "run", "many", "-j8"])).expect_success();
    assert_eq!(scene.lab.history().check_one_user_a_slot(), N_MANY);
    assert_eq!(scene.how_often("provision"), 2);
    scene.check_ended();
}

#[test]
fn who_waits_for_a_turn_is_told_of() {
    let scene = Scene::new(&["a"]);
    scene.configure(MY_GROUP);
    let tests = "test(=holds) + test(=holds_as_well)";
    let run = scene.lab.start(scene.held(&["nextest", "run", "-E", tests, "-j2", "--success-output", "final"]));
    scene.lab.history().wait_for("start", |_| true);
    wait::until_true("another has begun to wait", || scene.processes_with("__runner").into_iter().any(has_told));
    // What is less than a tenth of a second is not told.
    let mut work = scene.lab.command(env!("CARGO_BIN_EXE_actor"));
    work.args(["work", "60"]);
    scene.lab.run(work).expect_success();
    scene.lab.open("gate");
    let run = run.finish().expect_success();
    check_said(&run, &["pool pool: waits for a slot of its run", "waiting for slots: 1 wait,", "for pool pool"]);
    for part in ["in vain", "nobody would have waited"] {
        assert!(!run.stderr.contains(part), "{}", run.account());
    }
    scene.check_ended();
}

/// Whether a process has said that it waits.
fn has_told(pid: u32) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let environment = String::from_utf8_lossy(&environment);
    let folder = environment.split('\0').find_map(|variable| variable.strip_prefix("LEASE_TELL_WAITS="));
    let told = folder.map(|folder| fs::read_to_string(format!("{folder}/slots.jsonl")).unwrap_or_default());
    told.is_some_and(|told| told.contains("\"waits\""))
}

/// The lock of a turn is among the files of the test, and ends when one of these is closed.
#[test]
fn a_test_that_closes_all_files_has_its_slot_to_itself() {
    let scene = Scene::new(&["a"]);
    scene.configure(MY_GROUP);
    scene.lab.run(scene.held(&["nextest", "run", "closes_", "-j2"])).expect_success();
    assert_eq!(scene.lab.history().check_one_user_a_slot(), 2);
    scene.check_ended();
}

/// A server that a test has left behind has the test's files open, and yet nobody waits for it.
#[test]
fn a_test_that_dies_frees_its_slot_for_the_next() {
    let scene = Scene::new(&["a"]);
    let run = scene.held(&["nextest", "run", "dies", "notes", "-j1", "--no-fail-fast", "--retries", "2"]);
    let run = scene.lab.run(run).expect_code(100);
    check_said(&run, &["SIGABRT", "1 passed"]);
    assert_eq!((scene.how_often("provision"), scene.how_often("died"), scene.how_often("noted")), (1, 3, 1));
    scene.check_ended();
}

/// Nextest cuts a test off after so long.
const TIME_OUT: &str = "[profile.default]\nslow-timeout = { period = '1s', terminate-after = 1, grace-period = '100ms' }\n";

#[test]
fn what_a_test_has_left_is_ended_before_the_next_has_the_slot() {
    for options in [&[][..], &["--reset-between"]] {
        let scene = Scene::with_reset(&["a"], ":");
        scene.configure(TIME_OUT);
        let words = ["nextest", "run", "hangs", "notes", "-j1", "--no-fail-fast"];
        let run = scene.lab.run(scene.held(&[options, &words].concat())).expect_code(100);
        check_said(&run, &["1 passed", "1 timed out"]);
        let events = scene.lab.history().events();
        let is_tick = |event: &Event| event.word == "tick";
        let next = events.iter().position(|event| ["reset", "noted"].contains(&event.word.as_str())).expect("there was a next");
        assert!(events[..next].iter().any(is_tick) && !events[next..].iter().any(is_tick), "{}", run.account());
        scene.check_ended();
    }
}

/// The slot of an outer grant is not the run's alone.
#[test]
fn what_an_outer_lease_has_started_is_not_ended_between_tests() {
    let scene = Scene::new(&["a"]);
    scene.configure(TIME_OUT);
    let script = "\"$LAB_ACTOR\" daemon outer
        \"$LAB_LEASE\" --hold run nextest run hangs notes -j1 --no-fail-fast
        exec \"$LAB_ACTOR\" hold \"$LAB_GATE\"";
    let run = scene.lab.start(scene.lease(&["run", "--", "sh", "-c", script]));
    scene.lab.history().wait_for("start", |_| true);
    let n_before = scene.lab.history().events().len();
    let ticks = || scene.lab.history().events().into_iter().skip(n_before).filter(|event| event.word == "tick");
    wait::until_true("the outer one works on", || 0 < ticks().count());
    assert!(ticks().all(|event| event.get("who") == "outer"));
    let events = scene.lab.history().events();
    let next = events.iter().position(|event| event.word == "noted").expect("there was a next");
    assert!(events[next..].iter().all(|event| event.get("who") != "grandchild"), "{events:?}");
    process::kill(events.iter().find(|event| event.get("who") == "outer").expect("it works").pid());
    scene.lab.open("gate");
    run.finish().expect_success();
    scene.check_ended();
}

#[test]
fn what_is_leased_inside_a_test_joins_its_slot() {
    let scene = Scene::new(&["a", "b"]);
    scene.lab.run(scene.held(&["nextest", "run", "nests", "notes", "-j2"])).expect_success();
    assert_eq!((scene.how_often("inner"), scene.how_often("noted"), scene.how_often("provision")), (1, 1, 2));
    assert_ne!(scene.lab.history().all("inner")[0].get("token"), "-");
    scene.check_ended();
}

#[test]
fn under_an_outer_lease_tests_take_turns_in_its_slot() {
    let scene = Scene::new(&["a", "b"]);
    let ours = binary::cargo_lease().display().to_string();
    let words = ["run", "--", &ours, "--hold", "run", "nextest", "run", "many", "-j4"];
    scene.lab.run(scene.lease(&words)).expect_success();
    assert_eq!((scene.lab.history().check_one_user_a_slot(), scene.how_often("provision")), (N_MANY, 1));
    scene.check_ended();
}

#[test]
fn a_setup_script_beside_it_is_refused() {
    let scene = Scene::new(&["a"]);
    let ours = binary::cargo_lease().display();
    scene.configure(&format!(
        "experimental = ['setup-scripts']\n[scripts.setup.lease]\ncommand = '{ours} setup-script'\n\
         [[profile.default.scripts]]\nfilter = 'all()'\nsetup = 'lease'\n"
    ));
    let run = scene.lab.run(scene.held(&["nextest", "run", "notes"])).expect_code(105);
    check_said(&run, &["this run holds slots already", "leave the setup script out"]);
    assert_eq!(scene.how_often("noted"), 0);
    scene.check_ended();
}

#[test]
fn a_slot_is_reset_between_two_tests_if_that_is_asked_for() {
    let scene = Scene::with_reset(&["a"], ":");
    let words = ["--reset-between", "nextest", "run", "many::a", "many::b", "many::c", "-j1"];
    scene.lab.run(scene.held(&words)).expect_success();
    let told = scene.told(&["provision", "start", "reset"]);
    assert_eq!(told, ["provision a", "start a", "reset a", "start a", "reset a", "start a"]);
    scene.check_ended();
}

#[test]
fn a_slot_that_cannot_be_reset_is_used_no_further() {
    let scene = Scene::with_reset(&["a", "b"], "sh -c '[ \"$0\" = b ]'");
    let words = ["--reset-between", "nextest", "run", "many", "-j2", "--no-fail-fast"];
    let run = scene.lab.run(scene.held(&words)).expect_code(100);
    check_said(&run, &["11 passed, 1 failed", "error: slot a is used no further in this run: slot a reset failed"]);
    let in_a = scene.lab.history().all("start").into_iter().filter(|event| event.get("slot") == "a").count();
    assert_eq!((in_a, scene.told(&["reset"]).iter().filter(|told| *told == "reset a").count()), (1, 1));
    scene.check_ended();
}

#[test]
fn a_run_without_a_fit_slot_fails_its_tests() {
    let scene = Scene::with_reset(&["a"], "false");
    let words = ["--reset-between", "nextest", "run", "many", "-j4", "--no-fail-fast"];
    let run = scene.lab.run(scene.held(&words)).expect_code(100);
    check_said(&run, &["1 passed, 11 failed", "no slot that this run holds could be made clean again"]);
    assert_eq!((scene.how_often("start"), scene.how_often("reset")), (1, 1));
    scene.check_ended();
}

/// The annotated tests of the compositions find the slots of the run by themselves: before `main`, or when the test starts.
/// They are built already, with the workspace.
#[test]
fn annotated_tests_take_their_turns_by_themselves() {
    let process = &["--test", "process"][..];
    let table = [
        ("annotated", "pool", process, 2),
        ("annotated", "behaviour", &["--test", "mimic", "many"], 3),
        // No more slots than tests that need one, of those that were selected.
        ("annotated", "pool", &["--test", "process", "plain::above_test", "plain::not_leased_by_condition"], 1),
        // Not wrapped, and yet not without a slot.
        ("lease-compositions::mimic", "pool", process, 2),
        ("all", "pool", &["--test", "process", "--test", "slot"], 2),
    ];
    for (wrap, pool, tests, n_slots) in table {
        let lab = lab();
        let file = binary::workspace().join(format!("tests/compositions/{pool}.json"));
        let words = ["--hold", "run", "--wrap", wrap, "nextest", "run", "-p", "lease-compositions", "-j4"];
        let mut command = lab.lease(words.iter().chain(tests));
        command.env("LEASE_POOL_FILE", file).env("SCENARIO_LOG", lab.path("log"));
        in_workspace(&mut command);
        lab.run(command).expect_success();
        check_grants(&lab, if pool == "pool" { "compositions" } else { pool }, n_slots);
    }
}
