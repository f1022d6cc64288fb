//! Tests that take a slot of each of several pools: this program runs itself, over pools and a store of the test's.

#[path = "../behaviour/program.rs"]
#[expect(dead_code, reason = "the other program uses all of it")]
mod program;

mod ending;
mod order;
mod outer;
mod refusals;
mod scenario;
mod scene;

use lease_compositions as _;
