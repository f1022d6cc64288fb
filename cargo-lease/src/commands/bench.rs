//! `cargo lease bench`: cargo bench with every bench binary in a slot.

use super::cargo::{Wrapping, exec_cargo};
use crate::exit::Failure;

/// Becomes `cargo bench`; returns only when that fails.
pub(super) fn exec(wrapping: Wrapping<'_>) -> Failure {
    exec_cargo("bench", wrapping)
}
