//! What the attribute calls, and the trials of `mimic` with it. Nothing here is public: names and meanings change with the
//! attribute.
//!
//! A test is annotated in one of two forms, and each place registers itself before `main` (`site`): nextest's listing can be
//! told of it (`listing`). In the *process form*, `fn t()`, the slot belongs to the process: one constructor tells from the
//! command line whether any of these tests will run here (`selection`) and if so takes the slot and sets its environment
//! (`process_slot`); where names alone do not tell, the program lists its tests (`own_tests`), and so it does to find cases of
//! an `#[rstest]` that were left out (`cases`). In the *test form*, `fn t(slot: Slot)`, the test takes its slot when it starts
//! (`test_slot`). Both ask by `request`, which finds the pool file (`paths`), share a slot in turns (`turn`) and end the
//! process when a lease is lost (`end`). Claims are those of a test in both forms (`claims_site`); tests over claims that their process
//! is under take turns (`claims_turn`).

mod calls;

mod site;

mod process_slot;
mod test_slot;

#[cfg(feature = "claims")]
mod claims_site;
#[cfg(feature = "claims")]
mod claims_turn;

mod args;
mod cases;
mod listing;
mod own_tests;
mod selection;

mod lease;
mod request;
mod turn;

mod end;

pub use calls::{
    process_slot, process_slot_async, process_slot_or_report, process_slot_or_report_async, test_slot, test_slot_async,
    test_slot_or_report, test_slot_or_report_async, test_slots, test_slots_async, test_slots_or_report,
    test_slots_or_report_async,
};
#[cfg(feature = "claims")]
pub use claims_site::{ClaimsLease, ClaimsSite, claims, claims_async, claims_or_report, claims_or_report_async};
pub use lease::Lease;
pub use lease_harness_macros::has_a_runtime;
pub use site::Site;

#[cfg(feature = "mimic")]
pub(crate) use {
    end::{lost, say},
    listing::{is_asked as is_listing_told, tell as tell_listing},
    request::{explain, tell_place},
    test_slot::enter_with,
};
