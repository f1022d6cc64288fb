//! Text to document.
/// Why a text is no JSON document.
#[derive(Clone, Debug, PartialEq)]
pub struct ParseError;
