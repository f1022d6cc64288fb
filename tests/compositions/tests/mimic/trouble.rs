//! No slot, a lost lease, nobody who reads.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use lease_harness::mimic::Trial;

use crate::program::{NONE, PATIENCE, Package, code, said, verdicts};
use crate::scenario::{FREE_UNTIL, STAYS_UNTIL};

const ONE_SLOT: &str = r#"{"name": "behaviour", "ttlMinutes": 60, "slots": [{"id": "only"}]}"#;
/// A second is its lifetime; a heartbeat notices within a fifth of it.
const SHORT: &str = r#"{"name": "behaviour", "ttlMinutes": 0.02, "slots": [{"id": "only"}]}"#;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        check("without_a_slot_a_trial_fails_and_says_why", no_slot),
        check("without_a_pool_file_a_trial_fails_and_says_why", no_pool_file),
        check("a_lost_lease_ends_the_process", lost),
        check("a_loss_is_noticed_at_the_end_at_the_latest", lost_unnoticed),
        check("a_loss_of_the_outer_lease_is_noticed_at_the_end", lost_outer),
        check("an_output_that_is_closed_is_one_sentence", closed_output),
        check("when_nobody_reads_any_more_nobody_waits_for_a_slot", nobody_reads),
        check("no_threads_are_refused", no_threads),
    ]
}

fn check(name: &str, body: fn()) -> Trial {
    Trial::test(format!("trouble::{name}"), move || {
        body();
        Ok(())
    })
}

fn no_slot() {
    let package = Package::with_pool(ONE_SLOT);
    let held = package.request().acquire().unwrap();
    let output = package.program(&["--exact", "impatient", "free"]).output().unwrap();
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    assert_eq!((&*verdicts(&output)["impatient"], &*verdicts(&output)["free"]), ("FAILED", "ok"));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("no slot for the trial `impatient`: pool behaviour is saturated"), "{stdout}");
    assert_eq!(package.entered(), []);
    held.release().unwrap();
}

fn no_pool_file() {
    let package = Package::without_pool();
    let output = package.program(&["--exact", "plain"]).output().unwrap();
    assert_eq!(code(&output), Some(101), "{}", said(&output));
    assert!(said(&output).contains("pool file `behaviour.json` not found: there is no `"), "{}", said(&output));
}

fn lost() {
    for scenario in ["plain", "fails", "panics"] {
        let package = Package::with_pool(SHORT);
        let child = package.start_and_enter(&package.gate(), &mut package.program(&["--exact", scenario, "free"]));
        fs::remove_file(&package.held()[0]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), Some(75), "{scenario}: {}", said(&output));
        let text = said(&output);
        assert!(text.contains("slot only of pool behaviour") && text.contains("was lost"), "{text}");
        assert!(!text.contains("test result: ok"), "{text}");
    }
}

/// Taken away between the last heartbeat and the end, it is noticed when it is given back.
fn lost_unnoticed() {
    for scenario in ["plain", "fails", "panics"] {
        let package = Package::with_pool(ONE_SLOT);
        let gate = package.gate();
        let child = package.start_and_enter(&gate, &mut package.program(&["--exact", scenario]));
        fs::remove_file(&package.held()[0]).unwrap();
        fs::write(&gate, "").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), Some(75), "{scenario}: {}", said(&output));
        assert!(said(&output).contains("slot only of pool behaviour"), "{}", said(&output));
    }
}

fn lost_outer() {
    let package = Package::with_pool(ONE_SLOT);
    let outer = package.request().acquire().unwrap();
    let gate = package.gate();
    let child = package.start_and_enter(&gate, &mut package.program_under(&outer, &["--exact", "plain"]));
    outer.release().unwrap();
    fs::write(&gate, "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(75), "{}", said(&output));
    assert!(said(&output).contains("slot only of pool behaviour"), "{}", said(&output));
}

fn closed_output() {
    for args in [&["many", "--test-threads", "1"][..], &["many", "--test-threads", "4"], &["--list"]] {
        let package = Package::with_pool(ONE_SLOT);
        let (reader, writer) = std::io::pipe().unwrap();
        close(reader, &writer);
        let output = package.program(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(code(&output), Some(101), "{args:?}: {}", said(&output));
        let text = said(&output);
        assert!(text.starts_with("lease-harness: cannot write the ") && text.contains("Broken pipe"), "{text}");
        assert_eq!((text.lines().count(), package.n_grants()), (1, 0), "{args:?}: {text}");
    }
}

fn nobody_reads() {
    let package = Package::with_pool(ONE_SLOT);
    let (gate, free_gate) = (package.gate(), package.gate().with_extension("free"));
    let (reader, writer) = std::io::pipe().unwrap();
    let mut program = package.program(&["--exact", "plain", "free", "many::0", "--test-threads", "3"]);
    program.env(STAYS_UNTIL, &gate).env(FREE_UNTIL, &free_gate);
    let mut child = program.stdout(writer.try_clone().unwrap()).stderr(Stdio::piped()).spawn().unwrap();
    // Whichever of the two is inside: the other one waits.
    wait_for_queue(&package, 1);
    let mut stdout = BufReader::new(reader);
    let title = (&mut stdout).lines().map(Result::unwrap).find(|line| line.starts_with("running"));
    assert_eq!(title.as_deref(), Some("running 3 tests"));
    close(stdout.into_inner(), &writer);
    fs::write(&free_gate, "").unwrap();
    wait_for_queue(&package, 0);
    fs::write(&gate, "").unwrap();
    let status = child.wait().unwrap();
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(status.code(), Some(101), "{text}");
    assert!(text.contains("pool behaviour saturated — queue position 1"), "{text}");
    assert!(text.contains("cannot write the results") && !text.contains("panicked"), "{text}");
    assert_eq!((package.entered().len(), package.n_grants()), (1, 1), "{text}");
    assert_eq!(package.held(), NONE);
}

/// Closes what is read from. A program that another thread is just starting has it too for a moment, so it is closed when
/// nothing can be written any more.
fn close(reader: PipeReader, mut writer: &PipeWriter) {
    drop(reader);
    while writer.write_all(b"\n").is_ok() {
        std::thread::yield_now();
    }
}

#[track_caller]
fn wait_for_queue(package: &Package, n: usize) {
    let begun = Instant::now();
    while n_waiting(&package.store()) != n {
        assert!(begun.elapsed() < PATIENCE, "there are never {n} in the queue");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn n_waiting(store: &Path) -> usize {
    let queue = fs::read_to_string(store.join("behaviour/queue.json")).unwrap_or_default();
    queue.matches("\"session\"").count()
}

fn no_threads() {
    let package = Package::with_pool(ONE_SLOT);
    let output = package.program(&["--exact", "plain", "--test-threads", "0"]).output().unwrap();
    assert_eq!(code(&output), Some(2), "{}", said(&output));
    assert!(said(&output).contains("--test-threads must not be 0"), "{}", said(&output));
}
