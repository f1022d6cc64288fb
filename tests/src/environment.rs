//! What a started process inherits from the test run: as little as possible.

use std::process::Command;

/// The variable by which a laboratory recognises the processes it started, and theirs.
pub const LAB_MARK: &str = "LAB_ID";

/// Variables that would make our programs, cargo, nextest, git or PostgreSQL behave differently from a shell's.
const UNWANTED: [&str; 11] =
    ["LEASE_", "POOL_", "E2E_LEASE_", "NEXTEST", "CARGO", "RUST_", "RUSTDOC", "GIT_", "PG", "LAB_", "__RUST_TEST"];

/// The exceptions: where cargo finds its registry, and what a developer set for every build.
const WANTED: [&str; 1] = ["CARGO_HOME"];

/// Removes from `command` what it would inherit from a test run.
pub fn clean(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if !WANTED.contains(&&*name) && UNWANTED.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(&*name);
        }
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_INCREMENTAL", "0")
        .env("LC_ALL", "C")
}

/// The cargo that runs this test, else the one on the path.
pub fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
