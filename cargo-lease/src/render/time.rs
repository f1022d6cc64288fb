//! Times as people say them.

use std::time::SystemTime;

use lease_harness::store::parse_time;

/// How long ago a UTC ISO-8601 time was, such as `2m ago`; text that is no such time is shown as it is.
pub(super) fn ago(text: &str, now: SystemTime) -> String {
    match millis(text) {
        Some(at) => ago_ms(at, now),
        None => text.to_owned(),
    }
}

/// The same of a time in milliseconds since 1970.
pub(super) fn ago_ms(at: i64, now: SystemTime) -> String {
    format!("{} ago", span((millis_of(now) - at).max(0)))
}

/// How far ahead a UTC ISO-8601 time is, such as `in 28m`; text that is no such time is shown as it is.
pub(super) fn ahead(text: &str, now: SystemTime) -> String {
    match millis(text) {
        Some(at) => ahead_ms(at, now),
        None => text.to_owned(),
    }
}

/// The same of a time in milliseconds since 1970.
pub(super) fn ahead_ms(at: i64, now: SystemTime) -> String {
    let now = millis_of(now);
    if at <= now { "now".to_owned() } else { format!("in {}", span(at - now)) }
}

/// About how many minutes, at least one: `~3m`.
pub(crate) fn about_minutes(millis: f64) -> String {
    format!("~{}m", (millis / 60_000.0).round().max(1.0))
}

/// How long something lasts, which may be less than a second.
pub(super) fn lasting(millis: i64) -> String {
    if millis < 1000 { format!("{millis}ms") } else { span(millis) }
}

/// A span of time in one or two units, rounded down.
fn span(millis: i64) -> String {
    let secs = millis / 1000;
    match secs {
        ..60 => format!("{secs}s"),
        60..3600 => format!("{}m", secs / 60),
        3600..86_400 => two(secs / 3600, "h", secs % 3600 / 60, "m"),
        _ => two(secs / 86_400, "d", secs % 86_400 / 3600, "h"),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit} {small}{small_unit}"),
    }
}

fn millis_of(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "dates are whole milliseconds far below 2^53")]
fn millis(text: &str) -> Option<i64> {
    parse_time(text).map(|ms| ms as i64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(secs: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(secs)
    }

    #[test]
    fn what_is_short_lasts_milliseconds() {
        for (millis, text) in [(0, "0ms"), (999, "999ms"), (1000, "1s"), (90_000, "1m"), (5_400_000, "1h 30m")] {
            assert_eq!(lasting(millis), text);
        }
    }

    #[test]
    fn estimates_are_whole_minutes_and_at_least_one() {
        for (millis, text) in [(0.0, "~1m"), (89_999.0, "~1m"), (90_000.0, "~2m"), (3_600_000.0, "~60m")] {
            assert_eq!(about_minutes(millis), text);
        }
    }

    #[test]
    fn ages_and_deadlines() {
        let now = at(1_791_115_800);
        assert_eq!(ago("2026-10-04T12:08:00.000Z", now), "2m ago");
        assert_eq!(ago("2026-10-04T12:10:05.000Z", now), "0s ago");
        assert_eq!(ago("nonsense", now), "nonsense");
        assert_eq!(ahead("2026-10-04T12:38:00.000Z", now), "in 28m");
        assert_eq!(ahead("2026-10-04T12:10:00.000Z", now), "now");
        assert_eq!(ahead("2026-10-05T13:10:00.000Z", now), "in 1d 1h");
        assert_eq!(ahead("2026-10-04T14:10:00.000Z", now), "in 2h");
    }
}
