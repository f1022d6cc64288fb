//! What really happens: this program runs itself, its leased scenarios selected, over a store and a pool of the test's.

mod joined;
mod losses;
mod meeting;
mod program;
mod refusals;
mod resets;
mod scenario;
mod taking;
mod temp_dirs;
