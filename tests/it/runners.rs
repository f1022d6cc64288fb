//! The user's own target runner goes on running, behind ours.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lease_tests::{Lab, scratch};

use crate::support::lab;

/// How a user can name a runner. Each works without us, so it must work with us.
const CONFIGURATIONS: [&str; 4] = [
    "[target.TRIPLE]\nrunner = [\"RUNNER\", \"two words\"]\n",
    "[target.TRIPLE]\nrunner = \"RUNNER two\"\n",
    "[target.'cfg(all())']\nrunner = [\"RUNNER\", \"two words\"]\n",
    "[target.'cfg(unix)']\nrunner = \"RUNNER two\"\n",
];

#[test]
fn a_configured_runner_is_chained() {
    for configuration in CONFIGURATIONS {
        let (lab, folder, runner) = workspace();
        let text = configuration.replace("TRIPLE", &triple(&lab)).replace("RUNNER", runner.to_str().expect("a path is text"));
        fs::create_dir(folder.join(".cargo")).expect("the laboratory is writable");
        fs::write(folder.join(".cargo/config.toml"), &text).expect("the laboratory is writable");
        let mut command = lab.lease(["test", "--test", "solo", "shows_its_environment"]);
        command.current_dir(&folder);
        lab.run(command).expect_success();
        check_chained(&lab, &text);
    }
}

#[test]
fn a_runner_from_the_environment_is_chained_and_left_as_it_was() {
    let (lab, folder, runner) = workspace();
    let variable = format!("CARGO_TARGET_{}_RUNNER", triple(&lab).to_uppercase().replace('-', "_"));
    let value = format!("{} two", runner.display());
    let mut command = lab.lease(["test", "--test", "solo", "shows_its_environment", "--", "--nocapture"]);
    command.current_dir(&folder).env(&variable, &value);
    let run = lab.run(command).expect_success();
    check_chained(&lab, &variable);
    assert!(run.stdout.contains(&format!("{variable}={value}")), "{}", run.account());
}

fn workspace() -> (Lab, PathBuf, PathBuf) {
    let lab = lab();
    lab.write_slots(&["a"]);
    let folder = scratch::fixture(&lab, "solo", "solo");
    let runner = write_runner(&lab.path("runner"));
    (lab, folder, runner)
}

/// A runner with one argument of its own in front of the program.
fn write_runner(path: &Path) -> PathBuf {
    let text = "#!/bin/sh\n\"$LAB_ACTOR\" note chained\nshift\nexec \"$@\"\n";
    fs::write(path, text).expect("the laboratory is writable");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the laboratory is writable");
    path.to_owned()
}

fn triple(lab: &Lab) -> String {
    let version = lab.run(lab.command_of_rustc(["-vV"])).expect_success();
    let host = version.stdout.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

/// The user's runner ran once, under the slot that the test had.
#[track_caller]
fn check_chained(lab: &Lab, what: &str) {
    let history = lab.history();
    let (chained, ran) = (history.all("chained"), history.all("ran"));
    assert_eq!((chained.len(), ran.len()), (1, 1), "{what}");
    assert_eq!((chained[0].get("slot"), ran[0].get("slot")), ("a", "a"), "{what}");
    assert_eq!(chained[0].get("token"), ran[0].get("token"), "{what}");
    lab.check_all_given_back();
}
