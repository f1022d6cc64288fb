//! Leased test resources: a pool of slots that many test runs of one host share, with a directory as the broker.
//!
//! A slot is a port, a database, a device, or several of them together. Whoever asks waits his turn, is given a slot that
//! has been made clean, and gives it back however he ends: a process that is killed holds nothing any more, since what
//! proves that a holder lives is a kernel lock.
//!
//! There are three ways in, and they share their slots with each other and with other programs of the same format:
//!
//! * [`leased_slot`] above a test;
//! * [`SlotRequest`], for a program that takes a slot itself;
//! * `cargo lease test`, of the package `cargo-lease`, with no change to the tests.
//!
//! With the feature `claims`, particular resources are claimed, shared or alone: `#[leased_claims]` above a test, `ClaimRequest` in
//! a program.
//!
//! With the feature `mimic`, the module `mimic` has the same for tests that are made at run time, one for each file of a
//! folder for instance.
//!
//! ```no_run
//! use lease_harness::{Slot, SlotRequest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let slot: Slot = SlotRequest::from_file("pool.json").acquire()?;
//! let port: u16 = slot.get("ports.api")?;
//! let server = slot.command("my-server").arg(port.to_string()).spawn()?;
//! # let _ = server;
//! slot.release()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Layers
//!
//! The other modules are for programs that do more than hold a slot, such as showing who holds what. In reading order:
//! [`json`] is the documents of the format, [`store`] is one durable lease per kind, [`pool`] hands out one of N slots,
//! the module `claims` has sets of particular resources, [`harness`] is a process or a test under a grant. Every operation says what
//! it leaves behind if the process dies.
//!
//! # Platforms
//!
//! Linux is what is tested. macOS is meant to work, by looking where it cannot watch; Windows is refused at compile time.

pub mod json;
mod sys;

pub mod store;

pub mod pool;

#[cfg(feature = "claims")]
pub mod claims;

pub mod harness;

#[doc(hidden)]
pub mod __private;

#[cfg(feature = "mimic")]
pub mod mimic;

#[cfg(feature = "claims")]
pub use harness::{ClaimRequest, ClaimSet};
pub use harness::{Slot, SlotError, SlotErrorKind, SlotRequest, Wait, Waiting};
#[doc = include_str!("leased_slot.md")]
#[doc(inline)]
pub use lease_harness_macros::leased_slot;

#[cfg(feature = "claims")]
#[doc = include_str!("leased_claims.md")]
#[doc(inline)]
pub use lease_harness_macros::leased_claims;
