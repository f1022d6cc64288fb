//! `cargo lease test`: cargo test with every test binary in a slot.

use std::process::ExitCode;

use super::cargo::{Wrapping, run_cargo};
use crate::exit::Failure;

/// Runs `cargo test`, in place of this program unless a slot is held for all of it.
pub(super) fn run(wrapping: Wrapping<'_>) -> Result<ExitCode, Failure> {
    run_cargo("test", wrapping)
}
