//! What people see.

mod claims;
mod gc;
mod status;
mod table;
mod time;
mod wait;
mod waits;

pub(crate) use claims::{claims_news, claims_tables};
pub(crate) use gc::collection_table;
pub(crate) use status::{status_news, status_table};
pub(crate) use time::about_minutes;
pub(crate) use wait::{WaitReport, tell_claims_place, tell_place};
pub(crate) use waits::{HeldBack, PoolNeed, Waited, Waits};
