//! `cargo lease test`: cargo test with every test binary in a slot.

use super::cargo::{Wrapping, exec_cargo};
use crate::exit::Failure;

/// Becomes `cargo test`; returns only when that fails.
pub(super) fn exec(wrapping: Wrapping<'_>) -> Failure {
    exec_cargo("test", wrapping)
}
