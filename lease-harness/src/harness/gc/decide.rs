//! Whether a resource may go: a rule of values.

use super::owner::OwnerState;
use crate::store::{ManagedResource, ResourceState, iso};

/// Why it may go; else why it stays.
pub(super) fn decide(resource: &ManagedResource, owner: &OwnerState, now_ms: i64) -> Result<String, String> {
    let reason = match owner {
        OwnerState::Foreign(why) => return Err(why.clone()),
        OwnerState::Lives(who) => return Err(format!("its owner lives: {who}")),
        OwnerState::Gone(how) => how.clone(),
        OwnerState::Unknown(_) if is_left(resource.state) => format!("its owner has left it: {}", resource.state.as_str()),
        OwnerState::Unknown(why) => return Err(format!("it cannot be told whether its owner is gone: {why}")),
    };
    match (resource.cleanup_after_ms, resource.state) {
        (Some(after), _) if now_ms < after => Err(format!("its time has not come: {}", iso(after).unwrap_or_default())),
        (None, ResourceState::Retained) => {
            Err(format!("it is retained: {}", resource.reason.as_deref().unwrap_or("no reason is given")))
        }
        _ => Ok(reason),
    }
}

/// Whether the owner has said himself that he is done with it, or a collector has found that he is.
fn is_left(state: ResourceState) -> bool {
    !matches!(state, ResourceState::Active | ResourceState::Retained)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn resource(state: &str, after: Option<&str>) -> ManagedResource {
        let after = after.map_or(String::new(), |after| format!(r#","cleanupAfter":"{after}""#));
        let text = format!(
            r#"{{"resourceId":"r","type":"worktree","owner":{{"kind":"process","id":"p"}},
                "createdAt":"2026-01-01T00:00:00.000Z","state":"{state}"{after}}}"#
        );
        ManagedResource::from_json(&Json::parse(&text).unwrap()).unwrap()
    }

    const NOW: i64 = 1_800_000_000_000;

    #[test]
    fn only_what_is_provably_left_goes() {
        let (gone, lives, unknown) = (
            OwnerState::Gone("dead".to_owned()),
            OwnerState::Lives("pid 1".to_owned()),
            OwnerState::Unknown("no proof".to_owned()),
        );
        for state in ["active", "completed", "abandoned", "cleanup_eligible", "removing", "cleanup_failed"] {
            assert!(decide(&resource(state, None), &gone, NOW).is_ok(), "{state}");
            assert!(decide(&resource(state, None), &lives, NOW).is_err(), "{state}");
        }
        let foreign = OwnerState::Foreign("another".to_owned());
        for (state, goes) in [("active", false), ("retained", false), ("removing", true), ("abandoned", true)] {
            assert_eq!(decide(&resource(state, None), &unknown, NOW).is_ok(), goes, "{state}");
            assert!(decide(&resource(state, None), &foreign, NOW).is_err(), "{state}");
        }
        assert!(decide(&resource("retained", None), &gone, NOW).unwrap_err().contains("no reason is given"));
        for (after, goes) in [("2999-01-01T00:00:00.000Z", false), ("2026-01-02T00:00:00.000Z", true)] {
            for state in ["retained", "active", "completed"] {
                assert_eq!(decide(&resource(state, Some(after)), &gone, NOW).is_ok(), goes, "{state} {after}");
            }
        }
    }
}
