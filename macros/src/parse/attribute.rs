//! Attributes such as `#[cfg_attr(unix, ignore = "why")]`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Generics, Input, Path, Result, as_written};

/// An attribute, or what a `cfg_attr` has in its parentheses.
#[derive(Clone)]
pub(crate) struct Attribute {
    pub(crate) path: Path,
    /// What stands in parentheses behind the path.
    pub(crate) list: Option<TokenStream>,
    tokens: TokenStream,
}

as_written!(Attribute);

impl Input {
    /// Attributes that begin with these marks, `#` or `#!`, as many as there are.
    pub(crate) fn attributes(&mut self, marks: &str) -> Result<Vec<Attribute>> {
        let mut all = Vec::new();
        while marks.char_indices().all(|(idx, mark)| self.peek(idx).is_some_and(|token| token.to_string() == mark.to_string())) {
            let (inside, tokens) = self.record(|input| {
                marks.chars().for_each(|_| drop(input.take()));
                let brackets = input.take_group(Delimiter::Bracket).ok_or_else(|| input.error("expected square brackets"))?;
                Self::inside(&brackets).meta()
            })?;
            all.push(Attribute { tokens, ..inside });
        }
        Ok(all)
    }

    /// What stands in the brackets of an attribute.
    pub(crate) fn meta(&mut self) -> Result<Attribute> {
        let ((path, list), tokens) = self.record(|input| {
            let path = input.path(Generics::Nowhere)?;
            if let Some(TokenTree::Group(list)) = input.peek(0) {
                input.take();
                return Ok((path, Some(list.stream())));
            }
            if input.take_op("=") {
                input.until(|input| input.peek_op(","));
            }
            Ok((path, None))
        })?;
        Ok(Attribute { path, list, tokens })
    }
}
