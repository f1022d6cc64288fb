//! What is wrong, and at which tokens.

use std::fmt;

use proc_macro2::{Delimiter, Group, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// One mistake or several: the compiler reports each by itself.
#[derive(Clone, Debug)]
pub(crate) struct Error {
    mistakes: Vec<Mistake>,
}

#[derive(Clone, Debug)]
struct Mistake {
    start: Span,
    end: Span,
    message: String,
}

impl Error {
    /// A mistake in one token.
    pub(crate) fn new(place: Span, message: impl Into<String>) -> Self {
        Self { mistakes: vec![Mistake { start: place, end: place, message: message.into() }] }
    }

    /// A mistake in all of these tokens.
    pub(crate) fn new_spanned(tokens: impl ToTokens, message: impl Into<String>) -> Self {
        let mut tokens = tokens.into_token_stream().into_iter();
        let start = tokens.next().map_or_else(Span::call_site, |token| token.span());
        let end = tokens.last().map_or(start, |token| token.span());
        Self { mistakes: vec![Mistake { start, end, message: message.into() }] }
    }

    /// Reports the mistakes of `other` after these.
    pub(crate) fn combine(&mut self, other: Self) {
        self.mistakes.extend(other.mistakes);
    }

    /// One error of all, if there are any.
    pub(crate) fn all(errors: impl Iterator<Item = Self>) -> Result<()> {
        let joined = errors.reduce(|mut all, error| {
            all.combine(error);
            all
        });
        joined.map_or(Ok(()), Err)
    }

    /// The same mistakes in other words, each at one token: the first, unless the compiler can make one of all.
    pub(crate) fn reworded(&self, reword: impl Fn(&str) -> String) -> Self {
        let reworded = self.mistakes.iter().map(|Mistake { start, end, message }| {
            let place = start.join(*end).unwrap_or(*start);
            Mistake { start: place, end: place, message: reword(message) }
        });
        Self { mistakes: reworded.collect() }
    }

    /// What makes the compiler report it.
    ///
    /// It underlines from the first token of the call to the last: they have the places of the first and the last wrong token.
    pub(crate) fn to_compile_error(&self) -> TokenStream {
        let call = |Mistake { start, end, message }: &Mistake| {
            let mut text = Literal::string(message);
            text.set_span(*end);
            let mut braces = Group::new(Delimiter::Brace, text.into_token_stream());
            braces.set_span(*end);
            quote_spanned!(*start=> ::core::compile_error! #braces)
        };
        self.mistakes.iter().map(call).collect()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mistakes[0].message)
    }
}
