//! Times as people say them.

use std::time::Duration;

use crate::json::number_text;

/// About how many minutes: `~3m`, at least one.
pub(crate) fn minutes(eta_ms: f64) -> String {
    format!("~{}m", number_text((eta_ms / 60_000.0).round().max(1.0)))
}

/// So many minutes; more than the system can count are as good as for ever.
pub(super) fn of_minutes(minutes: f64) -> Duration {
    Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX)
}

/// A time as it is written on a command line: `500ms`, `1s`, `1h30m`.
pub(super) fn as_written(millis: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(86_400_000.0, "d"), (3_600_000.0, "h"), (60_000.0, "m")];
    if millis < 1000.0 {
        return format!("{}ms", number_text(millis));
    }
    let mut rest = millis;
    let mut text = String::new();
    for (unit, name) in UNITS {
        if rest >= unit {
            text.push_str(&format!("{}{name}", number_text((rest / unit).floor())));
            rest %= unit;
        }
    }
    if rest > 0.0 {
        text.push_str(&format!("{}s", number_text(rest / 1000.0)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_are_typed() {
        let table = [
            (0.0, "0ms"),
            (50.0, "50ms"),
            (1000.0, "1s"),
            (1500.0, "1.5s"),
            (90_000.0, "1m30s"),
            (600_000.0, "10m"),
            (5_400_000.0, "1h30m"),
            (3_600_001.0, "1h0.001s"),
            (180_000_000.0, "2d2h"),
        ];
        for (millis, text) in table {
            assert_eq!(as_written(millis), text);
        }
    }

    #[test]
    fn an_estimate_is_at_least_a_minute() {
        for (millis, text) in [(0.0, "~1m"), (89_999.0, "~1m"), (90_000.0, "~2m"), (3_600_000.0, "~60m")] {
            assert_eq!(minutes(millis), text);
        }
    }
}
