//! What every module of this binary needs.

use lease_tests::Lab;

/// A laboratory with this package's helper program.
pub(crate) fn lab() -> Lab {
    Lab::new(env!("CARGO_BIN_EXE_actor"))
}
