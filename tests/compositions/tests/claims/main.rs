//! Tests that hold claims: this program runs itself, over a store of the test's.

#[path = "../behaviour/program.rs"]
#[expect(dead_code, reason = "the other program uses all of it")]
mod program;

mod ending;
mod outer;
mod scenario;
mod taking;

use lease_compositions as _;
