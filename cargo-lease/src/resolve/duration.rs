//! Durations as people write them: `90s`, `10m`, `1h30m`, `1.5h`, `500ms`.

use std::time::Duration;

/// Reads a duration.
///
/// # Errors
///
/// Says what is wrong with the text, as the end of a sentence that has named it.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    const FORM: &str = "expected a duration such as 90s, 10m or 1h30m";
    if !text.trim().is_empty() && text.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(format!("a number needs its unit; did you mean {0}s or {0}m?", text.trim()));
    }
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(FORM.to_owned());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(FORM)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let number: f64 = number.parse().map_err(|_| FORM.to_owned())?;
        let part = Duration::try_from_secs_f64(number * seconds_of(unit).ok_or_else(|| unknown_unit(unit))?);
        let sum = part.ok().and_then(|part| total.checked_add(part));
        total = sum.ok_or_else(|| "longer than any wait".to_owned())?;
        rest = after.trim_start();
    }
    Ok(total)
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

fn unknown_unit(unit: &str) -> String {
    if unit.is_empty() {
        "expected a unit after the number: ms, s, m, h or d".to_owned()
    } else {
        format!("unknown unit '{unit}', expected ms, s, m, h or d")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_are_read() {
        let table = [
            ("500ms", 500),
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1h 30m 5s 250ms", 5_405_250),
            ("1.5h", 5_400_000),
            ("1d2h", 93_600_000),
            ("0s", 0),
            (" 2m ", 120_000),
        ];
        for (text, millis) in table {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text:?}");
        }
    }

    #[test]
    fn durations_that_are_refused_say_why() {
        let table = [
            ("10", "did you mean 10s or 10m?"),
            ("1.5", "did you mean 1.5s"),
            ("", "expected a duration"),
            ("m", "expected a duration"),
            ("-5m", "expected a duration"),
            ("5w", "unknown unit 'w'"),
            ("5min", "unknown unit 'min'"),
            ("1h30", "expected a duration"),
            ("1..5s", "expected a duration"),
            ("1h,5m", "expected a duration"),
            ("5 m", "expected a unit"),
            ("999999999999999999999h", "longer than any wait"),
        ];
        for (text, part) in table {
            let error = parse_duration(text).expect_err(text);
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
