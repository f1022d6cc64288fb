//! Document to text, as `JSON.stringify` writes it, without recursion.

use std::slice;

use super::text::{is_plain, utf16_units};
use super::{Iter, Json, number_text};

/// A list or object whose end was not written yet.
enum Open<'a> {
    Array(slice::Iter<'a, Json>),
    Object(Iter<'a>),
}

/// The text of a value; `indent` is the number of spaces a level, none for the compact form.
pub(super) fn print(value: &Json, indent: Option<usize>) -> String {
    let mut out = Printer { text: String::new(), indent, depth: 0 };
    let mut open: Vec<Open<'_>> = Vec::new();
    open.extend(out.begin(value));
    while let Some(frame) = open.last_mut() {
        match frame {
            Open::Array(rest) => match rest.next() {
                Some(item) => {
                    out.separate();
                    open.extend(out.begin(item));
                }
                None => {
                    out.end(']');
                    open.pop();
                }
            },
            Open::Object(rest) => match rest.next() {
                Some((key, member)) => {
                    out.separate();
                    out.key(key);
                    open.extend(out.begin(member));
                }
                None => {
                    out.end('}');
                    open.pop();
                }
            },
        }
    }
    out.text
}

struct Printer {
    text: String,
    indent: Option<usize>,
    depth: usize,
}

impl Printer {
    /// Writes a value, or the beginning of a list or object that has something in it.
    fn begin<'a>(&mut self, value: &'a Json) -> Option<Open<'a>> {
        match value {
            Json::Null => self.text.push_str("null"),
            Json::Bool(true) => self.text.push_str("true"),
            Json::Bool(false) => self.text.push_str("false"),
            Json::Number(number) if number.is_finite() => self.text.push_str(&number_text(*number)),
            Json::Number(_) => self.text.push_str("null"),
            Json::String(string) => quote(string, &mut self.text),
            Json::Array(items) if items.is_empty() => self.text.push_str("[]"),
            Json::Object(members) if members.is_empty() => self.text.push_str("{}"),
            Json::Array(items) => {
                self.open('[');
                return Some(Open::Array(items.iter()));
            }
            Json::Object(members) => {
                self.open('{');
                return Some(Open::Object(members.iter()));
            }
        }
        None
    }

    fn open(&mut self, bracket: char) {
        self.text.push(bracket);
        self.depth += 1;
    }

    fn end(&mut self, bracket: char) {
        self.depth -= 1;
        self.new_line();
        self.text.push(bracket);
    }

    /// Writes what stands before an item: a comma unless it is the first.
    fn separate(&mut self) {
        if !self.text.ends_with(['[', '{']) {
            self.text.push(',');
        }
        self.new_line();
    }

    fn key(&mut self, key: &str) {
        quote(key, &mut self.text);
        self.text.push(':');
        if self.indent.is_some() {
            self.text.push(' ');
        }
    }

    fn new_line(&mut self) {
        if let Some(indent) = self.indent {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', indent * self.depth));
        }
    }
}

fn quote(string: &str, out: &mut String) {
    out.push('"');
    if is_plain(string) {
        string.chars().for_each(|char| escape(char, out));
    } else {
        for unit in char::decode_utf16(utf16_units(string)) {
            match unit {
                Ok(char) => escape(char, out),
                Err(half) => hex(half.unpaired_surrogate(), out),
            }
        }
    }
    out.push('"');
}

fn escape(char: char, out: &mut String) {
    match char {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{C}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        '\0'..='\u{1F}' => hex(char as u16, out),
        _ => out.push(char),
    }
}

fn hex(unit: u16, out: &mut String) {
    out.push_str(&format!("\\u{unit:04x}"));
}
