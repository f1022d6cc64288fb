//! `cargo lease bench`: cargo bench with every bench binary in a slot.

use std::process::ExitCode;

use super::cargo::{Wrapping, run_cargo};
use crate::exit::Failure;

/// Runs `cargo bench`, in place of this program unless a slot is held for all of it.
pub(super) fn run(wrapping: Wrapping<'_>) -> Result<ExitCode, Failure> {
    run_cargo("bench", wrapping)
}
