//! The recorded answers of other implementations, replayed.
//!
//! The folder is `LEASE_TEST_VECTORS`, else `tests/vectors`. A case tagged `normal` must agree byte for byte. Any other
//! case is information for a decision: it agrees, or [`decisions`] says what we do instead and why. For our own
//! folder every case is counted, and a decision that nothing needs is an error; in another folder, whose cases nobody
//! has looked at yet, only the binding ones decide.

mod claims;
mod claims_builders;
mod claims_files;
mod claims_resources;
mod claims_scenarios;
mod claims_stage;
mod cli;
mod decisions;
mod failure;
mod files;
mod kept;
mod load;
mod mask;
mod owner_patterns;
mod pool_files;
mod pool_scenarios;
mod report;
mod slot_values;
mod stage;
mod store_scenarios;
mod symbols;
