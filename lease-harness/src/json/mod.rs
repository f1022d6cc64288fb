//! JSON documents as the programs that share the store see them.
//!
//! The format's other programs are JavaScript, so a document must survive being read and written again with
//! JavaScript's rules: every number is a double and prints as `Number.prototype.toString` prints it, integer-like
//! keys come first, a repeated key keeps its first place and its last value, a lone surrogate escape is legal, and
//! nesting has no limit. serde_json differs in each of these, which is why the format has its own small document type.
//!
//! # Texts that are no Unicode
//!
//! JavaScript's texts are UTF-16 and may hold half of a surrogate pair; a Rust `String` cannot. Such a half is kept
//! as two characters, the noncharacter U+FDD0 and one of U+10D800 to U+10DFFF (private use), and a real U+FDD0 as
//! two of them. [`utf16_units`] and [`from_utf16`] translate, [`plain_text`] gives what JavaScript writes when it
//! must write UTF-8 (U+FFFD for a half). Nobody else has to know.

mod convert;
mod de;
mod deep;
mod number;
mod object;
mod parse;
mod print;
mod text;

pub use convert::object;
pub use de::TypeError;
pub use number::{number_from_text, number_text};
pub use object::{IntoIter, Iter, Object};
pub use parse::ParseError;
pub(crate) use print::push_quoted;
pub use text::{from_utf16, plain_text, trimmed, utf16_units};

/// A JSON value.
///
/// Cloning, comparing, printing and dropping need no stack, however deep the nesting. Two objects are equal if they
/// have the same members in the same order.
#[derive(Default)]
pub enum Json {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as JavaScript has it.
    Number(f64),
    /// A text; see the [module](self) for halves of surrogate pairs.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// An object; see [`Object`] for the order of keys.
    Object(Object),
}

impl Json {
    /// Reads a text as `JSON.parse` does.
    ///
    /// # Errors
    /// The text is not JSON; the error names line and column.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::parse(text)
    }

    /// Reads bytes as `JSON.parse(readFileSync(file, 'utf8'))` does: what is no UTF-8 becomes U+FFFD, and a byte
    /// order mark is an error.
    ///
    /// # Errors
    /// The text is not JSON; the error names line and column.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, ParseError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => parse::parse(text),
            Err(_) => parse::parse(&String::from_utf8_lossy(bytes)),
        }
    }

    /// The document at the beginning of a text, and what follows it.
    pub(crate) fn parse_first(text: &str) -> Result<(Self, &str), ParseError> {
        parse::parse_first(text)
    }

    /// The compact text, as `JSON.stringify(value)`.
    pub fn to_text(&self) -> String {
        print::print(self, None)
    }

    /// The text for people, as `JSON.stringify(value, null, 2)`: no newline at the end.
    pub fn to_pretty(&self) -> String {
        print::print(self, Some(2))
    }

    /// The text of `{key: items}` with line breaks and two spaces a level, as [`Json::to_pretty`] writes it.
    pub(crate) fn pretty_list<'a>(key: &str, items: impl ExactSizeIterator<Item = &'a Object>) -> String {
        print::print_list(key, items, Some(2))
    }

    /// The member `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// The member `key`, if this is an object that has it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.as_object_mut()?.get_mut(key)
    }

    /// True for `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if it is one. May be infinite.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(value) => Some(value),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members, if it is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The members, if it is an object.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The text, taken out, if it is one.
    pub fn into_string(mut self) -> Option<String> {
        match &mut self {
            Self::String(value) => Some(std::mem::take(value)),
            _ => None,
        }
    }

    /// The items, taken out, if it is a list.
    pub fn into_array(mut self) -> Option<Vec<Self>> {
        self.as_array_mut().map(std::mem::take)
    }

    /// The members, taken out, if it is an object.
    pub fn into_object(mut self) -> Option<Object> {
        self.as_object_mut().map(std::mem::take)
    }
}

#[cfg(test)]
mod tests;
