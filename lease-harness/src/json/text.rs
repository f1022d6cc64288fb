//! Texts of JavaScript, which are UTF-16 and may hold half of a surrogate pair, as Rust strings.

use std::borrow::Cow;

/// Says that the next character stands for half of a surrogate pair, or is this one itself.
const ESCAPE: char = '\u{FDD0}';

/// What is added to a surrogate to make it the private-use character that stands for it.
const SHIFT: u32 = 0x10_0000;

/// The UTF-16 code units of a text.
pub fn utf16_units(text: &str) -> Vec<u16> {
    let mut units = Vec::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Half(unit) => units.push(unit),
            Piece::Char(char) => units.extend_from_slice(char.encode_utf16(&mut [0; 2])),
        }
    }
    units
}

/// The text of these UTF-16 code units; the way back of [`utf16_units`].
pub fn from_utf16(units: &[u16]) -> String {
    let mut text = String::with_capacity(units.len());
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok(char) => push_char(&mut text, char),
            Err(half) => push_half(&mut text, half.unpaired_surrogate()),
        }
    }
    text
}

/// The text as JavaScript writes it in UTF-8, to a file or into an environment: U+FFFD for half of a surrogate pair.
pub fn plain_text(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(String::from_utf16_lossy(&utf16_units(text)))
}

/// Whether the text holds no half of a surrogate pair and nothing that looks like one.
pub(super) fn is_plain(text: &str) -> bool {
    n_ordinary(text.as_bytes()) == text.len() || !text.contains(ESCAPE)
}

/// The bytes that need a closer look in a document's text: those with an escape of their own, and that with which [`ESCAPE`] begins.
static IS_ODD: [bool; 256] = {
    let mut is_odd = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        is_odd[control] = true;
        control += 1;
    }
    is_odd[b'"' as usize] = true;
    is_odd[b'\\' as usize] = true;
    is_odd[0xEF] = true;
    is_odd
};

/// How many bytes at the beginning stand for themselves, whatever follows.
///
/// Tests are built without optimisation, and this with them: there iterators cost a multiple of a plain loop.
pub(super) fn n_ordinary(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let [byte, behind @ ..] = rest {
        if IS_ODD[*byte as usize] {
            break;
        }
        rest = behind;
    }
    bytes.len() - rest.len()
}

/// Appends a character of a document.
pub(super) fn push_char(text: &mut String, char: char) {
    if char == ESCAPE {
        text.push(ESCAPE);
    }
    text.push(char);
}

/// Appends characters of a document.
pub(super) fn push_str(text: &mut String, run: &str) {
    if is_plain(run) {
        text.push_str(run);
    } else {
        run.chars().for_each(|char| push_char(text, char));
    }
}

/// Appends half of a surrogate pair.
pub(super) fn push_half(text: &mut String, unit: u16) {
    text.push(ESCAPE);
    text.push(char::from_u32(SHIFT + u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER));
}

enum Piece {
    Char(char),
    Half(u16),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece> {
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        let char = chars.next()?;
        if char != ESCAPE {
            return Some(Piece::Char(char));
        }
        if chars.next_if_eq(&ESCAPE).is_some() {
            return Some(Piece::Char(ESCAPE));
        }
        let half = chars.peek().copied().and_then(half_of);
        if half.is_some() {
            chars.next();
        }
        Some(half.map_or(Piece::Char(ESCAPE), Piece::Half))
    })
}

/// The half of a surrogate pair that a character stands for after the escape.
fn half_of(char: char) -> Option<u16> {
    let unit = u32::from(char).checked_sub(SHIFT)?;
    u16::try_from(unit).ok().filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

/// The text without white space around it, as `String.prototype.trim` sees white space: with the byte order mark, and
/// without the "next line" of U+0085.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}
