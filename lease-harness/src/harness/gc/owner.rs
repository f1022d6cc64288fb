//! Whether the owner of a resource is gone.

use crate::pool::{GRANT, grant_is_held};
use crate::store::{LeaseStore, ManagedResource, Vital};

/// What kind of owner a process is, in a descriptor; its id is that of its proof of life.
pub(in crate::harness) const PROCESS: &str = "process";

/// What can be told of an owner.
#[derive(Debug)]
pub(super) enum OwnerState {
    /// There is a proof that he is gone.
    Gone(String),
    Lives(String),
    Unknown(String),
    /// The record is not his.
    Foreign(String),
}

pub(super) fn state(store: &LeaseStore, maker: &str, resource: &ManagedResource) -> OwnerState {
    let (kind, id) = (resource.owner_kind.as_str(), resource.owner_id.as_str());
    // A record speaks for its own maker only.
    if maker != format!("{kind}.{id}") {
        return OwnerState::Foreign(format!("the record of {maker} names another owner, {kind} {id}"));
    }
    match kind {
        PROCESS => match store.vital(Some(id)) {
            Vital::Dead(_) => OwnerState::Gone("its process is gone".to_owned()),
            Vital::Alive { .. } => OwnerState::Lives(format!("process {id}")),
            Vital::Unknown => OwnerState::Unknown("there is no proof of life of that name".to_owned()),
        },
        GRANT => match grant_is_held(store, id) {
            Some(false) => OwnerState::Gone(format!("the grant {id} is not held any more")),
            Some(true) => OwnerState::Lives(format!("the grant {id} is held")),
            None => OwnerState::Unknown(format!("the lease of the grant {id} cannot be read")),
        },
        other => OwnerState::Unknown(format!("nothing proves whether a {other} is gone")),
    }
}
