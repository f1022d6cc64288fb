//! Times as the format writes them: `2026-10-04T12:10:00.000Z`, as JavaScript's `toISOString` and `Date.parse` have it.
//!
//! A date library would not do: absurd lifetimes in foreign records reach past the year 9999, where JavaScript goes on
//! to the year 275760 and then says "no date".

const DAY_MS: i64 = 86_400_000;
/// ECMAScript 21.4.1.1: times beyond this many milliseconds from 1970 are no dates.
const LIMIT_MS: f64 = 8.64e15;

/// The text of a time; `None` beyond JavaScript's range.
pub(crate) fn iso(ms: f64) -> Option<String> {
    if ms.is_nan() || LIMIT_MS < ms.abs() {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "within the limit, and JavaScript truncates as well")]
    let ms = ms.trunc() as i64;
    let (days, of_day) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let (year, month, day) = civil_from_days(days);
    let (hours, minutes, seconds) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    let mut text = *b"0000-00-00T00:00:00.000Z";
    for (end, number) in [(4, year), (7, month), (10, day), (13, hours), (16, minutes), (19, seconds), (23, of_day % 1000)] {
        write_before(end, number, &mut text);
    }
    let text = String::from_utf8_lossy(&text);
    if (0..=9999).contains(&year) {
        return Some(text.into_owned());
    }
    Some(format!("{}{:06}{}", sign(year), year.abs(), &text[4..]))
}

/// Writes a number over the zeros before a place, as far as there are some.
fn write_before(end: usize, number: i64, text: &mut [u8]) {
    let (mut place, mut rest) = (end, number.unsigned_abs());
    while 0 < place && text[place - 1] == b'0' {
        place -= 1;
        text[place] += (rest % 10) as u8;
        rest /= 10;
    }
}

fn sign(year: i64) -> char {
    if year < 0 { '-' } else { '+' }
}

/// The time a text names in milliseconds since 1970, by ECMAScript's date time string format (21.4.1.32); `None` when
/// it is no such text. A date without a zone is taken as UTC.
pub fn parse(text: &str) -> Option<f64> {
    let mut rest = Scanner { rest: text.as_bytes() };
    let year = rest.year()?;
    let month = if rest.take(b'-') { rest.digits(2)? } else { 1 };
    let day = if rest.last_was_month(text) && rest.take(b'-') { rest.digits(2)? } else { 1 };
    if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let of_day = if rest.take(b'T') { rest.time()? } else { 0.0 };
    if !rest.rest.is_empty() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "days within six-digit years are exact")]
    let ms = (days_from_civil(year, month, day) * DAY_MS) as f64 + of_day;
    (ms.abs() <= LIMIT_MS).then_some(ms)
}

struct Scanner<'a> {
    rest: &'a [u8],
}

impl Scanner<'_> {
    fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let digits = self.rest.get(..count).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        self.rest = &self.rest[count..];
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    fn year(&mut self) -> Option<i64> {
        if self.take(b'+') {
            return self.digits(6);
        }
        if self.take(b'-') {
            // The year minus zero is explicitly no year.
            return self.digits(6).filter(|year| *year != 0).map(|year| -year);
        }
        self.digits(4)
    }

    /// A day may only follow a month: something has been read since the year.
    fn last_was_month(&self, text: &str) -> bool {
        let year = if text.starts_with(['+', '-']) { 7 } else { 4 };
        text.len() - self.rest.len() > year
    }

    /// Hours and minutes, then perhaps seconds, a fraction and a zone, as milliseconds.
    fn time(&mut self) -> Option<f64> {
        let hours = self.digits(2)?;
        let minutes = self.take(b':').then(|| self.digits(2))??;
        let seconds = if self.take(b':') { self.digits(2)? } else { 0 };
        let fraction = if self.take(b'.') { self.fraction()? } else { 0.0 };
        let midnight = hours == 24 && minutes == 0 && seconds == 0 && fraction == 0.0;
        if minutes > 59 || seconds > 59 || (hours > 23 && !midnight) {
            return None;
        }
        let offset = self.offset()?;
        #[expect(clippy::cast_precision_loss, reason = "a day has few milliseconds")]
        let whole = (((hours * 60 + minutes - offset) * 60 + seconds) * 1000) as f64;
        Some(whole + fraction)
    }

    /// JavaScript keeps whole milliseconds and drops further digits.
    fn fraction(&mut self) -> Option<f64> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        let digits: String = digits.iter().map(|byte| char::from(*byte)).chain("000".chars()).take(3).collect();
        (count > 0).then(|| digits.parse().ok())?
    }

    /// Minutes east of UTC.
    fn offset(&mut self) -> Option<i64> {
        if self.rest.is_empty() || self.take(b'Z') {
            return Some(0);
        }
        let east = self.take(b'+');
        if !east && !self.take(b'-') {
            return None;
        }
        let hours = self.digits(2)?;
        let minutes = self.take(b':').then(|| self.digits(2))??;
        let all = hours * 60 + minutes;
        (hours <= 23 && minutes <= 59).then_some(if east { all } else { -all })
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 of a date in the proleptic Gregorian calendar, counted in eras of 400 years that begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{iso, parse};

    #[test]
    fn texts_and_times_agree() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.000Z", 0.0),
            ("2025-10-09T08:53:20.000Z", 1_760_000_000_000.0),
            ("0000-01-01T00:00:00.001Z", -62_167_219_199_999.0),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999.0),
            ("+010000-01-01T00:00:00.000Z", 253_402_300_800_000.0),
            ("-000001-12-31T23:59:59.999Z", -62_167_219_200_001.0),
            ("2000-02-29T23:59:59.999Z", 951_868_799_999.0),
            ("1969-12-31T23:59:59.999Z", -1.0),
            ("+275760-09-13T00:00:00.000Z", 8.64e15),
            ("-271821-04-20T00:00:00.000Z", -8.64e15),
        ] {
            assert_eq!(iso(ms).as_deref(), Some(text));
            assert_eq!(parse(text), Some(ms), "{text}");
        }
        assert_eq!(iso(8.64e15 + 1.0), None);
        assert_eq!(iso(f64::NAN), None);
        assert_eq!(iso(-0.5).as_deref(), Some("1970-01-01T00:00:00.000Z"));
    }

    #[test]
    fn other_forms_of_the_standard_are_read() {
        for (text, ms) in [
            ("1970", 0.0),
            ("1970-02", 2_678_400_000.0),
            ("1970-01-02", 86_400_000.0),
            ("1970-01-01T00:01", 60_000.0),
            ("1970-01-01T00:00:00.123456Z", 123.0),
            ("1970-01-01T00:00:00.5Z", 500.0),
            ("1970-01-01T02:00:00.000+02:00", 0.0),
            ("1969-12-31T18:30:00-05:30", 0.0),
            ("1970-01-01T24:00:00Z", 86_400_000.0),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "x",
            "19",
            "1970-13-01",
            "1970-00-01",
            "1970-01-00",
            "1970-01-32",
            "1970-1-1",
            "1970-02-30",
            "1970-01-01T",
            "1970-01-01T25:00Z",
            "1970-01-01T10Z",
            "1970-01-01T00:60Z",
            "1970-01-01T00:00:60Z",
            "1970-01-01T24:00:01Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00.000+02",
            "1970-01-01t00:00:00z",
            "1970-01-01 00:00",
            "-000000-01-01",
            "1970-01-01T00:00:00.000Z\n",
            "+275760-09-13T00:00:00.001Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
