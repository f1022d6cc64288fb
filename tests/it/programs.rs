//! No test may replace a program that another one is running.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use lease_tests::binary;

use crate::mistakes;
use crate::support::lab;

/// The programs of the workspace that are built, and the file that each of them is.
fn programs() -> Vec<(String, u64)> {
    let names = ["actor", "cargo-lease", "claimant", "gauge"];
    let file = |name: &str| Some((name.to_owned(), fs::metadata(binary::programs().join(name)).ok()?.ino()));
    names.into_iter().filter_map(file).collect()
}

/// Not by what asks cargo for the program under test, nor by what asks it for more than a test.
#[test]
fn what_the_tests_build_takes_the_place_of_no_program() {
    let before = programs();
    assert!(before.iter().any(|(name, _)| name == "actor"), "{before:?}");
    let program = binary::cargo_lease();
    mistakes::libraries(&lab());
    assert_eq!(programs(), before);
    assert!(program.ends_with("cargo-lease") && program.is_file(), "{}", program.display());
}
