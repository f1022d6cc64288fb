//! The script that begins with `cargo new`.

use std::fs;

use lease_tests::binary;

use super::project::target_folder;
use crate::support::lab;

#[test]
fn a_project_made_from_nothing_is_right_under_every_runner() {
    let lab = lab();
    let mut command = lab.command(binary::workspace().join("tests/from-nothing"));
    command.env("FROM_NOTHING_PROGRAM", binary::cargo_lease()).env("FROM_NOTHING_TARGET", target_folder());
    command.env("TMPDIR", lab.path("")).env("LEASE_STORE", "/no/such/store");
    let run = lab.run(command).expect_success();
    assert_eq!(run.stdout.matches("from-nothing: ok: ").count(), 12, "{}", run.account());
    let left: Vec<_> =
        fs::read_dir(lab.path("")).expect("it can be read").map(|entry| entry.expect("it can be read").file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("tmp.")), "{left:?}");
}
