//! A note board: a small TCP server that keeps its notes in a folder, and its client.
//!
//! It stands for whatever a real project tests: something that wants a port and a folder to itself.

mod client;
mod server;

pub use client::Client;
pub use server::Server;
