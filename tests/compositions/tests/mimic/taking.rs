//! When a trial takes a slot, and that it gives it back.

use std::collections::BTreeSet;
use std::process::Output;

use lease_harness::Wait;
use lease_harness::mimic::Trial;

use crate::program::{NONE, Package, code, said, verdicts};
use crate::scenario::{N_MANY, N_MEETING};

const ONE_SLOT: &str = r#"{"name": "behaviour", "slots": [{"id": "only"}]}"#;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        check("a_slot_is_taken_if_and_only_if_a_leased_trial_runs", a_slot_for_each_that_runs),
        check("a_listing_is_nothing_but_the_list", a_listing),
        check("benchmarks_are_tried_or_measured", benchmarks),
        check("trials_at_once_have_slots_of_their_own", trials_at_once),
        check("more_trials_than_slots_never_share_one", more_than_slots),
        check("a_slot_is_given_back_however_the_trial_ends", given_back),
        check("a_trial_that_does_not_apply_is_ignored", not_applicable),
        check("the_slot_of_a_killed_trial_is_free_for_the_next", killed),
        check("who_holds_a_slot_is_shown_by_the_trials_name", shown_by_its_name),
    ]
}

fn check(name: &str, body: fn()) -> Trial {
    Trial::test(format!("taking::{name}"), move || {
        body();
        Ok(())
    })
}

/// Runs with these arguments in a pool of one slot, and checks that exactly these scenarios ran, each in a grant of its own.
#[track_caller]
fn check_entered(args: &str, entered: &[&str]) -> Output {
    let package = Package::with_pool(ONE_SLOT);
    let args: Vec<_> = args.split('|').flat_map(|part| if part.starts_with('[') { vec![part] } else { words(part) }).collect();
    let output = package.program(&args).output().unwrap();
    let names: BTreeSet<_> = package.entered().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, entered.iter().map(|name| (*name).to_owned()).collect(), "{args:?}: {}", said(&output));
    assert_eq!(package.n_grants(), entered.len(), "{args:?}");
    assert_eq!(package.held(), NONE, "{args:?}");
    assert_eq!(code(&output), Some(0), "{args:?}: {}", said(&output));
    output
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn a_slot_for_each_that_runs() {
    check_entered("--exact plain", &["plain"]);
    check_entered("--exact plain --nocapture", &["plain"]);
    check_entered("--exact --no-capture -- plain", &["plain"]);
    check_entered("--exact plain kind free", &["plain", "kind"]);
    check_entered("--exact|[some] kind", &["kind"]);
    check_entered("many::1 --skip many::11", &["many::1", "many::10"]);
    check_entered("plain meets --skip meets", &["plain"]);
    check_entered("free", &[]);
    check_entered("no_such_trial", &[]);
    check_entered("--exact ignored", &[]);
    check_entered("ignored --ignored", &["ignored"]);
    check_entered("--exact ignored plain --include-ignored", &["ignored", "plain"]);
    check_entered("--list", &[]);
    check_entered("--help", &[]);
    let output = check_entered("--exact plain kind", &["plain", "kind"]);
    let n_others = 9 + N_MEETING + N_MANY - 2;
    assert!(said(&output).contains(&format!("0 measured; {n_others} filtered out")), "{}", said(&output));
}

fn a_listing() {
    let output = check_entered("--list --format terse", &[]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), 9 + N_MEETING + N_MANY, "{lines}");
    assert!(lines.lines().all(|line| line.ends_with(": test") || line == "bench: benchmark"), "{lines}");
    assert!(lines.contains("plain: test\n") && lines.contains("[some] kind: test\n"), "{lines}");
    let output = check_entered("--list --format terse --ignored", &[]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "ignored: test\n");
}

fn benchmarks() {
    check_entered("bench", &["bench_tried"]);
    let output = check_entered("--bench", &["bench_measured"]);
    assert!(said(&output).contains("1 measured"), "{}", said(&output));
    check_entered("bench --test", &[]);
}

fn trials_at_once() {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}"#);
    let output = package.program(&["meets", "--test-threads", "3"]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    let slots: BTreeSet<_> = package.entered().into_iter().map(|(_, slot)| slot).collect();
    assert_eq!((slots.len(), package.n_grants()), (N_MEETING, N_MEETING));
    assert_eq!(package.held(), NONE);
}

fn more_than_slots() {
    let package = Package::with_pool(r#"{"name": "behaviour", "slots": [{"id": "a"}, {"id": "b"}]}"#);
    let output = package.program(&["many"]).env("RUST_TEST_THREADS", "6").output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    assert_eq!((package.entered().len(), package.n_grants()), (N_MANY, N_MANY));
    assert_eq!(package.held(), NONE);
}

fn given_back() {
    for (scenario, message) in [("fails", "as told"), ("panics", "test panicked: as told")] {
        for threads in ["1", "2"] {
            let package = Package::with_pool(ONE_SLOT);
            let output = package.program(&["--exact", scenario, "plain", "--test-threads", threads]).output().unwrap();
            assert_eq!(code(&output), Some(101), "{}", said(&output));
            assert_eq!(package.entered().len(), 2, "{}", said(&output));
            assert_eq!(verdicts(&output).into_values().collect::<BTreeSet<_>>(), ["FAILED", "ok"].map(str::to_owned).into());
            assert!(said(&output).contains(message), "{}", said(&output));
            assert_eq!(package.held(), NONE, "{scenario}");
        }
    }
}

fn not_applicable() {
    let output = check_entered("--exact not_applicable", &["not_applicable"]);
    assert!(said(&output).contains("ignored (as told)"), "{}", said(&output));
}

fn killed() {
    let package = Package::with_pool(ONE_SLOT);
    let mut child = package.start_and_enter(&package.gate(), &mut package.program(&["--exact", "plain"]));
    assert!(package.request().wait(Wait::No).acquire().is_err());
    child.kill().unwrap();
    child.wait().unwrap();
    package.request().wait(Wait::No).acquire().unwrap();
}

fn shown_by_its_name() {
    let package = Package::with_pool(ONE_SLOT);
    let gate = package.gate();
    let child = package.start_and_enter(&gate, &mut package.program(&["--exact", "plain"]));
    let record = std::fs::read_to_string(&package.held()[0]).unwrap();
    std::fs::write(gate, "").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert!(record.contains(" plain\""), "{record}");
}
