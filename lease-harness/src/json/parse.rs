//! Text to document, by JavaScript's grammar, without recursion.

use std::fmt;

use super::text::{n_ordinary, push_char, push_half, push_str};
use super::{Json, Object};

/// Why a text is no JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    problem: Problem,
    line: usize,
    column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    End,
    Unexpected(char),
    Control(char),
    Escape(char),
    AfterEnd(char),
}

impl ParseError {
    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The character in its line, from 1.
    pub fn column(&self) -> usize {
        self.column
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::End => f.write_str("unexpected end of the text")?,
            Problem::Unexpected(char) => write!(f, "unexpected character {char:?}")?,
            Problem::Control(char) => write!(f, "control character {char:?} inside a text")?,
            Problem::Escape(char) => write!(f, "bad escape {char:?} inside a text")?,
            Problem::AfterEnd(char) => write!(f, "unexpected character {char:?} after the end of the value")?,
        }
        write!(f, " at line {} column {}", self.line, self.column)
    }
}

impl std::error::Error for ParseError {}

/// A list or object whose end was not read yet.
enum Open {
    Array(Vec<Json>),
    Object { members: Object, key: String },
}

enum Begun {
    Open(Open),
    Whole(Json),
}

/// What follows a value inside its list or object.
enum Next {
    Value,
    Closed(Json),
}

pub(super) fn parse(text: &str) -> Result<Json, ParseError> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    let value = reader.value()?;
    reader.finish().map(|()| value)
}

