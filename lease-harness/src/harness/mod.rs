//! A process or a test under a grant: environment, heartbeat, child, exit.

pub(crate) mod background;
mod child;
#[cfg(feature = "claims")]
mod claim_set;
#[cfg(feature = "claims")]
mod claims;
pub mod detached;
mod ending;
mod error;
mod gc;
mod grants;
mod held_run;
mod joining;
mod made;
mod nextest_run;
#[cfg(feature = "claims")]
mod outer_claims;
mod pool_files;
mod proxy;
mod request;
mod run_notes;
mod several;
mod slot;
#[cfg(feature = "claims")]
mod status;
mod teller;
mod times;
mod turns;
mod who;

pub use child::{Child, Ended, LossWatch, exec, exit_like, heed_interrupts};
#[cfg(feature = "claims")]
pub use claim_set::ClaimSet;
#[cfg(feature = "claims")]
pub use claims::ClaimRequest;
pub use ending::Ending;
pub use error::{SlotError, SlotErrorKind};
pub use gc::{Collection, Collector, Finding, Verdict};
pub use grants::BetweenTests;
pub use held_run::{HeldRun, guard_run};
pub use made::Made;
pub use nextest_run::NextestRun;
pub use proxy::{Asked, Asker, SlotProxy};
pub use request::{PoolInfo, SlotRequest, Waiting};
pub use run_notes::{AskEnd, LeasedTest, NamedPool, RunFolder, RunNotes, SlotNote};
pub use slot::Slot;
#[cfg(feature = "claims")]
pub use status::status_document;
pub use turns::NEXTEST_GROUPS;
pub use who::{Worktrees, session_text};

pub(crate) use crate::store::{put_off, quiesce, resume};
pub(crate) use crate::sys::exit::{at_exit, exit_now};
#[cfg(feature = "claims")]
pub(crate) use claims::{claims_of, exclude_each_other, tell_claims_place};
#[cfg(feature = "mimic")]
pub(crate) use pool_files::find as find_pool_file;
#[cfg(feature = "claims")]
pub(crate) use pool_files::workspace;
pub(crate) use pool_files::{find_compiled as find_compiled_pool_file, found as found_pool_file};
pub(crate) use several::{acquire_all, refuse_shared_variables};
pub(crate) use times::minutes;

pub use crate::pool::{CommandOverrides, Wait};
pub use crate::sys::process::is_output_closed;
