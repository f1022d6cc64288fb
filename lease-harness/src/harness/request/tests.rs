use std::fs;

use super::*;
use crate::store::Env;

/// Lifetime in minutes, heartbeat in milliseconds, and the values that a refusal names.
type Case = (Option<f64>, Option<u64>, Option<[&'static str; 2]>);

#[test]
fn a_heartbeat_that_would_lose_the_lease_is_refused_with_both_values() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("pool.json");
    fs::write(&file, r#"{"slots": [{"id": 1}], "ttlMinutes": 2}"#).expect("file");
    let store = dir.path().join("store");
    let request = |ttl: Option<f64>, pause: Option<u64>| {
        let mut request = SlotRequest::from_file(&file).store(&store).owner("tester").owner_pattern("").wait(Wait::No);
        request.pool.env = Env::Fixed(std::collections::BTreeMap::new());
        request.pool.ttl_minutes = ttl;
        request.heartbeat = pause.map(Duration::from_millis);
        request
    };
    let table: [Case; 8] = [
        (Some(1.0), None, None),
        (Some(1.0), Some(59_999), None),
        (None, Some(119_999), None),
        (Some(527_040.0), Some(60_000), None),
        (Some(1.0), Some(60_000), Some(["60 seconds", "1 minutes"])),
        (Some(0.05), Some(3_500), Some(["3.5 seconds", "0.05 minutes"])),
        (None, Some(120_000), Some(["120 seconds", "2 minutes"])),
        (Some(1.0), Some(u64::MAX), Some(["seconds", "1 minutes"])),
    ];
    for (ttl, pause, refusal) in table {
        let checked = request(ttl, pause).check().map(drop);
        let acquired = request(ttl, pause).acquire().and_then(Slot::release);
        for result in [checked, acquired] {
            match (result, refusal) {
                (Ok(()), None) => {}
                (Err(error), Some(parts)) => {
                    assert_eq!(error.kind(), SlotErrorKind::Usage, "{error}");
                    assert!(parts.iter().all(|part| error.to_string().contains(part)), "{parts:?}: {error}");
                }
                (result, _) => panic!("{ttl:?} {pause:?}: {result:?}"),
            }
        }
    }
}
