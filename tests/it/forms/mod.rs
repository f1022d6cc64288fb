//! Every form of asking for a slot, under everything that runs tests. What has to come out stands in `docs/which-form.md`.

mod cells;
mod editors;
mod from_nothing;
#[cfg(feature = "gdb")]
mod gdb;
mod project;
mod rows;
mod stopped;
mod table;
mod turns;
