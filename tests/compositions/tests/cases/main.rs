//! Cases of an `#[rstest]` of which only some are leased: this program runs itself, over a pool and a store of the test's.

#[path = "../behaviour/program.rs"]
#[expect(dead_code, reason = "the other program uses all of it")]
mod program;

mod asked;
mod refusals;
mod scenario;
