//! A process or a test under a grant: environment, heartbeat, child, exit.

mod child;
mod error;
mod grants;
mod request;
mod slot;
mod who;

pub use child::{Child, Ended, LossWatch, exec, exit_like};
pub use error::{SlotError, SlotErrorKind};
pub use request::{PoolInfo, SlotRequest, Waiting};
pub use slot::Slot;

pub(crate) use crate::sys::exit::{at_exit, exit_now};

pub use crate::pool::{CommandOverrides, Wait};

/// About how many minutes, for people: `~3m`, at least one.
#[must_use]
pub fn minutes(eta_ms: f64) -> String {
    format!("~{}m", crate::json::number_text((eta_ms / 60_000.0).round().max(1.0)))
}
