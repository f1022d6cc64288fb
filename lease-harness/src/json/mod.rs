//! JSON documents as the programs that share the store see them.
//!
//! The format's other programs are JavaScript, so a document must survive being read and written again with
//! JavaScript's rules: every number is a double and prints as `Number.prototype.toString` prints it, integer-like
//! keys come first, a repeated key keeps its first place and its last value, a lone surrogate escape is legal, and
//! nesting has no limit. serde_json differs in each of these, which is why the format has its own small document type.

mod parse;
mod print;

pub use parse::ParseError;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as JavaScript has it.
    Number(f64),
    /// A text.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// An object; see [`Object`] for the order of keys.
    Object(Object),
}

/// The members of a JSON object in the order JavaScript gives them: integer-like keys ascending, then the others by
/// insertion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    members: Vec<(String, Json)>,
}
