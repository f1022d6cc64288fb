//! `claims-managed-resource.json`: which documents are descriptors, and what is understood of one.

use lease_harness::json::Json;
use lease_harness::store::{completed_resource, is_known_resource};

use super::load::{load, text};
use super::report;

#[test]
fn descriptors_agree() {
    report::check(&load("claims-managed-resource"), 28, 28, |case| {
        let input = &case.body.get("input").cloned().unwrap_or_default();
        let ours = match text(&case.body, "fn") {
            "isKnownManagedResource" => Json::Bool(is_known_resource(input)),
            "managedResource" => completed_resource(input),
            other => return Err(format!("no such function: {other}")),
        };
        let recorded = case.body.get("expected").expect("what is expected");
        if super::claims_scenarios::alike(recorded, &ours) {
            return Ok(());
        }
        Err(format!("recorded {}\n    but is {}", recorded.to_text(), ours.to_text()))
    });
}
