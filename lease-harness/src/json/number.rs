//! Numbers as JavaScript prints them, and as it reads them from what was typed.

/// Up to here every whole number is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The text of a number, as `Number.prototype.toString` gives it: the shortest digits that read back as the same
/// number, without a fraction if it is whole, with an exponent from 1e21 up and below 1e-6.
pub fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-Infinity" } else { "Infinity" }.to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    // Most are small and whole, and need no search for the shortest digits.
    if 0.0 < number && number < EXACT && (number as u64) as f64 == number {
        return (number as u64).to_string();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let (digits, exponent) = shortest(number.abs());
    format!("{sign}{}", lay_out(&digits, exponent))
}

/// The number that a text is, as JavaScript's `Number(text)` reads it: blanks around it, `.5`, `+5`, `1e3` and `0x10` are
/// fine, and an empty text is 0. `None` where JavaScript has `NaN`.
pub fn number_from_text(text: &str) -> Option<f64> {
    // JavaScript's blanks: Unicode's without U+0085, and the byte order mark.
    let text = text.trim_matches(|char: char| char == '\u{FEFF}' || char.is_whitespace() && char != '\u{85}');
    if text.is_empty() {
        return Some(0.0);
    }
    match text.get(..2) {
        Some("0x" | "0X") => whole(&text[2..], 16),
        Some("0o" | "0O") => whole(&text[2..], 8),
        Some("0b" | "0B") => whole(&text[2..], 2),
        _ => decimal(text),
    }
}

fn whole(digits: &str, radix: u32) -> Option<f64> {
    let add = |sum: f64, digit: char| Some(sum * f64::from(radix) + f64::from(digit.to_digit(radix)?));
    digits.chars().next()?;
    digits.chars().try_fold(0.0, add)
}

/// Rust reads the same decimals, and besides them `inf`, `nan` and `infinity` in any case.
fn decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_decimal = unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    if is_decimal || unsigned == "Infinity" { text.parse().ok() } else { None }
}

/// The shortest digits of a positive number, and the power of ten of the first of them.
fn shortest(number: f64) -> (String, i32) {
    let (digits, exponent) = parts(&format!("{number:e}"));
    match lower_even(number, digits.len()) {
        Some(even) => (even, exponent),
        None => (digits, exponent),
    }
}

/// The digits and the exponent of a number in scientific notation.
fn parts(scientific: &str) -> (String, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (mantissa.chars().filter(char::is_ascii_digit).collect(), exponent.parse().unwrap_or(0))
}

/// The next lower digits, if they are as near to the number as the ones that Rust prints, and even.
///
/// Of two equally near, JavaScript takes the even ones and Rust the greater ones. That happens only where neighbouring
/// decimals of that length are closer than neighbouring doubles, which takes 15 digits.
fn lower_even(number: f64, n_digits: usize) -> Option<String> {
    if n_digits < 15 {
        return None;
    }
    let between = format!("{number:.n_digits$e}");
    let (digits, exponent) = parts(&between);
    let lower = digits.strip_suffix('5').filter(|lower| lower.ends_with(['0', '2', '4', '6', '8']))?;
    let is_exact = parts(&format!("{number:.ALL_DIGITS$e}")).0.trim_end_matches('0') == digits;
    let reads_back = format!("{}.{}e{exponent}", &lower[..1], &lower[1..]).parse() == Ok(number);
    (is_exact && reads_back).then(|| lower.to_owned())
}

/// No double has more digits after the first.
const ALL_DIGITS: usize = 767;

fn lay_out(digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent + 1) else {
        return small(digits, exponent);
    };
    match whole {
        0 => small(digits, exponent),
        22.. => with_exponent(digits, exponent),
        _ if digits.len() <= whole => format!("{digits:0<whole$}"),
        _ => format!("{}.{}", &digits[..whole], &digits[whole..]),
    }
}

/// A number below 1.
fn small(digits: &str, exponent: i32) -> String {
    if exponent < -6 {
        return with_exponent(digits, exponent);
    }
    let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
    format!("0.{zeros}{digits}")
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}e{exponent:+}")
}
