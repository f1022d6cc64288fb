//! What the operating system gives: clock, files, locks, watch, processes, signals.
//!
//! The only place that knows which system this is. Nothing here knows a name or a rule of the format.

#[cfg(not(unix))]
compile_error!(
    "lease-harness needs a Unix: its leases live by file locks, signals and process groups that Windows does not have"
);

pub(crate) mod bell;
pub(crate) mod clock;
pub(crate) mod disk;
pub(crate) mod env;
pub(crate) mod exit;
pub(crate) mod flag;
pub(crate) mod life_dir;
pub(crate) mod lock;
pub(crate) mod process;
mod random;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod watch;
