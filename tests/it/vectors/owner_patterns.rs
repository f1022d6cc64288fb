//! `owner-patterns.json`: which patterns are fences, and whom they let in.

use lease_harness::json::Json;
use lease_harness::store::{OwnerFence, StoreErrorKind};

use super::load::{Case, list, load, text};
use super::report;

#[test]
fn owner_patterns_agree() {
    report::check(&load("owner-patterns"), 70, 52, replay);
}

fn replay(case: &Case) -> Result<(), String> {
    let accepted = case.body.get("accepted").and_then(Json::as_bool).expect("a case says whether it is accepted");
    match (OwnerFence::new(text(&case.body, "pattern")), accepted) {
        (Ok(fence), true) => compare(&fence, &case.body),
        (Ok(_), false) => Err("accepted, but was refused".to_owned()),
        (Err(error), true) => Err(format!("refused, but was accepted: {error}")),
        (Err(error), false) => compare_refusal(case, error.kind(), &error.to_string()),
    }
}

fn compare(fence: &OwnerFence, body: &Json) -> Result<(), String> {
    let is_default = body.get("is_default").and_then(Json::as_bool).expect("an accepted case says whether it is the default");
    if fence.is_default() != is_default {
        return Err(format!("recorded is_default {is_default}"));
    }
    if fence.shown() != text(body, "shown") {
        return Err(format!("recorded shown as {}, but is {}", text(body, "shown"), fence.shown()));
    }
    for case in list(body, "owners") {
        let recorded = case.get("match").and_then(Json::as_bool).expect("an owner matches or not");
        let owner = text(case, "owner");
        match fence.contains(owner) {
            Ok(inside) if inside == recorded => {}
            other => return Err(format!("owner {owner:?}: recorded {recorded}, but is {other:?}")),
        }
    }
    Ok(())
}

/// Behind the last colon stands what the engine says; every engine has its own words.
fn compare_refusal(case: &Case, kind: StoreErrorKind, message: &str) -> Result<(), String> {
    let recorded = text(case.body.get("error").expect("a refused case has an error"), "message");
    let own_words = |message: &str| {
        message.rfind(": ").filter(|_| message.contains("Invalid regular expression")).map_or(message.len(), |at| at)
    };
    if kind == StoreErrorKind::Usage && recorded[..own_words(recorded)] == message[..own_words(message)] {
        return Ok(());
    }
    Err(format!("recorded {recorded:?}\n    but is {message:?}"))
}
