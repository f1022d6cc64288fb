//! Leased test resources: a pool of slots that many test runs of one host share, with a directory as the broker.
//!
//! Modules in reading order: [`json`] is the documents of the format, `sys` is what the operating system gives,
//! [`store`] is one durable lease per kind, [`pool`] hands out one of N slots, [`harness`] is a process or a test
//! under a grant.

pub mod json;
mod sys;

pub mod store;

pub mod pool;

pub mod harness;

#[doc(hidden)]
pub mod __private;

pub use harness::{Slot, SlotError, SlotErrorKind, SlotRequest, Wait, Waiting};
#[doc = include_str!("leased_slot.md")]
#[doc(inline)]
pub use lease_harness_macros::leased_slot;
