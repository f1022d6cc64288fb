//! Cargo runs one binary after the other, in one slot of the run.

use std::fs;

use lease_tests::wait;
use rustix::process::Signal;

use super::Scene;

const ANOTHER: &str = "#[test] fn another() {
    let actor = std::env::var_os(\"LAB_ACTOR\").unwrap();
    assert!(std::process::Command::new(actor).args([\"work\", \"5\"]).status().unwrap().success());
}\n";

/// Runs `$LAB_ACTOR work`, by two documentation tests with a process each, which rustdoc runs at once.
const DOCTESTS: &str = "
/// ```
/// let actor = std::env::var_os(\"LAB_ACTOR\").unwrap();
/// assert!(std::process::Command::new(actor).args([\"work\", \"5\"]).status().unwrap().success());
/// ```
pub fn one() {}
/// ```
/// let actor = std::env::var_os(\"LAB_ACTOR\").unwrap();
/// assert!(std::process::Command::new(actor).args([\"work\", \"5\"]).status().unwrap().success());
/// ```
pub fn two() {}
";

#[test]
fn all_binaries_of_cargo_test_have_one_slot() {
    let scene = Scene::new(&["a", "b"]);
    fs::write(scene.folder.join("tests/another.rs"), ANOTHER).expect("the laboratory is writable");
    fs::write(scene.folder.join("src/lib.rs"), DOCTESTS).expect("the laboratory is writable");
    let manifest = scene.folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("it is there").replace("doctest = false", "");
    fs::write(&manifest, text.replace("2024", "2021")).expect("the laboratory is writable");
    let words = ["test", "--", "another", "one", "two", "many::a"];
    scene.lab.run(scene.held(&words)).expect_success();
    assert_eq!((scene.lab.history().check_one_user_a_slot(), scene.how_often("provision")), (4, 1));
    scene.check_ended();
}

/// A build script that takes its time.
const BUILD: &str = "fn main() {
    let [actor, gate] = [\"LAB_ACTOR\", \"LAB_GATE\"].map(|name| std::env::var_os(name).unwrap());
    assert!(std::process::Command::new(actor).arg(\"hold\").arg(gate).status().unwrap().success());
}\n";

#[test]
fn no_slot_waits_for_a_build() {
    let scene = Scene::new(&["a"]);
    fs::write(scene.folder.join("build.rs"), BUILD).expect("the laboratory is writable");
    let run = scene.lab.start(scene.held(&["test", "notes"]));
    scene.lab.history().wait_for("start", |_| true);
    scene.lab.run(scene.lab.lease_actor(&["--no-wait"], &["note", "other"])).expect_success();
    scene.lab.open("gate");
    run.finish().expect_success();
    assert_eq!(scene.told(&["other", "start", "noted"]), ["start -", "other a", "noted a"]);
    scene.check_ended();
}

#[test]
fn what_cannot_be_built_takes_no_slot() {
    let scene = Scene::new(&["a"]);
    fs::write(scene.folder.join("src/lib.rs"), "this is not Rust").expect("the laboratory is writable");
    let run = scene.lab.run(scene.held(&["test"])).expect_code(101);
    assert_eq!(run.stderr.matches("error: could not compile").count(), 1, "{}", run.account());
    assert!(!scene.lab.store().exists(), "nothing was asked of the pool");
}

#[test]
fn bench_and_the_manifest_say_it_too() {
    let scene = Scene::new(&["a", "b"]);
    let manifest = scene.folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("it is there");
    let bench = "[workspace.metadata.lease]\nhold = \"run\"\n[[bench]]\nname = \"one\"\nharness = false\n";
    fs::write(&manifest, format!("{text}\n{bench}[[bench]]\nname = \"two\"\nharness = false\n")).expect("writable");
    fs::create_dir(scene.folder.join("benches")).expect("the laboratory is writable");
    for name in ["one", "two"] {
        let bench = ANOTHER.replace("#[test] fn another", "fn main");
        fs::write(scene.folder.join(format!("benches/{name}.rs")), bench).expect("the laboratory is writable");
    }
    scene.lab.run(scene.lease(&["bench", "--benches"])).expect_success();
    assert_eq!((scene.lab.history().check_one_user_a_slot(), scene.how_often("provision")), (2, 1));
    scene.check_ended();
}

/// Cargo dies of Ctrl-C at once, and does not wait for the test.
#[test]
fn a_test_that_cleans_up_after_ctrl_c_keeps_the_slot_meanwhile() {
    let scene = Scene::new(&["a"]);
    fs::write(scene.folder.join("tests/another.rs"), CLEANS_UP).expect("the laboratory is writable");
    let run = scene.lab.start(scene.held(&["test", "--test", "another"]));
    scene.lab.history().wait_for("ready", |_| true);
    run.signal_group(Signal::INT);
    scene.lab.history().wait_for("cleaning", |_| true);
    assert!(scene.lab.record("slot-a").is_some(), "the slot is kept while the test cleans up");
    scene.lab.open("gate");
    let run = run.finish();
    assert!(!run.status.success(), "{}", run.account());
    assert_eq!(scene.how_often("cleaned"), 1, "{}", run.account());
    scene.check_ended();
    wait::until_true("slot a is free", || scene.lab.record("slot-a").is_none());
}

const CLEANS_UP: &str = r#"#[test] fn another() {
    let script = "clean() { \"$LAB_ACTOR\" note cleaning; until [ -e \"$LAB_GATE\" ]; do sleep 0.01; done;
        \"$LAB_ACTOR\" note cleaned; exit 3; }
        trap clean INT; \"$LAB_ACTOR\" note ready; while :; do sleep 0.01; done";
    use std::os::unix::process::CommandExt as _;
    panic!("{}", std::process::Command::new("sh").args(["-c", script]).exec());
}"#;
