//! A process or a test under a grant: environment, heartbeat, child, exit.

pub(crate) mod background;
mod child;
mod claims;
pub mod detached;
mod ending;
mod error;
mod grants;
mod held_run;
mod joining;
mod nextest_run;
mod request;
mod run_notes;
mod several;
mod slot;
mod teller;
mod times;
mod turns;
mod who;

pub use child::{Child, Ended, LossWatch, exec, exit_like};
pub use claims::{ClaimRequest, ClaimSet};
pub use ending::Ending;
pub use error::{SlotError, SlotErrorKind};
pub use grants::BetweenTests;
pub use held_run::{HeldRun, guard_run};
pub use nextest_run::NextestRun;
pub use request::{PoolInfo, SlotRequest, Waiting};
pub use run_notes::{AskEnd, LeasedTest, NamedPool, RunFolder, RunNotes, SlotNote};
pub use slot::Slot;
pub use turns::NEXTEST_GROUPS;
pub use who::session_text;

pub(crate) use crate::store::{quiesce, resume};
pub(crate) use crate::sys::exit::{at_exit, exit_now};
pub(crate) use several::{acquire_all, refuse_shared_variables};
pub(crate) use times::minutes;

pub use crate::pool::{CommandOverrides, Wait};
pub use crate::sys::process::is_output_closed;
