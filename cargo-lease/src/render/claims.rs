//! Claims as two tables: what is held, and who waits for whom if somebody does.

use std::time::SystemTime;

use lease_harness::claims::{Blocker, ClaimLease, ClaimsView, WaiterView};

use super::table::table;
use super::time::{ago_ms, ahead_ms};

/// The claims for people; nothing if there are none.
pub(crate) fn claims_tables(view: &ClaimsView, now: SystemTime) -> String {
    let mut text = String::new();
    if !view.leases.is_empty() {
        let held: Vec<_> = view.leases.iter().map(|lease| lease_row(lease, now)).collect();
        text.push_str(&table(["CLAIM", "MODE", "HOLDER", "FENCE", "SINCE", "EXPIRES"], &held));
    }
    if !view.waiters.is_empty() {
        let waiters: Vec<_> = view.waiters.iter().map(|waiter| waiter_row(waiter, now)).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&table(["PLACE", "WAITS FOR", "OWNER", "SINCE", "BEHIND"], &waiters));
    }
    text
}

/// What of it is news when it changes: everything but ages and renewals.
pub(crate) fn claims_news(view: &ClaimsView) -> String {
    let leases: Vec<_> = view.leases.iter().map(|lease| &lease.id).collect();
    let behind = |waiter: &WaiterView| waiter.blockers.iter().map(ToString::to_string).collect::<Vec<_>>();
    let waiters: Vec<_> = view.waiters.iter().map(|waiter| (&waiter.waiter.id, waiter.position, behind(waiter))).collect();
    format!("{leases:?} {waiters:?}")
}

fn lease_row(lease: &ClaimLease, now: SystemTime) -> [String; 6] {
    [
        lease.resource_key.clone(),
        lease.mode.to_string(),
        shown(&lease.owner),
        lease.token.to_string(),
        ago_ms(lease.acquired_at, now),
        ahead_ms(lease.expires_at, now),
    ]
}

fn waiter_row(WaiterView { waiter, position, blockers }: &WaiterView, now: SystemTime) -> [String; 5] {
    let claims: Vec<_> = waiter.claims.iter().map(|claim| format!("{}:{}", claim.mode(), claim.given())).collect();
    let mut behind: Vec<_> = blockers.iter().map(in_the_way).collect();
    behind.dedup();
    [position.to_string(), claims.join(" "), shown(&waiter.owner), ago_ms(waiter.since_ms, now), behind.join(", ")]
}

fn in_the_way(blocker: &Blocker) -> String {
    match blocker {
        Blocker::Lease(lease) => format!("{} with {}:{}", shown(&lease.owner), lease.mode, lease.resource_key),
        Blocker::Waiter { waiter, claim } => {
            format!("{}, who waits for {}:{}", shown(&waiter.owner), claim.mode(), claim.given())
        }
    }
}

/// An owner without the id that makes his set one of its own.
fn shown(owner: &str) -> String {
    let is_id = |id: &str| id.len() == 36 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    owner.rsplit_once('/').filter(|(_, id)| is_id(id)).map_or(owner, |(name, _)| name).to_owned()
}
