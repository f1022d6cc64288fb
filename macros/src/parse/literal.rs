//! Literals: the value of a text, and the digits of a number.

use proc_macro2::{Literal, Span, TokenStream, TokenTree};

use super::as_written;

/// A literal, as far as an option takes one.
pub(crate) enum Lit {
    Text(Text),
    /// A whole number: its decimal digits, and whether a type or a unit stands behind them.
    Int {
        digits: String,
        has_suffix: bool,
        place: Span,
    },
    /// Its value, if nothing stands behind it.
    Float(Option<f64>),
    /// A character, or something of bytes.
    Other,
}

#[derive(Clone)]
pub(crate) struct Text {
    pub(crate) value: String,
    pub(crate) place: Span,
    tokens: TokenStream,
}

as_written!(Text);

impl Lit {
    pub(crate) fn new(token: Literal) -> Self {
        let (written, place) = (token.to_string(), token.span());
        let value = match written.as_bytes()[0] {
            b'"' => unescaped(&written),
            b'r' => in_quotes(&written).map(str::to_owned),
            b'0'..=b'9' => return number(&written.replace('_', ""), place),
            _ => None,
        };
        value.map_or(Self::Other, |value| Self::Text(Text { value, place, tokens: TokenTree::from(token).into() }))
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Int { .. } | Self::Float(_))
    }
}

/// What stands between the quotes; a suffix has none.
fn in_quotes(written: &str) -> Option<&str> {
    written.get(written.find('"')? + 1..written.rfind('"')?)
}

/// The value of `"…"`.
fn unescaped(written: &str) -> Option<String> {
    let mut chars = in_quotes(written)?.chars().peekable();
    let mut value = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                // The text goes on with the next character that is visible.
                '\n' | '\r' => while chars.next_if(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).is_some() {},
                escape => value.push(escaped(escape, &mut chars)?),
            },
            '\r' => value.push(chars.next_if_eq(&'\n')?),
            c => value.push(c),
        }
    }
    Some(value)
}

/// The character that is meant by what stands behind a backslash.
fn escaped(escape: char, rest: &mut impl Iterator<Item = char>) -> Option<char> {
    let code: String = match escape {
        'n' => return Some('\n'),
        'r' => return Some('\r'),
        't' => return Some('\t'),
        '0' => return Some('\0'),
        '\\' | '\'' | '"' => return Some(escape),
        'x' => rest.take(2).collect(),
        'u' => rest.skip(1).take_while(|c| *c != '}').filter(|c| *c != '_').collect(),
        _ => return None,
    };
    u32::from_str_radix(&code, 16).ok().and_then(char::from_u32)
}

fn number(written: &str, place: Span) -> Lit {
    let prefixed =
        [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find_map(|(mark, radix)| Some((radix, written.strip_prefix(mark)?)));
    let (radix, body) = prefixed.unwrap_or((10, written));
    let (digits, suffix) = body.split_at(body.find(|c: char| !c.is_digit(radix)).unwrap_or(body.len()));
    // `1e3` has an exponent, `1em` has not.
    let has_exponent = |suffix: &str| suffix.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    if radix == 10 && (suffix.starts_with('.') || suffix.strip_prefix(['e', 'E']).is_some_and(has_exponent)) {
        return Lit::Float(written.parse().ok());
    }
    let digits = match (radix, digits.trim_start_matches('0')) {
        (_, "") => "0".to_owned(),
        (10, digits) => digits.to_owned(),
        (radix, digits) => match u128::from_str_radix(digits, radix) {
            Ok(number) => number.to_string(),
            Err(_) => return Lit::Other,
        },
    };
    Lit::Int { digits, has_suffix: !suffix.is_empty(), place }
}
