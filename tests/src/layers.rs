//! Reads Rust sources and tells what they must not contain: the direction of imports of ARCHITECTURE.md and a few
//! other rules of the house, as rules over tokens.
//!
//! A file becomes [`Source`]: its paths (`crate::store::Lease`, also out of a grouped `use`, with `super` resolved),
//! its other names, and its texts, each with a line number. A rule is a function from sources to complaints.

mod read;
mod rules;

pub use read::{Found, Source};
pub use rules::{Complaint, LONGEST_FILE, check};
