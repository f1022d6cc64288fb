//! `cargo-lease` from the outside: the real binary, real cargo and nextest, scratch workspaces in temporary folders.

mod lab;

mod help;

mod cargo_test;
mod nextest_program;
mod pool;
mod pool_shell;
mod run;
mod run_claims;
mod scripts_page;
mod status;
mod store;
mod usage;

#[cfg(feature = "test-nextest")]
mod nextest;
