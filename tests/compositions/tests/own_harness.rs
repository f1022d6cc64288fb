//! A harness of its own: its arguments mean something else, and only it knows what they select.
//!
//! Called with `serve…` or `--serve…` it runs its leased function; otherwise it is a test runner that calls itself so.

#![expect(clippy::print_stdout, reason = "what the leased function says is what is looked at")]

use std::panic;
use std::process::{Command, ExitCode, Output};

use lease_harness::leased_slot;
use libtest_mimic::{Arguments, Failed, Trial};

#[leased_slot(pool = "pool.json")]
fn leased() {
    println!("inside {}", std::env::var("POOL_SLOT_ID").unwrap());
}

fn main() -> ExitCode {
    let first = std::env::args().nth(1).unwrap_or_default();
    if first.trim_start_matches("--").starts_with("serve") || std::env::var_os("SERVE").is_some() {
        return if panic::catch_unwind(leased).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let trials = vec![
        Trial::test("an_option_that_libtest_does_not_have", || refused(&["--serve-port", "80"], "`--serve-port`")),
        Trial::test("a_word_that_selects_no_test", || refused(&["serve"], "no leased test is selected")),
        Trial::test("no_arguments_are_every_test", every_test),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// This program without what the runner of the tests says in the environment.
fn myself(args: &[&str]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(args).env("SERVE", "1");
    for name in ["NEXTEST", "NEXTEST_TEST_PHASE", "NEXTEST_TEST_NAME", "LEASE_GRANTS", "POOL_SLOT_ID"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn refused(args: &[&str], said: &str) -> Result<(), Failed> {
    let output = myself(args);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(text.contains(said) && text.contains("slot: Slot"), "{text}");
    Ok(())
}

fn every_test() -> Result<(), Failed> {
    let output = myself(&[]);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("inside "), "{output:?}");
    Ok(())
}
