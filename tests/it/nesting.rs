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

/// A test binary whose tests only write down when they use which slot.
#[cfg(feature = "nextest")]
const TURNS: &str = r#"
fn note(word: &str) {
    use std::io::Write;
    let (slot, history) = (std::env::var("POOL_RUN_SLOT").unwrap(), std::env::var("LAB_HISTORY").unwrap());
    let line = format!("{word} slot={slot} pid={}\n", std::process::id());
    std::fs::File::options().append(true).open(history).unwrap().write_all(line.as_bytes()).unwrap();
}

macro_rules! uses {
    ($($name:ident)*) => {
        $(#[test] fn $name() { note("start"); std::thread::yield_now(); note("end"); })*
    };
}

uses! { t0 t1 t2 t3 t4 t5 }
"#;

/// All tests of the inner run join the one slot of the outer one, so nextest must not run two at once.
#[cfg(feature = "nextest")]
#[test]
fn nextest_inside_a_run_uses_the_outer_slot_one_test_at_a_time() {
    let lab = lab();
    lab.write_slots(&["a", "b"]);
    let folder = scratch::fixture(&lab, "solo", "solo");
    std::fs::write(folder.join("tests/turns.rs"), TURNS).expect("the laboratory is writable");
    let ours = binary::cargo_lease().display().to_string();
    let mut command = lab.lease(["run", "--", &ours, "nextest", "run", "--test", "turns", "--test-threads", "4"]);
    command.current_dir(folder);
    let run = lab.run(command).expect_success();
    assert!(run.stderr.contains("6 tests run: 6 passed"), "{}", run.account());
    assert_eq!(lab.history().check_one_user_a_slot(), 6);
    lab.check_all_given_back();
}

/// With the default names of leases, slot 1 of the one pool is slot 1 of the other.
#[test]
fn a_run_inside_a_run_of_a_pool_with_the_same_leases_is_refused() {
    let lab = lab();
    lab.write_slots(&["a"]);
    let other = lab.path("other.json");
    std::fs::write(&other, "{\"name\": \"other\", \"slots\": [{\"id\": \"a\"}]}").expect("writable");
    let mut command = lab.lease(["run", "--", "sh", "-c", "\"$LAB_LEASE\" --pool \"$OTHER\" run -- \"$LAB_ACTOR\" note inner"]);
    command.env("LAB_LEASE", binary::cargo_lease()).env("OTHER", &other);
    let run = lab.run(command).expect_code(2);
    for part in ["slot-a", "other", "kindPrefix"] {
        assert!(run.stderr.contains(part), "{}", run.account());
    }
    lab.check_all_given_back();
}
