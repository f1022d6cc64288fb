//! A small vocabulary for tests that start real processes: a laboratory with a store and a pool of its own, programs
//! that are started, awaited and killed by id, and a history whose order is the order in which things happened.
//!
//! Modules in reading order: [`wait`] is how a test waits, [`environment`] is what a started process inherits, [`binary`]
//! finds the program under test, [`running`] is one started program, [`history`] is what the programs wrote down, [`order`] judges who
//! was served when, [`lab`] puts them together; [`process`], [`reap`], [`ports`], [`scratch`] and [`snapshot`] are for single purposes, [`layers`] reads our sources.

pub mod wait;

pub mod environment;

pub mod binary;

pub mod running;

pub mod history;

pub mod order;

pub mod process;

pub mod reap;

pub mod lab;

pub mod ports;

pub mod scratch;

pub mod snapshot;

pub mod layers;

#[cfg(feature = "postgres")]
pub mod postgres;

pub use history::{Event, History};
pub use lab::Lab;
pub use running::{Finished, Running};
