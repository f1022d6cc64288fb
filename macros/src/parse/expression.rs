//! Expressions: which tokens are one, and whether it is one that an option takes.
//!
//! Any may stand where a text belongs. The message is then about all of it, and the next option comes behind it. Of what begins
//! with a keyword or is a closure the end is not looked for: it is taken up to the next comma.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::input::is_keyword;
use super::{Generics, Input, Lit, Path, Result, as_written, only};

/// What stands between two operands; one that begins like another comes before it.
const OPERATORS: [&str; 29] = [
    "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "&&", "||", "<<", ">>", "==", "<=", "!=", ">=", "+", "-", "*",
    "/", "%", "^", "&", "|", "<", ">", "=",
];

/// Keywords that begin an expression.
const STATEMENTS: [&str; 17] = [
    "async", "become", "break", "const", "continue", "for", "if", "let", "loop", "match", "move", "return", "static", "try",
    "unsafe", "while", "yield",
];

pub(crate) struct Expr {
    tokens: TokenStream,
    /// The same, or what is in it if it is an invisible group.
    opened: TokenStream,
    /// Whether nothing stands between two operands of it.
    is_single: bool,
}

as_written!(Expr);

impl Expr {
    pub(crate) fn literal(&self) -> Option<Lit> {
        match only(&self.opened)? {
            TokenTree::Literal(literal) => Some(Lit::new(literal)),
            _ => None,
        }
    }

    pub(crate) fn path(&self) -> Option<Path> {
        let mut input = Input::new(self.tokens.clone());
        let is_invisible = input.is_at_invisible();
        input.path(Generics::BehindColons).ok().filter(|_| !is_invisible && input.is_empty())
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.is_single && Input::new(self.opened.clone()).peek_op("-")
    }
}

impl Input {
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        let (is_single, tokens) = self.record(|input| {
            let mut is_single = true;
            while !input.take_range()? {
                input.operand()?;
                if !input.peek_op("..") && !input.take_operator() {
                    return Ok(is_single);
                }
                is_single = false;
            }
            Ok(false)
        })?;
        match only(&tokens) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => {
                Ok(Expr { tokens, ..Self::inside(&group).expr()? })
            }
            _ => Ok(Expr { opened: tokens.clone(), tokens, is_single }),
        }
    }

    /// `..` and what stands behind it, with which an expression ends.
    fn take_range(&mut self) -> Result<bool> {
        let is_closed = self.take_op("..=");
        let is_range = is_closed || self.take_op("..");
        if is_closed || is_range && self.clone().expr().is_ok() {
            self.expr()?;
        }
        Ok(is_range)
    }

    fn take_operator(&mut self) -> bool {
        let is_arrow = self.peek_op("->") || self.peek_op("=>");
        let op = OPERATORS.into_iter().find(|op| !is_arrow && self.peek_op(op));
        op.is_some_and(|op| self.take_op(op)) || self.take_word("as").is_some()
    }

    fn operand(&mut self) -> Result<()> {
        while !self.is_at_invisible() && self.take_prefix()? {}
        let next = self.peek(0);
        let is_one_of = |words: &[&str]| matches!(&next, Some(TokenTree::Ident(next)) if words.iter().any(|word| next == word));
        match &next {
            _ if self.take_invisible() => {}
            Some(TokenTree::Literal(_)) => drop(self.take()),
            Some(TokenTree::Group(group)) => self.parts_of(group)?,
            _ if is_one_of(&["_", "true", "false"]) => drop(self.take()),
            _ if self.peek_path() => drop(self.path(Generics::BehindColons)?),
            _ if self.take_op("<") => self.qualified_path()?,
            _ if is_one_of(&STATEMENTS) || self.peek_op("|") || self.peek_op("'") => drop(self.until(|input| input.peek_op(","))),
            _ => return Err(self.error("expected an expression")),
        }
        while self.take_postfix()? {}
        Ok(())
    }

    fn take_prefix(&mut self) -> Result<bool> {
        if self.take_op("&") {
            self.take_word("mut");
            return Ok(true);
        }
        Ok(["-", "!", "*"].iter().any(|op| self.take_op(op)) || !self.attributes("#")?.is_empty())
    }

    /// What makes a call, a field or something else of what stands before it.
    fn take_postfix(&mut self) -> Result<bool> {
        match self.peek(0) {
            Some(TokenTree::Group(group)) => self.parts_of(&group)?,
            _ if self.peek_op("..") || self.peek_op("!=") => return Ok(false),
            _ if self.take_op(".") => self.member()?,
            _ if self.take_op("!") => match self.peek(0) {
                Some(TokenTree::Group(_)) => drop(self.take()),
                _ => return Err(self.error("expected delimiter")),
            },
            _ => return Ok(self.take_op("?")),
        }
        Ok(true)
    }

    /// What stands behind a dot.
    fn member(&mut self) -> Result<()> {
        match self.peek(0) {
            Some(TokenTree::Ident(name)) if !is_keyword(&name) || name == "await" => {}
            Some(TokenTree::Literal(index)) if Lit::new(index.clone()).is_number() => {}
            _ => return Err(self.error("expected identifier or integer")),
        }
        self.take();
        if self.take_op("::") { self.angles() } else { Ok(()) }
    }

    /// A group; that a comma is missing in it is told before anything else.
    fn parts_of(&mut self, group: &Group) -> Result<()> {
        self.take();
        let mut inside = Self::inside(group);
        if group.delimiter() == Delimiter::Parenthesis {
            return inside.list(Self::expr).map(drop);
        }
        while group.delimiter() == Delimiter::Bracket && !inside.is_empty() {
            inside.expr()?;
            if !inside.is_empty() && !inside.take_op(",") && !inside.take_op(";") {
                return Err(inside.error("expected `,` or `;`"));
            }
        }
        Ok(())
    }

    /// `Type as Trait>::name`.
    fn qualified_path(&mut self) -> Result<()> {
        self.path(Generics::BehindNames)?;
        if self.take_word("as").is_some() {
            self.path(Generics::BehindNames)?;
        }
        self.expect_op(">")?;
        self.expect_op("::")?;
        self.path(Generics::BehindColons).map(drop)
    }
}
