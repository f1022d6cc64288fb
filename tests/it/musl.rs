//! Leased tests in programs for musl, whose constructors are given no arguments.

#[cfg(feature = "namespaces")]
use std::fs;
use std::path::PathBuf;

#[cfg(feature = "namespaces")]
use lease_tests::Finished;
use lease_tests::{Lab, binary};

use crate::mimic::run;
use crate::support::lab;

/// The target for musl of this kind of machine.
fn target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// The compositions, built for musl.
fn programs(lab: &Lab) -> Vec<(String, PathBuf)> {
    let mut command = lab.cargo(["test", "--no-run", "--package", "lease-compositions", "--target", &target()]);
    command.args(["--message-format", "json-render-diagnostics"]);
    let program = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let name = message.get("target")?.get("name")?.as_str()?.to_owned();
        Some((name, PathBuf::from(message.get("executable")?.as_str()?)))
    };
    run(lab, command).stdout.lines().filter_map(program).collect()
}

/// What they say of themselves holds: which arguments take a slot, and the environment of it.
#[test]
fn the_compositions_hold() {
    let lab = lab();
    let mut n_run = 0;
    for (name, program) in programs(&lab) {
        let mut command = lab.command(&program);
        let package = binary::workspace().join("tests/compositions");
        command.env("CARGO_MANIFEST_DIR", &package).env("LEASE_STORE", lab.store()).current_dir(package);
        let finished = lab.run(command).expect_success();
        assert!(finished.stdout.contains("test result: ok"), "{name}: {}", finished.stdout);
        n_run += 1;
    }
    assert!(5 < n_run, "{n_run} programs");
}

/// Where the kernel's word for the arguments is out of reach as well, none is guessed.
#[cfg(feature = "namespaces")]
fn without_proc(lab: &Lab, envs: &[(&str, &str)]) -> Finished {
    let programs = programs(lab);
    let (_, program) = programs.iter().find(|(name, _)| name == "behaviour").expect("it is one of them");
    let package = lab.path("package");
    fs::create_dir(&package).expect("the laboratory is writable");
    let pool = r#"{"name": "behaviour", "slots": [{"id": "only"}]}"#;
    fs::write(package.join("behaviour.json"), pool).expect("the laboratory is writable");
    let script = "mount -t tmpfs none /proc && exec \"$0\" --exact scenario::process --nocapture";
    let mut command = lab.command("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(program);
    command.env("CARGO_MANIFEST_DIR", package).env("LEASE_STORE", lab.store()).envs(envs.iter().copied());
    lab.run(command)
}

#[cfg(feature = "namespaces")]
#[test]
fn no_arguments_at_all() {
    let finished = without_proc(&lab(), &[]);
    assert!(!finished.status.success() && finished.stdout.contains("1 failed"), "{}{}", finished.stdout, finished.stderr);
    assert!(finished.stderr.contains("the arguments of this process cannot be read before main"), "{}", finished.stderr);
}

#[cfg(feature = "namespaces")]
#[test]
fn nextest_says_it_in_the_environment() {
    let nextest = [("NEXTEST_TEST_PHASE", "run"), ("NEXTEST_TEST_NAME", "scenario::process")];
    let finished = without_proc(&lab(), &nextest);
    assert!(finished.stdout.contains("1 passed"), "{}{}", finished.stdout, finished.stderr);
}
