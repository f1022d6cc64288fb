//! `cargo lease`.

fn main() {}
