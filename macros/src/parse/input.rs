//! A place in tokens, and what can be seen and taken there.

use std::iter::once;

use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};

use super::{Error, Lit, Result};

/// Words that name nothing.
const KEYWORDS: [&str; 52] = [
    "_", "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut",
    "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// The tokens that are still to be read.
///
/// What a variable of `macro_rules!` stands for comes in an invisible group. What looks ahead looks into such groups, and what
/// takes a token opens them; only `until` leaves them whole.
#[derive(Clone)]
pub(crate) struct Input {
    /// The next token is the last.
    rest: Vec<TokenTree>,
    /// For who asks of which tokens something was read.
    taken: Vec<TokenTree>,
    /// Where it is told that something is missing.
    end: Span,
}

impl Input {
    pub(crate) fn new(tokens: TokenStream) -> Self {
        let mut rest: Vec<_> = tokens.into_iter().collect();
        rest.reverse();
        Self { rest, taken: Vec::new(), end: Span::call_site() }
    }

    /// What is in a group.
    pub(crate) fn inside(group: &Group) -> Self {
        Self { end: group.span_close(), ..Self::new(group.stream()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.peek(0).is_none()
    }

    /// Whether there is no more than one token, or one invisible group.
    pub(crate) fn is_at_last(&self) -> bool {
        self.rest.len() <= 1
    }

    /// Whether an invisible group comes next.
    pub(super) fn is_at_invisible(&self) -> bool {
        matches!(self.rest.last(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None)
    }

    /// The next token, or one behind it.
    pub(crate) fn peek(&self, n_ahead: usize) -> Option<TokenTree> {
        leaves(self.rest.iter().rev().cloned()).nth(n_ahead)
    }

    pub(crate) fn peek_word(&self, word: &str) -> bool {
        matches!(self.peek(0), Some(TokenTree::Ident(ident)) if ident == word)
    }

    /// Whether these characters come next, written together. More may follow: `=` is there where `==` is.
    pub(crate) fn peek_op(&self, op: &str) -> bool {
        let mut tokens = leaves(self.rest.iter().rev().cloned());
        let is_last = |idx| idx + 1 == op.len();
        op.char_indices().all(|(idx, c)| {
            let spacing = tokens.next().and_then(|token| spacing_of(&token, c));
            spacing == Some(Spacing::Joint) || spacing.is_some() && is_last(idx)
        })
    }

    /// Where a literal comes next; a number may be negative.
    pub(crate) fn peek_literal(&self) -> Option<Span> {
        match (self.peek(0)?, self.peek(1)) {
            (TokenTree::Literal(literal), _) => Some(literal.span()),
            (TokenTree::Ident(word), _) if word == "true" || word == "false" => Some(word.span()),
            (TokenTree::Punct(minus), Some(TokenTree::Literal(number))) if minus.as_char() == '-' => {
                let place = minus.span().join(number.span()).unwrap_or(minus.span());
                Lit::new(number).is_number().then_some(place)
            }
            _ => None,
        }
    }

    /// The next token.
    pub(crate) fn take(&mut self) -> Option<TokenTree> {
        while self.is_at_invisible()
            && let Some(TokenTree::Group(group)) = self.rest.pop()
        {
            self.rest.extend(Self::inside(&group).rest);
        }
        self.take_tree()
    }

    /// An invisible group, if nothing but its beginning belongs to what comes next: a path may go on behind it.
    pub(super) fn take_invisible(&mut self) -> bool {
        let behind = self.rest.iter().rev().nth(1);
        let is_whole = self.is_at_invisible() && behind.is_none_or(|behind| spacing_of(behind, ':') != Some(Spacing::Joint));
        is_whole && self.take_tree().is_some()
    }

    /// The next token; an invisible group is one.
    fn take_tree(&mut self) -> Option<TokenTree> {
        let token = self.rest.pop()?;
        self.taken.push(token.clone());
        Some(token)
    }

    pub(crate) fn take_word(&mut self, word: &str) -> Option<Ident> {
        if self.peek_word(word) { self.any_ident().ok() } else { None }
    }

    pub(crate) fn take_op(&mut self, op: &str) -> bool {
        let is_there = self.peek_op(op);
        op.chars().filter(|_| is_there).for_each(|_| drop(self.take()));
        is_there
    }

    pub(crate) fn take_group(&mut self, delimiter: Delimiter) -> Option<Group> {
        match self.peek(0)? {
            TokenTree::Group(group) if group.delimiter() == delimiter => self.take().map(|_| group),
            _ => None,
        }
    }

    pub(crate) fn take_lifetime(&mut self) -> bool {
        self.take_op("'") && self.take().is_some()
    }

    /// A name or a keyword.
    pub(crate) fn any_ident(&mut self) -> Result<Ident> {
        match self.peek(0) {
            Some(TokenTree::Ident(ident)) => Ok(self.take().map_or(ident.clone(), |_| ident)),
            _ => Err(self.error("expected ident")),
        }
    }

    pub(crate) fn ident(&mut self) -> Result<Ident> {
        match self.peek(0) {
            Some(TokenTree::Ident(ident)) if !is_keyword(&ident) => self.any_ident(),
            Some(TokenTree::Ident(ident)) => Err(self.error(&format!("expected identifier, found keyword `{ident}`"))),
            _ => Err(self.error("expected identifier")),
        }
    }

    pub(crate) fn expect_op(&mut self, op: &str) -> Result<()> {
        if self.take_op(op) { Ok(()) } else { Err(Error::new(self.place(), format!("expected `{op}`"))) }
    }

    /// All, with commas between them.
    pub(crate) fn list<T>(&mut self, one: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut all = Vec::new();
        while !self.is_empty() {
            all.push(one(self)?);
            if !self.is_empty() {
                self.expect_op(",")?;
            }
        }
        Ok(all)
    }

    /// What is read, and the tokens of it.
    pub(crate) fn record<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, TokenStream)> {
        let start = self.taken.len();
        let read = read(self)?;
        Ok((read, self.taken[start..].iter().cloned().collect()))
    }

    /// The tokens up to where it `ends` outside of any `<…>`, or all.
    pub(crate) fn until(&mut self, ends: impl Fn(&Self) -> bool) -> TokenStream {
        let (start, mut depth) = (self.taken.len(), 0_usize);
        while !self.rest.is_empty() && (0 < depth || !ends(self)) {
            let Some(TokenTree::Punct(punct)) = self.take_tree() else { continue };
            let is_pair =
                |c| punct.spacing() == Spacing::Joint && self.rest.last().is_some_and(|next| spacing_of(next, c).is_some());
            match punct.as_char() {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                // The `>` of an arrow closes nothing, and half of `::` is no colon.
                '-' if is_pair('>') => drop(self.take_tree()),
                ':' if is_pair(':') => drop(self.take_tree()),
                _ => {}
            }
        }
        self.taken[start..].iter().cloned().collect()
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> TokenStream {
        self.until(|_| false)
    }

    /// A mistake in the next token.
    pub(crate) fn error(&self, message: &str) -> Error {
        let missing = if self.is_empty() { "unexpected end of input, " } else { "" };
        Error::new(self.place(), format!("{missing}{message}"))
    }

    /// Where the next token is; of a group it is the beginning.
    pub(crate) fn place(&self) -> Span {
        match self.rest.last() {
            Some(TokenTree::Group(group)) => group.span_open(),
            Some(token) => token.span(),
            None => self.end,
        }
    }
}

/// The token, if there is only one.
pub(crate) fn only(tokens: &TokenStream) -> Option<TokenTree> {
    let mut tokens = tokens.clone().into_iter();
    tokens.next().filter(|_| tokens.next().is_none())
}

/// The tokens, and in the place of an invisible group what is in it.
fn leaves<'a>(tokens: impl Iterator<Item = TokenTree> + 'a) -> Box<dyn Iterator<Item = TokenTree> + 'a> {
    Box::new(tokens.flat_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => leaves(group.stream().into_iter()),
        token => Box::new(once(token)),
    }))
}

/// The tokens without invisible groups around any.
pub(super) fn opened(tokens: TokenStream) -> TokenStream {
    leaves(tokens.into_iter()).collect()
}

/// Whether something is written together with this character, if it is this one.
fn spacing_of(token: &TokenTree, c: char) -> Option<Spacing> {
    match token {
        TokenTree::Punct(punct) if punct.as_char() == c => Some(punct.spacing()),
        _ => None,
    }
}

pub(super) fn is_keyword(word: &Ident) -> bool {
    KEYWORDS.iter().any(|keyword| word == keyword)
}

/// A name without the `r#` that makes one of a keyword.
pub(crate) fn unraw(name: &Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").unwrap_or(&name).to_owned()
}