/// The value at the beginning of a text, and what follows it.
pub(super) fn parse_first(text: &str) -> Result<(Json, &str), ParseError> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0 };
    let value = reader.value()?;
    Ok((value, &text[reader.at..]))
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Always at the start of a character.
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads one value, however deep it is.
    fn value(&mut self) -> Result<Json, ParseError> {
        let mut open = Vec::new();
        loop {
            let mut value = match self.begin()? {
                Begun::Open(frame) => {
                    open.push(frame);
                    continue;
                }
                Begun::Whole(value) => value,
            };
            loop {
                let Some(frame) = open.last_mut() else {
                    return Ok(value);
                };
                match self.next_in(frame, value)? {
                    Next::Value => break,
                    Next::Closed(closed) => {
                        open.pop();
                        value = closed;
                    }
                }
            }
        }
    }

    /// Reads a value that is no list or object, or the beginning of one.
    fn begin(&mut self) -> Result<Begun, ParseError> {
        self.skip_blanks();
        match self.peek() {
            Some(b'[') => {
                self.at += 1;
                self.skip_blanks();
                if self.take(b']') {
                    return Ok(Begun::Whole(Json::Array(Vec::new())));
                }
                Ok(Begun::Open(Open::Array(Vec::new())))
            }
            Some(b'{') => {
                self.at += 1;
                self.skip_blanks();
                if self.take(b'}') {
                    return Ok(Begun::Whole(Json::Object(Object::new())));
                }
                let key = self.key()?;
                Ok(Begun::Open(Open::Object { members: Object::new(), key }))
            }
            Some(b'"') => self.string().map(|text| Begun::Whole(Json::String(text))),
            Some(b'-' | b'0'..=b'9') => self.number().map(|number| Begun::Whole(Json::Number(number))),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.unexpected()),
        }
    }

    /// Puts a value into its list or object and reads what follows it there.
    fn next_in(&mut self, frame: &mut Open, value: Json) -> Result<Next, ParseError> {
        self.skip_blanks();
        match frame {
            Open::Array(items) => {
                items.push(value);
                if self.take(b',') {
                    return Ok(Next::Value);
                }
                if self.take(b']') {
                    return Ok(Next::Closed(Json::Array(std::mem::take(items))));
                }
            }
            Open::Object { members, key } => {
                members.insert(std::mem::take(key), value);
                if self.take(b',') {
                    self.skip_blanks();
                    *key = self.key()?;
                    return Ok(Next::Value);
                }
                if self.take(b'}') {
                    return Ok(Next::Closed(Json::Object(std::mem::take(members))));
                }
            }
        }
        Err(self.unexpected())
    }

    fn finish(&mut self) -> Result<(), ParseError> {
        self.skip_blanks();
        match self.char_at(self.at) {
            None => Ok(()),
            Some(char) => Err(self.error(Problem::AfterEnd(char))),
        }
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<String, ParseError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected());
        }
        let key = self.string()?;
        self.skip_blanks();
        if self.take(b':') { Ok(key) } else { Err(self.unexpected()) }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Begun, ParseError> {
        for byte in word.bytes() {
            if !self.take(byte) {
                return Err(self.unexpected());
            }
        }
        Ok(Begun::Whole(value))
    }

    fn number(&mut self) -> Result<f64, ParseError> {
        let start = self.at;
        if let Some(whole) = self.small_number() {
            return Ok(whole);
        }
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        self.text[start..self.at].parse().map_err(|_| self.unexpected())
    }

    /// Reads a number of a few digits and nothing else, as most are; else nothing.
    fn small_number(&mut self) -> Option<f64> {
        const MOST_DIGITS: usize = 9;
        let (start, mut number) = (self.at, 0_u32);
        while let Some(byte @ b'0'..=b'9') = self.peek()
            && self.at - start < MOST_DIGITS
        {
            number = number * 10 + u32::from(byte - b'0');
            self.at += 1;
        }
        let is_it = match (self.at - start, self.peek()) {
            (0, _) | (_, Some(b'0'..=b'9' | b'.' | b'e' | b'E')) => false,
            (n_digits, _) => n_digits == 1 || self.bytes[start] != b'0',
        };
        if !is_it {
            self.at = start;
        }
        is_it.then(|| f64::from(number))
    }

    /// Reads one or more digits.
    fn digits(&mut self) -> Result<(), ParseError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected()) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, ParseError> {
        self.at += 1;
        let start = self.at;
        self.at += n_ordinary(&self.bytes[start..]);
        if self.take(b'"') {
            return Ok(self.text[start..self.at - 1].to_owned());
        }
        self.at = start;
        let mut text = String::new();
        loop {
            push_str(&mut text, self.run());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => self.escape(&mut text)?,
                Some(control) => return Err(self.error(Problem::Control(control.into()))),
                None => return Err(self.error(Problem::End)),
            }
        }
    }

    /// Reads characters that stand for themselves.
    fn run(&mut self) -> &'a str {
        let start = self.at;
        loop {
            self.at += n_ordinary(&self.bytes[self.at..]);
            match self.peek() {
                // It is part of a character that stands for itself.
                Some(0x80..) => self.at += 1,
                _ => return &self.text[start..self.at],
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), ParseError> {
        let char = match self.char_at(self.at + 1) {
            Some('b') => '\u{8}',
            Some('f') => '\u{C}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(same @ ('"' | '\\' | '/')) => same,
            Some('u') => {
                self.at += 2;
                return self.unicode(text);
            }
            other => {
                self.at += 1;
                return Err(self.error(other.map_or(Problem::End, Problem::Escape)));
            }
        };
        self.at += 2;
        text.push(char);
        Ok(())
    }

    /// Reads what follows `\u`, and the second half of a surrogate pair if it is there.
    fn unicode(&mut self, text: &mut String) -> Result<(), ParseError> {
        let unit = self.hex()?;
        if let Some(char) = char::from_u32(u32::from(unit)) {
            push_char(text, char);
            return Ok(());
        }
        if let Some(char) = self.second_half(unit) {
            text.push(char);
            return Ok(());
        }
        push_half(text, unit);
        Ok(())
    }

    /// Reads an escape that makes a pair with `first`; reads nothing if there is none.
    fn second_half(&mut self, first: u16) -> Option<char> {
        let start = self.at;
        if self.take(b'\\')
            && self.take(b'u')
            && let Ok(second) = self.hex()
            && let Some(Ok(char)) = char::decode_utf16([first, second]).next()
        {
            return Some(char);
        }
        self.at = start;
        None
    }

    fn hex(&mut self) -> Result<u16, ParseError> {
        let mut unit = 0;
        for _ in 0..4 {
            let char = self.char_at(self.at);
            let Some(digit) = char.and_then(|char| char.to_digit(16)) else {
                return Err(self.error(char.map_or(Problem::End, Problem::Escape)));
            };
            unit = unit * 16 + digit as u16;
            self.at += 1;
        }
        Ok(unit)
    }

    /// JSON's blanks are these four and no others.
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        if self.at < self.bytes.len() { Some(self.bytes[self.at]) } else { None }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    fn unexpected(&self) -> ParseError {
        self.error(self.char_at(self.at).map_or(Problem::End, Problem::Unexpected))
    }

    fn error(&self, problem: Problem) -> ParseError {
        let before = &self.text[..self.at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ParseError { problem, line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}
