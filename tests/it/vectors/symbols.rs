//! The symbols in recorded texts.
//!
//! `$T1` (a token), `$R1` (a request), `$H1` (a guard holder) stand for random ids, `$PID1` for the number of a process. A
//! symbol is bound to what is found where it first appears, and must be the same everywhere after. `$STORE` and `$WORK` are
//! folders.

use std::collections::BTreeMap;
use std::path::Path;

const ID_LENGTH: usize = 36;

/// What the symbols stand for.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    bound: BTreeMap<String, String>,
}

impl Symbols {
    /// The folders are bound, the ids are not.
    pub(super) fn new(store: &Path, work: &Path) -> Self {
        let mut symbols = Self::default();
        symbols.bound.insert("$STORE".to_owned(), store.display().to_string());
        symbols.bound.insert("$WORK".to_owned(), work.display().to_string());
        symbols
    }

    /// A text in which every bound symbol is replaced.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            let symbol = symbol_at(&rest[at..]).unwrap_or("$");
            filled.push_str(self.bound.get(symbol).map_or(symbol, String::as_str));
            rest = &rest[at + symbol.len()..];
        }
        filled + rest
    }

    /// Compares an actual text with a recorded one, and binds the symbols that appear for the first time. Nothing is
    /// bound if the texts differ.
    pub(super) fn compare(&mut self, recorded: &str, actual: &str) -> Result<(), String> {
        let fresh = self.bind(recorded, actual);
        let differs = fresh.as_ref().is_none_or(|fresh| {
            let all = Self { bound: self.bound.iter().chain(fresh).map(|(k, v)| (k.clone(), v.clone())).collect() };
            all.fill(recorded) != actual
        });
        if differs {
            return Err(format!("recorded {}\n    but is {actual}", self.fill(recorded)));
        }
        self.bound.extend(fresh.unwrap_or_default());
        Ok(())
    }

    /// The ids that stand in `actual` where `recorded` has symbols that are not bound.
    fn bind(&self, recorded: &str, actual: &str) -> Option<BTreeMap<String, String>> {
        let mut fresh = BTreeMap::<String, String>::new();
        let (mut recorded, mut actual) = (recorded, actual);
        while let Some(at) = recorded.find('$') {
            actual = actual.strip_prefix(&recorded[..at])?;
            recorded = &recorded[at..];
            let symbol = symbol_at(recorded).unwrap_or("$");
            recorded = &recorded[symbol.len()..];
            let known = self.bound.get(symbol).or_else(|| fresh.get(symbol)).cloned();
            actual = match known {
                Some(value) => actual.strip_prefix(value.as_str())?,
                None if symbol == "$" => actual.strip_prefix('$')?,
                None => {
                    let value = value_at(symbol, actual)?;
                    fresh.insert(symbol.to_owned(), value.to_owned());
                    &actual[value.len()..]
                }
            };
        }
        Some(fresh)
    }
}

/// What of the kind that a symbol stands for a text begins with.
fn value_at<'a>(symbol: &str, text: &'a str) -> Option<&'a str> {
    if symbol.starts_with("$PID") {
        return Some(&text[..n_digits(text)]).filter(|number| !number.is_empty());
    }
    text.get(..ID_LENGTH).filter(|id| uuid::Uuid::try_parse(id).is_ok())
}

/// The symbol that a text begins with.
fn symbol_at(text: &str) -> Option<&str> {
    for folder in ["$STORE", "$WORK"] {
        if text.starts_with(folder) {
            return Some(folder);
        }
    }
    let name = ["$T", "$R", "$H", "$PID"].into_iter().find(|name| text.starts_with(name))?;
    let n_digits = n_digits(&text[name.len()..]);
    (n_digits > 0).then(|| &text[..name.len() + n_digits])
}

fn n_digits(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "6f1c9a52-0f0b-4f7e-9f43-0d8f3a3f9b10";
    const OTHER: &str = "7f1c9a52-0f0b-4f7e-9f43-0d8f3a3f9b11";

    #[test]
    fn a_symbol_is_bound_once_and_then_holds() {
        let mut symbols = Symbols::new(Path::new("/s"), Path::new("/w"));
        symbols.compare("token=$T1 in $STORE", &format!("token={ID} in /s")).expect("binds");
        assert_eq!(symbols.fill("$T1 $T11 $WORK $x"), format!("{ID} $T11 /w $x"));
        symbols.compare("$T1", OTHER).expect_err("is bound to another id");
    }

    #[test]
    fn what_is_no_id_is_not_bound() {
        let mut symbols = Symbols::default();
        symbols.compare("$T1", "not-an-id").expect_err("is no id");
        symbols.compare("$T1 and $T1", &format!("{ID} and {OTHER}")).expect_err("are two ids");
        assert_eq!(symbols.fill("$T1"), "$T1");
    }

    #[test]
    fn a_process_has_a_number() {
        let mut symbols = Symbols::default();
        symbols.compare("\"$PID1\"", "\"417\"").expect("binds");
        assert_eq!(symbols.fill("$PID1, $PID"), "417, $PID");
        symbols.compare("\"$PID2\"", "\"x\"").expect_err("is no number");
    }
}
