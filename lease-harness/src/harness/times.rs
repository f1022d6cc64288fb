//! Times as people say them.

use crate::json::number_text;

/// About how many minutes: `~3m`, at least one.
pub(crate) fn minutes(eta_ms: f64) -> String {
    format!("~{}m", number_text((eta_ms / 60_000.0).round().max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_at_least_a_minute() {
        for (millis, text) in [(0.0, "~1m"), (89_999.0, "~1m"), (90_000.0, "~2m"), (3_600_000.0, "~60m")] {
            assert_eq!(minutes(millis), text);
        }
    }
}
