//! What people see of a scope.

use super::error::ClaimsResult;
use super::lease::ClaimLease;
use super::scope::{Blocker, Scope, Waiter};
use super::store::ClaimStore;
use super::wait::position_behind;
use crate::json::{Json, Object};

/// Who holds what in a scope, and who waits for whom.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimsView {
    /// The scope.
    pub scope: String,
    /// What is held, in the order in which it was granted.
    pub leases: Vec<ClaimLease>,
    /// Who waits, in the order in which they came.
    pub waiters: Vec<WaiterView>,
}

/// Somebody who waits.
#[derive(Clone, Debug, PartialEq)]
pub struct WaiterView {
    /// Who, and for what.
    pub waiter: Waiter,
    /// His place among those whose sets exclude each other; 1 is next.
    pub position: usize,
    /// What is in his way.
    pub blockers: Vec<Blocker>,
}

impl ClaimStore {
    /// Who holds what, and who waits for whom. Takes no lock and writes nothing.
    ///
    /// # Errors
    /// A file that cannot be read, or is damaged: what it holds is not known.
    pub fn view(&self) -> ClaimsResult<ClaimsView> {
        let (leases, queue) = (self.list()?, self.waiters()?);
        let scope = Scope::new(self.scope(), leases);
        let now_ms = self.store().now_ms();
        let see = |(waiter_idx, waiter): (usize, &Waiter)| {
            let before = &queue[..waiter_idx];
            WaiterView {
                waiter: waiter.clone(),
                position: position_behind(before, waiter),
                blockers: scope.in_the_way_of(&waiter.owner, &waiter.claims, before, now_ms),
            }
        };
        let waiters = queue.iter().enumerate().map(see).collect();
        Ok(ClaimsView { scope: self.scope().to_owned(), leases: scope.leases().to_vec(), waiters })
    }
}

impl ClaimsView {
    /// As a document: `scope`, `leases`, and `waiters`, each of those with `position` and `blockers`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut view = Object::new();
        view.insert("scope", Json::from(&self.scope));
        view.insert("leases", Json::Array(self.leases.iter().map(ClaimLease::to_json).collect()));
        view.insert("waiters", Json::Array(self.waiters.iter().map(WaiterView::to_json).collect()));
        Json::Object(view)
    }
}

impl WaiterView {
    fn to_json(&self) -> Json {
        let document = self.waiter.to_json();
        let Json::Object(waiter) = &document else { unreachable!("a waiter's document is an object") };
        let mut waiter = waiter.clone();
        let position = u32::try_from(self.position).unwrap_or(u32::MAX);
        waiter.insert("position", Json::from(f64::from(position)));
        waiter.insert("blockers", Json::Array(self.blockers.iter().map(Blocker::to_json).collect()));
        Json::Object(waiter)
    }
}
