//! What ids may look like, and the names of files that are made of them.

use std::fmt::Write as _;

use super::refusal::Refusal;

/// How much of an id stays legible in a file name.
const LEGIBLE: usize = 40;
/// The longest id, in bytes.
const LONGEST: usize = 1024;

/// Refuses an id that is blank, longer than 1024 bytes, or has control characters in it.
pub(super) fn check_id(what: &str, id: &str) -> Result<(), Refusal> {
    if id.trim().is_empty() || id.len() > LONGEST || id.chars().any(char::is_control) {
        return Err(Refusal::new("ID_INVALID", format!("{what} {id:?} is blank, too long, or has control characters")));
    }
    Ok(())
}

/// A file name for an id: another one for every other id, and none that leads elsewhere.
pub(super) fn file_stem(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let legible: String = id.chars().map(|c| if is_plain(c) { c } else { '-' }).take(LEGIBLE).collect();
    format!("{legible}.{}", &digest(id)[..32])
}

/// The SHA-256 of a text, in hexadecimal digits.
pub(super) fn digest(text: &str) -> String {
    hmac_sha256::Hash::hash(text.as_bytes()).iter().fold(String::with_capacity(64), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("a String takes everything");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_leads_elsewhere() {
        for id in ["../../elsewhere", "/etc/passwd", ".", "..", "a/b", "a\\b", "process:P1", "日本", ".hidden"] {
            let stem = file_stem(id);
            let is_harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            assert!(stem.chars().all(is_harmless) && !stem.starts_with('.'), "{id} {stem}");
        }
        assert_ne!(file_stem("a/b"), file_stem("a-b"));
        assert_ne!(file_stem(&"a".repeat(50)), file_stem(&"a".repeat(51)));
    }

    #[test]
    fn blank_and_endless_ids_are_refused() {
        for id in ["", " ", "a\nb", "a\0", &"a".repeat(1025)] {
            assert_eq!(check_id("owner", id).unwrap_err().code(), "ID_INVALID", "{id:?}");
        }
        check_id("owner", "process:P1 / 日本").unwrap();
    }
}
