//! Reads as much of Rust as the attributes need. A crate that reads all of it would be built by every user.
//!
//! The compiler has read the item before it hands it to us, so an item is taken apart and not checked. What stands in the
//! attribute's parentheses may be anything, and a mistake in it is told at the token that is wrong.
//!
//! Reading order: `input` is a place in tokens and what can be taken there; the others say what is made of tokens, from the
//! small to the large.

mod attribute;
mod error;
mod expression;
mod input;
mod literal;
mod path;
mod signature;
#[cfg(test)]
mod tests;

pub(crate) use attribute::Attribute;
pub(crate) use error::{Error, Result};
pub(crate) use expression::Expr;
pub(crate) use input::{Input, only, unraw};
pub(crate) use literal::{Lit, Text};
pub(crate) use path::{Generics, Path};
pub(crate) use signature::{FnArg, Signature};

/// For what is written as it was read.
macro_rules! as_written {
    ($thing:ty) => {
        impl quote::ToTokens for $thing {
            fn to_tokens(&self, tokens: &mut proc_macro2::TokenStream) {
                tokens.extend(self.tokens.clone());
            }
        }
    };
}
use as_written;
