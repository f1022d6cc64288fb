//! Durations as people write them: `90s`, `10m`, `1h30m`, `1.5h`, `500ms`, and `0`.
//!
//! One file for the attribute and the command line, which is a link to it: the attribute's crate can hand nothing out.

use std::time::Duration;

const FORM: &str = "expected a duration such as 90s, 10m or 1h30m, or 0 for not at all";

/// Reads a duration: numbers, each with one of the units `ms`, `s`, `m`, `h` and `d`, which are added up; or `0`.
///
/// # Errors
///
/// Says what is wrong with the text, as the end of a sentence that has named it.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(FORM.to_owned());
    }
    if rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return without_unit(rest);
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(FORM)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let number: f64 = number.parse().map_err(|_| FORM.to_owned())?;
        let part = Duration::try_from_secs_f64(number * seconds_of(unit).ok_or_else(|| unknown_unit(unit))?);
        let sum = part.ok().and_then(|part| total.checked_add(part));
        total = sum.filter(|sum| u64::try_from(sum.as_millis()).is_ok()).ok_or_else(|| "longer than any wait".to_owned())?;
        rest = after.trim_start();
    }
    Ok(total)
}

fn without_unit(number: &str) -> Result<Duration, String> {
    match number.parse::<f64>() {
        Ok(0.0) => Ok(Duration::ZERO),
        Ok(_) => Err(format!("a number needs its unit; did you mean {number}s or {number}m?")),
        Err(_) => Err(FORM.to_owned()),
    }
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

/// What is read and what is not, for the tests of all that take a duration: the text, and microseconds or a part of the
/// error.
#[cfg(test)]
pub(crate) const CASES: [(&str, Result<u64, &str>); 34] = [
    ("500ms", Ok(500_000)),
    ("90s", Ok(90_000_000)),
    ("10m", Ok(600_000_000)),
    ("1h30m", Ok(5_400_000_000)),
    ("1h 30m 5s 250ms", Ok(5_405_250_000)),
    ("30m1h", Ok(5_400_000_000)),
    ("1m1m", Ok(120_000_000)),
    ("1.5h", Ok(5_400_000_000)),
    ("0.5ms", Ok(500)),
    (".5s", Ok(500_000)),
    ("1d2h", Ok(93_600_000_000)),
    ("1d2h3m4s5ms", Ok(93_784_005_000)),
    (" 2m ", Ok(120_000_000)),
    ("0s", Ok(0)),
    ("0h0m", Ok(0)),
    ("0", Ok(0)),
    (" 0 ", Ok(0)),
    ("0.0", Ok(0)),
    ("10", Err("did you mean 10s or 10m?")),
    ("1.5", Err("did you mean 1.5s")),
    (".", Err("expected a duration")),
    ("", Err("expected a duration")),
    ("m", Err("expected a duration")),
    ("-5m", Err("expected a duration")),
    ("-0", Err("expected a duration")),
    ("5w", Err("unknown unit 'w'")),
    ("5min", Err("unknown unit 'min'")),
    ("1h30", Err("expected a duration")),
    ("1..5s", Err("expected a duration")),
    ("1h,5m", Err("expected a duration")),
    ("5 m", Err("expected a unit")),
    ("999999999999999999999h", Err("longer than any wait")),
    ("99999999999999999999s", Err("longer than any wait")),
    ("1000000000000d", Err("longer than any wait")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_or_refused_with_a_reason() {
        for (text, expected) in CASES {
            match (parse_duration(text), expected) {
                (read, Ok(micros)) => assert_eq!(read, Ok(Duration::from_micros(micros)), "{text:?}"),
                (read, Err(part)) => {
                    let error = read.expect_err(text);
                    assert!(error.contains(part), "{text:?}: {error}");
                }
            }
        }
    }
}
