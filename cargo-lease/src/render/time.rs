//! Times as people say them.

use std::time::SystemTime;

/// How long ago a UTC ISO-8601 time was, such as `2m ago`; text that is no such time is shown as it is.
pub(super) fn ago(text: &str, now: SystemTime) -> String {
    match millis(text) {
        Some(at) => format!("{} ago", span((millis_of(now) - at).max(0))),
        None => text.to_owned(),
    }
}

/// How far ahead a UTC ISO-8601 time is, such as `in 28m`; text that is no such time is shown as it is.
pub(super) fn ahead(text: &str, now: SystemTime) -> String {
    match millis(text) {
        Some(at) if at <= millis_of(now) => "now".to_owned(),
        Some(at) => format!("in {}", span(at - millis_of(now))),
        None => text.to_owned(),
    }
}

/// A span of time in one or two units, rounded down.
pub(super) fn span(millis: i64) -> String {
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

/// Milliseconds since 1970 of `YYYY-MM-DDThh:mm:ss.mmmZ`, the form in which the store has times.
fn millis(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "000"));
    let [hour, minute, second] = numbers(time, ':')?;
    let millis: i64 = (fraction.len() == 3).then(|| fraction.parse().ok())??;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    Some((((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millis)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let parts: Option<Vec<i64>> = text.split(separator).map(|part| part.parse().ok()).collect();
    parts?.try_into().ok()
}

/// Days from 1970-01-01, in the Gregorian calendar; years count from March, so that a leap day comes last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(secs: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(secs)
    }

    #[test]
    fn times_of_the_store_are_read() {
        let table = [
            ("1970-01-01T00:00:00.000Z", Some(0)),
            ("2026-10-04T12:10:00.005Z", Some(1_791_115_800_005)),
            ("2024-02-29T23:59:59.999Z", Some(1_709_251_199_999)),
            ("1969-12-31T23:59:59.000Z", Some(-1000)),
            ("2026-10-04T12:10:00Z", Some(1_791_115_800_000)),
            ("2026-13-04T12:10:00.000Z", None),
            ("2026-10-04 12:10", None),
            ("soon", None),
        ];
        for (text, expected) in table {
            assert_eq!(millis(text), expected, "{text}");
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
