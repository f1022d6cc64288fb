//! The folder of a grant.

use std::fs;
use std::path::PathBuf;

use lease_harness::Wait;

use crate::program::{NONE, Package, code, said};

const ONE_SLOT: &str = r#"{"name": "behaviour", "slots": [{"id": "only"}]}"#;
const SCENARIO: &[&str] = &["--exact", "scenario::slot_temp_dir"];

fn folders(package: &Package) -> Vec<PathBuf> {
    let entries = fs::read_dir(package.store().join("behaviour/.temp")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn is_gone_when_the_slot_is_given_back() {
    let package = Package::with_pool(ONE_SLOT);
    for _ in 0..2 {
        let output = package.program(SCENARIO).output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", said(&output));
        assert_eq!(folders(&package), NONE);
    }
}

/// The next one finds out by the lease that its holder is gone, and so does a release of another slot.
#[test]
fn of_a_killed_holder_is_gone_when_the_slot_is_had_again() {
    let package = Package::with_pool(ONE_SLOT);
    let mut killed = package.start_and_enter(&package.gate(), &mut package.program(SCENARIO));
    let left = folders(&package);
    assert_eq!(left.len(), 1);
    assert!(left[0].join("data/file").exists());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let next = package.request().wait(Wait::No).acquire().unwrap();
    assert_eq!(folders(&package), NONE);
    let ours = next.temp_dir().unwrap();
    assert_ne!(ours, left[0]);
    assert_eq!(fs::read_dir(&ours).unwrap().count(), 0);
    next.release().unwrap();
    assert_eq!(folders(&package), NONE);
}

/// A folder whose lease somebody else has ended in his own way.
#[test]
fn of_no_grant_goes_when_the_pool_tidies_up() {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "one"}, {"id": "other"}]}"#);
    let (lost, kept) = (package.request().acquire().unwrap(), package.request().acquire().unwrap());
    let (of_lost, of_kept) = (lost.temp_dir().unwrap(), kept.temp_dir().unwrap());
    fs::remove_file(package.store().join(format!("{}.json", lost.kind()))).unwrap();
    assert!(lost.temp_dir().is_err());
    assert!(lost.release().is_err());
    let third = package.request().wait(Wait::No).acquire().unwrap();
    third.release().unwrap();
    assert_eq!(folders(&package), [of_kept]);
    assert!(!of_lost.exists());
    kept.release().unwrap();
    assert_eq!(folders(&package), NONE);
}

/// The outer holder's: it is emptied between two tests, and stays until that one gives the slot back.
#[test]
fn of_a_joined_slot_is_the_outer_one() {
    let package = Package::with_pool(ONE_SLOT);
    let outer = package.request().acquire().unwrap();
    let folder = outer.temp_dir().unwrap();
    let scenarios = ["--exact", "scenario::slot_temp_dir", "scenario::slot", "--test-threads=1"];
    let output = package.program_under(&outer, &scenarios).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    assert_eq!(folders(&package), std::slice::from_ref(&folder));
    assert!(folder.join("data/file").exists());
    outer.reset().unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    outer.release().unwrap();
    assert_eq!(folders(&package), NONE);
}
