//! Without a slot no test runs, and what cannot work is refused before a slot is taken.

use serde_json::json;

use super::{Scene, check_said};

/// Nextest's exit code when a setup script has failed.
const SETUP_FAILED: i32 = 105;

#[test]
fn without_a_slot_no_test_runs() {
    let scene = Scene::new(&["a"], "--no-wait", "");
    let holder = scene.lab.start(scene.lab.lease_actor(&[], &["hold", "other-gate"]));
    scene.lab.history().wait_for("start", |_| true);
    let run = scene.lab.run(scene.nextest(&["run", "notes"])).expect_code(SETUP_FAILED);
    check_said(&run, &["error: pool pool is saturated", "exit code 1"]);
    scene.lab.open("other-gate");
    holder.finish().expect_success();
    assert_eq!(scene.how_often("noted"), 0);
    scene.check_ended();
}

#[test]
fn a_slot_that_cannot_be_made_clean_is_no_slot() {
    let scene = Scene::new(&["a"], "--provision-cmd 'exit 9;'", "");
    let run = scene.lab.run(scene.nextest(&["run", "notes"])).expect_code(SETUP_FAILED);
    check_said(&run, &["error: slot a reset failed", "9"]);
    assert_eq!(scene.how_often("noted"), 0);
    scene.check_ended();
}

#[test]
fn what_nextest_cannot_be_told_is_refused_before_a_slot_is_taken() {
    let scene = Scene::new(&["a"], "", "");
    for (name, value) in [("MOTD", "two\nlines"), ("NEXTEST_HOST", "x")] {
        let slots = [json!({"id": "a", "text": "fits"}), json!({"id": "b", "text": value})];
        let provision = scene.lab.note("provision");
        scene.lab.write_pool(&json!({"slots": slots, "provision": provision, "grantEnv": {name: "{text}"}}));
        let run = scene.lab.run(scene.nextest(&["run", "notes"])).expect_code(SETUP_FAILED);
        check_said(&run, &["error: slot ", name, "cannot be handed to nextest", "exit code 2"]);
    }
    assert_eq!((scene.how_often("provision"), scene.how_often("noted")), (0, 0));
}

/// What nextest started has ended, so that nobody leads to nextest; following whoever is there would be following for ever.
#[test]
fn a_script_that_was_left_in_the_background_is_refused() {
    let scene = Scene::unconfigured(&["a"]);
    let mut command = scene.lab.lease(["setup-script"]);
    command.env("NEXTEST_ENV", scene.lab.path("env")).env("NEXTEST_RUN_ID", uuid::Uuid::new_v4().to_string());
    let run = scene.lab.run(command).expect_code(2);
    let above = format!("process {}", std::process::id());
    check_said(&run, &["cannot find the process of nextest", &above, "in the foreground of a setup script"]);
    assert!(!scene.lab.store().exists(), "nothing was created");
}
