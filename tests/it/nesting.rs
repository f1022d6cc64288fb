//! A lease inside a lease of the same pool joins it instead of waiting for itself.

use lease_tests::{binary, scratch};

use crate::support::lab;

#[test]
fn a_run_inside_a_run_joins_the_outer_slot() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let script = "\"$LAB_ACTOR\" note outer; \"$LAB_LEASE\" run -- \"$LAB_ACTOR\" note inner; \"$LAB_ACTOR\" note outer";
    let mut command = lab.lease(["run", "--", "sh", "-c", script]);
    command.env("LAB_LEASE", binary::cargo_lease());
    lab.run(command).expect_success();
    let events = lab.history().events();
    let words: Vec<_> = events.iter().map(|event| event.word.as_str()).collect();
    assert_eq!(words, ["provision", "outer", "inner", "outer"], "provisioned once");
    for event in &events[1..] {
        assert_eq!((event.get("slot"), event.get("token")), ("a", events[1].get("token")), "one lease");
    }
    lab.check_all_given_back();
}

#[test]
fn a_run_inside_a_test_joins_the_slot_of_the_test() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let folder = scratch::fixture(&lab, "solo", "solo");
    let mut command = lab.lease(["test", "--test", "solo", "nests"]);
    command.current_dir(folder).env("LAB_LEASE", binary::cargo_lease());
    lab.run(command).expect_success();
    let words: Vec<_> = lab.history().events().into_iter().map(|event| event.word).collect();
    assert_eq!(words, ["provision", "inner"], "provisioned once");
    lab.check_all_given_back();
}

#[test]
fn a_run_inside_a_run_of_another_pool_takes_its_own_slot() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let other = lab.path("other.json");
    std::fs::write(&other, "{\"name\": \"other\", \"kindPrefix\": \"other-\", \"slots\": [{\"id\": \"b\"}]}").expect("writable");
    let script = "LEASE_POOL_FILE=\"$OTHER\" \"$LAB_LEASE\" run -- \"$LAB_ACTOR\" note inner; \"$LAB_ACTOR\" note outer";
    let mut command = lab.lease(["run", "--", "sh", "-c", script]);
    command.env("LAB_LEASE", binary::cargo_lease()).env("OTHER", other);
    lab.run(command).expect_success();
    let history = lab.history();
    assert_eq!(history.all("inner")[0].get("slot"), "b");
    assert_eq!(history.all("outer")[0].get("slot"), "a");
    lab.check_all_given_back();
}
