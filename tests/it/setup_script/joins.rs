//! A run has one slot of a pool, whoever of it asks.

use std::fs;

use lease_tests::binary;

use super::{Scene, check_said, script};

#[test]
fn all_tests_work_in_the_slot_and_who_leases_inside_of_them_joins() {
    let scene = Scene::new(&["a", "b"], "", "");
    let run = scene.lab.run(scene.nextest(&["run", "notes", "nests"])).expect_success();
    check_said(&run, &["2 tests run: 2 passed"]);
    let tokens = ["noted", "inner"].map(|word| scene.lab.history().wait_for(word, |_| true).get("token").to_owned());
    assert!(tokens[0] == tokens[1] && tokens[0] != "-", "{tokens:?}");
    assert_eq!(scene.how_often("provision"), 1);
    scene.check_ended();
}

/// The second one's words would have it fail if it asked for a slot of its own.
#[test]
fn two_setup_scripts_of_one_run_share_its_slot() {
    let scene = Scene::unconfigured(&["a"]);
    let rule = |test: &str, name: &str| format!("[[profile.default.scripts]]\nfilter = 'test(={test})'\nsetup = '{name}'\n");
    let scripts = script("first", "", "") + &script("second", "--no-wait", "");
    scene.configure(&scripts, &(rule("notes", "first") + &rule("nests", "second")));
    scene.lab.run(scene.nextest(&["run", "notes", "nests"])).expect_success();
    let tokens = ["noted", "inner"].map(|word| scene.lab.history().wait_for(word, |_| true).get("token").to_owned());
    assert_eq!(tokens[0], tokens[1]);
    assert_eq!(scene.how_often("provision"), 1);
    scene.check_ended();
}

#[test]
fn every_round_of_a_stress_run_works_in_the_same_slot() {
    let scene = Scene::new(&["a"], "--no-wait", "");
    scene.lab.run(scene.nextest(&["run", "notes", "--stress-count", "3"])).expect_success();
    let tokens: Vec<_> = scene.lab.history().all("noted").iter().map(|event| event.get("token").to_owned()).collect();
    assert!(tokens.len() == 3 && tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    assert_eq!(scene.how_often("provision"), 1);
    scene.check_ended();
}

/// The run has us above it, and the tests have the script's slot.
#[test]
fn a_script_in_a_run_that_we_schedule_finds_that_run() {
    let scene = Scene::new(&["a"], "--no-wait", "");
    let run = scene.lab.run(scene.with_pool(scene.lab.lease(["nextest", "run", "notes"]))).expect_success();
    assert!(!run.stderr.contains("warning: "), "{}", run.account());
    assert_eq!((scene.how_often("noted"), scene.how_often("provision")), (1, 1));
    scene.check_ended();
}

#[test]
fn a_setup_script_can_call_us_among_other_things() {
    let scene = Scene::unconfigured(&["a"]);
    let ours = binary::cargo_lease().display();
    let text = format!("printf 'LAB_RUN=mine' >> \"$NEXTEST_ENV\"\n(cd / && {ours} setup-script) || exit\n");
    fs::write(scene.folder.join("setup.sh"), text).expect("the laboratory is writable");
    scene.configure("[scripts.setup.lease]\ncommand = 'sh setup.sh'\n", "");
    scene.lab.run(scene.nextest(&["run", "notes"])).expect_success();
    let noted = scene.lab.history().wait_for("noted", |_| true);
    assert_eq!((noted.get("run"), noted.get("slot")), ("mine", "a"));
    scene.check_ended();
}

#[test]
fn who_calls_us_twice_at_once_has_one_slot() {
    let scene = Scene::unconfigured(&["a", "b"]);
    let ours = binary::cargo_lease().display();
    let text = format!("{ours} setup-script &\n{ours} setup-script && wait $!\n");
    fs::write(scene.folder.join("setup.sh"), text).expect("the laboratory is writable");
    scene.configure("[scripts.setup.lease]\ncommand = 'sh setup.sh'\n", "");
    scene.lab.run(scene.nextest(&["run", "notes"])).expect_success();
    assert_eq!((scene.how_often("provision"), scene.how_often("noted")), (1, 1));
    scene.check_ended();
}

#[test]
fn the_configuration_in_the_manual_works_as_it_stands() {
    let page = fs::read_to_string(binary::workspace().join("docs/nextest.md")).expect("the page is there");
    let (_, configuration) = page.split_once("```toml\n").expect("it has a configuration");
    let (configuration, _) = configuration.split_once("```").expect("the block has an end");
    let scene = Scene::unconfigured(&["a"]);
    fs::write(scene.folder.join(".config/nextest.toml"), configuration).expect("the laboratory is writable");
    let programs = binary::cargo_lease().parent().expect("it lies in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs).chain(std::env::split_paths(&path));
    let mut command = scene.nextest(&["run", "notes"]);
    command.env("PATH", std::env::join_paths(folders).expect("no colon in it"));
    scene.lab.run(command).expect_success();
    assert_eq!(scene.lab.history().wait_for("noted", |_| true).get("slot"), "a");
    scene.check_ended();
}

#[test]
fn under_an_outer_lease_the_run_joins_that() {
    let scene = Scene::new(&["a"], "--no-wait", "");
    let mut command = scene.lab.command(binary::cargo_lease());
    command.args(["run", "--"]).arg(lease_tests::environment::cargo()).args(["nextest", "run", "notes", "nests"]);
    scene.lab.run(scene.with_pool(command)).expect_success();
    assert_eq!((scene.how_often("provision"), scene.how_often("noted"), scene.how_often("inner")), (1, 1, 1));
    scene.check_ended();
}
