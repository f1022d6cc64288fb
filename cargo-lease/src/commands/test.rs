//! `cargo lease test`: cargo test with every test binary in a slot.

use std::ffi::OsString;

use super::cargo::{Wrapping, exec_cargo};
use crate::cli::LeaseOptions;
use crate::exit::Failure;
use crate::resolve::Surroundings;

/// Becomes `cargo test`; returns only when that fails.
pub(super) fn exec(lease: &LeaseOptions, words: &[OsString], around: &Surroundings) -> Failure {
    exec_cargo("test", Wrapping { lease, words, around })
}
