//! A process or a test under a grant: environment, heartbeat, child, exit.

mod child;
mod error;
mod slot;

pub use child::{Child, Ended, LossWatch, exec, exit_like};
pub use error::{SlotError, SlotErrorKind};
pub use slot::{CommandOverrides, Slot, SlotRequest, Wait, Waiting};
