//! Claims: sets of particular resources, shared or alone.
//!
//! A pool hands out one of N equal slots; a claim names a resource and a mode. This module tells which claims exclude each
//! other, and who an owner is. Nothing here touches a file.

mod builders;
mod conflict;
mod effects;
mod entered;
mod error;
mod index;
mod key;
mod lease;
mod ledger;
mod marked;
mod mode;
mod names;
mod owner;
mod path;
mod place;
mod queue;
mod record;
mod refusal;
mod scope;
mod set;
mod spec;
mod store;
mod tokens;
mod view;
mod wait;
mod writer;

pub use builders::{
    Place, build_cache_read, build_cache_write, git_index, git_index_read, git_refs, git_refs_read, heavy_check, integration,
    path_read, path_write, release, remote_mutation, scoped, workspace_read, workspace_write,
};
pub use conflict::conflicts;
pub use effects::SideEffects;
pub use error::{ClaimsError, ClaimsResult};
pub use key::ResourceKey;
pub use lease::{ClaimLease, Reference, Visibility};
pub use ledger::Traces;
pub use mode::{Mode, UnknownMode};
pub use owner::{OwnerIdentity, OwnerNames, OwnerProcess};
pub use path::{ClaimPath, normal_path, paths_overlap};
pub use refusal::Refusal;
pub use scope::{Blocker, DEFAULT_TTL_MS, SHORTEST_TTL_MS, Scope, SetOutcome, SetWanted, Source, Waiter};
pub use set::{WHOLE_REPOSITORY, normalized};
pub use spec::{Claim, ClaimError};
pub use store::ClaimStore;
pub use view::{ClaimsView, WaiterView};
pub use wait::Standing;
pub use writer::Writer;

pub(crate) use marked::{GRANTS, SET, end_processes_of, mark_of};
pub(crate) use wait::Patience;
