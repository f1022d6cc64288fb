//! Document to text, as `JSON.stringify` writes it, without recursion.

use std::slice;

use super::text::{is_plain, n_ordinary, utf16_units};
use super::{Iter, Json, Object, number_text};

/// A list or object whose end was not written yet.
enum Open<'a> {
    Array(slice::Iter<'a, Json>),
    Object(Iter<'a>),
}

/// Few documents are longer.
const USUAL_LEN: usize = 512;

/// The text of a value; `indent` is the number of spaces a level, none for the compact form.
pub(super) fn print(value: &Json, indent: Option<usize>) -> String {
    let mut out = Printer { text: String::with_capacity(USUAL_LEN), indent, depth: 0 };
    let first = out.begin(value);
    out.finish(first);
    out.text
}

/// The same for an object that need not be part of a document.
pub(super) fn print_object(members: &Object, indent: Option<usize>) -> String {
    let mut out = Printer { text: String::with_capacity(USUAL_LEN), indent, depth: 0 };
    let first = out.begin_object(members);
    out.finish(first);
    out.text
}

/// The text of an object with one member, a list of objects, which need not be parts of a document for that.
pub(super) fn print_list<'a>(key: &str, items: impl ExactSizeIterator<Item = &'a Object>, indent: Option<usize>) -> String {
    let mut out = Printer { text: String::new(), indent, depth: 0 };
    out.open('{');
    out.separate();
    out.key(key);
    if items.len() == 0 {
        out.text.push_str("[]");
    } else {
        out.open('[');
        for members in items {
            out.separate();
            let first = out.begin_object(members);
            out.finish(first);
        }
        out.end(']');
    }
    out.end('}');
    out.text
}

struct Printer {
    text: String,
    indent: Option<usize>,
    depth: usize,
}

impl Printer {
    /// Writes what was begun to its end.
    fn finish<'a>(&mut self, begun: Option<Open<'a>>) {
        let mut open: Vec<Open<'a>> = begun.into_iter().collect();
        while let Some(frame) = open.last_mut() {
            match frame {
                Open::Array(rest) => match rest.next() {
                    Some(item) => {
                        self.separate();
                        if let Some(begun) = self.begin(item) {
                            open.push(begun);
                        }
                    }
                    None => {
                        self.end(']');
                        open.pop();
                    }
                },
                Open::Object(rest) => match rest.next() {
                    Some((key, member)) => {
                        self.separate();
                        self.key(key);
                        if let Some(begun) = self.begin(member) {
                            open.push(begun);
                        }
                    }
                    None => {
                        self.end('}');
                        open.pop();
                    }
                },
            }
        }
    }

    /// Writes a value, or the beginning of a list or object that has something in it.
    fn begin<'a>(&mut self, value: &'a Json) -> Option<Open<'a>> {
        match value {
            Json::Null => self.text.push_str("null"),
            Json::Bool(true) => self.text.push_str("true"),
            Json::Bool(false) => self.text.push_str("false"),
            Json::Number(number) if number.is_finite() => self.text.push_str(&number_text(*number)),
            Json::Number(_) => self.text.push_str("null"),
            Json::String(string) => push_quoted(&mut self.text, string),
            Json::Array(items) if items.is_empty() => self.text.push_str("[]"),
            Json::Array(items) => {
                self.open('[');
                return Some(Open::Array(items.iter()));
            }
            Json::Object(members) => return self.begin_object(members),
        }
        None
    }

    fn begin_object<'a>(&mut self, members: &'a Object) -> Option<Open<'a>> {
        if members.is_empty() {
            self.text.push_str("{}");
            return None;
        }
        self.open('{');
        Some(Open::Object(members.iter()))
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
        if !matches!(self.text.as_bytes().last(), Some(b'[' | b'{')) {
            self.text.push(',');
        }
        self.new_line();
    }

    fn key(&mut self, key: &str) {
        push_quoted(&mut self.text, key);
        self.text.push(':');
        if self.indent.is_some() {
            self.text.push(' ');
        }
    }

    fn new_line(&mut self) {
        let Some(indent) = self.indent else { return };
        const BLANKS: &str = "\n                                ";
        let mut left = indent * self.depth;
        if left < BLANKS.len() {
            return self.text.push_str(&BLANKS[..=left]);
        }
        self.text.push('\n');
        while left != 0 {
            let n_blanks = left.min(BLANKS.len() - 1);
            self.text.push_str(&BLANKS[1..=n_blanks]);
            left -= n_blanks;
        }
    }
}

/// Appends a text as a document has it.
pub(crate) fn push_quoted(out: &mut String, string: &str) {
    out.push('"');
    if n_ordinary(string.as_bytes()) == string.len() {
        out.push_str(string);
    } else if is_plain(string) {
        let mut rest = string;
        // What needs an escape is a byte by itself.
        while let Some(place) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..=0x1F)) {
            out.push_str(&rest[..place]);
            escape(char::from(rest.as_bytes()[place]), out);
            rest = &rest[place + 1..];
        }
        out.push_str(rest);
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
