//! Paths such as `tokio::test` and `::my_crate::lease_harness`, and what is told of types by them.

use proc_macro2::{Ident, TokenStream, TokenTree};

use super::input::is_keyword;
use super::{Input, Result, as_written};

#[derive(Clone)]
pub(crate) struct Path {
    tokens: TokenStream,
}

as_written!(Path);

/// Where a path may have `<…>`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generics {
    Nowhere,
    /// As in expressions.
    BehindColons,
    /// As in types.
    BehindNames,
}

impl Path {
    /// Whether it is this name and nothing else.
    pub(crate) fn is_ident(&self, name: &str) -> bool {
        self.ends_with(name) && self.tokens.clone().into_iter().count() == 1
    }

    /// Whether its last name is this one, without `<…>`.
    pub(crate) fn ends_with(&self, name: &str) -> bool {
        matches!(self.tokens.clone().into_iter().last(), Some(TokenTree::Ident(last)) if last == name)
    }

    pub(crate) fn starts_with(&self, name: &str) -> bool {
        let names = self.tokens.clone().into_iter().filter(|token| matches!(token, TokenTree::Ident(_)));
        names.map(|first| first.to_string() == name).next() == Some(true)
    }
}

impl Input {
    pub(crate) fn path(&mut self, generics: Generics) -> Result<Path> {
        let ((), tokens) = self.record(|input| {
            let mut goes_on = true;
            input.take_op("::");
            while goes_on {
                input.path_name(generics)?;
                goes_on = input.take_op("::");
                if (goes_on && generics != Generics::Nowhere || generics == Generics::BehindNames) && input.peek_op("<") {
                    input.angles()?;
                    goes_on = input.take_op("::");
                }
            }
            Ok(())
        })?;
        Ok(Path { tokens })
    }

    pub(crate) fn peek_path(&self) -> bool {
        self.peek_op("::") || matches!(self.peek(0), Some(TokenTree::Ident(name)) if is_path_name(&name))
    }

    fn path_name(&mut self, generics: Generics) -> Result<Ident> {
        // `#[unsafe(no_mangle)]` is an attribute too.
        let may_be_unsafe = generics == Generics::Nowhere;
        match self.peek(0) {
            Some(TokenTree::Ident(name)) if is_path_name(&name) || may_be_unsafe && name == "unsafe" => self.any_ident(),
            _ => self.ident(),
        }
    }

    /// `<…>`, up to where it is closed.
    pub(crate) fn angles(&mut self) -> Result<()> {
        self.expect_op("<")?;
        self.until(|input| input.peek_op(">"));
        self.expect_op(">")
    }
}

fn is_path_name(name: &Ident) -> bool {
    !is_keyword(name) || ["self", "Self", "super", "crate"].iter().any(|word| name == word)
}
