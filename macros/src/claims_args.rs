//! What stands in the parentheses of `#[leased_claims(…)]`.

use proc_macro2::{Delimiter, Ident, Span, TokenStream};

use crate::options::{Options, near, put, text};
use crate::parse::{Error, Expr, Input, Lit, Result, Text, unraw};

/// How a resource may be wanted.
const MODES: [&str; 3] = ["read", "write", "exclusive"];
/// The options with a value.
const KEYS: [&str; 5] = ["wait", "ttl", "owner", "scope", "crate"];

/// Words that people write for another one, and the one they mean.
const SYNONYMS: [(&str, &str); 12] = [
    ("shared", "read"),
    ("reads", "read"),
    ("readonly", "read"),
    ("rw", "write"),
    ("writes", "write"),
    ("alone", "exclusive"),
    ("lock", "exclusive"),
    ("timeout", "wait"),
    ("minutes", "ttl"),
    ("user", "owner"),
    ("repo", "scope"),
    ("krate", "crate"),
];

const EXAMPLE: &str = "`#[leased_claims(read(\"schema:orders\"), write(\"path:fixtures/users\"))]`";

/// The options of one attribute, checked.
#[derive(Default)]
pub(crate) struct ClaimsArgs {
    /// Mode and key, at least one.
    pub(crate) claims: Vec<(&'static str, Text)>,
    pub(crate) scope: Option<Text>,
    pub(crate) options: Options,
}

/// `mode("key", …)` or `key = value`.
struct Item {
    name: Ident,
    value: Value,
}

enum Value {
    None,
    Keys(Vec<Expr>),
    One(Expr),
}

impl Item {
    fn parse(input: &mut Input) -> Result<Self> {
        if let Some(place) = input.peek_literal() {
            return Err(Error::new(place, format!("a claim says how it is wanted, as in {EXAMPLE}")));
        }
        let name = input.any_ident()?;
        let value = if let Some(keys) = input.take_group(Delimiter::Parenthesis) {
            Value::Keys(Input::inside(&keys).list(Input::expr)?)
        } else if input.take_op("=") && !input.is_empty() && !input.peek_op(",") {
            Value::One(input.expr()?)
        } else {
            Value::None
        };
        Ok(Self { name, value })
    }
}

impl ClaimsArgs {
    /// Reads the options; every mistake is reported, each at the word that is wrong.
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let items = Input::new(tokens).list(Item::parse)?;
        let mut args = Self::default();
        Error::all(items.into_iter().filter_map(|item| args.take(item).err()))?;
        if args.claims.is_empty() {
            return Err(Error::new(Span::call_site(), format!("nothing is claimed: say what, as in {EXAMPLE}")));
        }
        Ok(args)
    }

    fn take(&mut self, Item { name, value }: Item) -> Result<()> {
        let word = unraw(&name);
        match (MODES.into_iter().find(|mode| *mode == word), value) {
            (Some(mode), Value::Keys(keys)) => self.take_claims(mode, &name, &keys),
            (Some(mode), Value::None | Value::One(_)) => {
                let message = format!("`{mode}` has its resources in parentheses, as in `{mode}(\"schema:orders\")`");
                Err(Error::new(name.span(), message))
            }
            (None, Value::One(value)) => self.take_option(&name, &word, &value),
            (None, Value::None) if KEYS.contains(&&*word) => {
                Err(Error::new(name.span(), format!("`{word}` needs a value, as in `{word} = …`")))
            }
            (None, Value::Keys(_)) if KEYS.contains(&&*word) => {
                Err(Error::new(name.span(), format!("`{word}` is an option, as in `{word} = …`")))
            }
            (None, Value::Keys(_)) => Err(Error::new(name.span(), unknown("mode", &word, &MODES))),
            (None, Value::None) => Err(Error::new(name.span(), unknown("option", &word, &KEYS))),
        }
    }

    fn take_claims(&mut self, mode: &'static str, name: &Ident, keys: &[Expr]) -> Result<()> {
        if keys.is_empty() {
            let message = format!("`{mode}` names no resource; it does as in `{mode}(\"schema:orders\")`");
            return Err(Error::new(name.span(), message));
        }
        keys.iter().try_for_each(|key| self.take_claim(mode, key))
    }

    fn take_claim(&mut self, mode: &'static str, key: &Expr) -> Result<()> {
        let Some(Lit::Text(key)) = key.literal() else {
            return Err(Error::new_spanned(key, format!("a resource is a text, as in `{mode}(\"schema:orders\")`")));
        };
        let name = &key.value;
        if name.trim().is_empty() {
            return Err(Error::new(key.place, "a resource needs a name that is not blank"));
        }
        if self.claims.iter().any(|(_, known)| known.value.trim() == name.trim()) {
            return Err(Error::new(key.place, format!("{name:?} is claimed twice: once is enough, in the stronger mode")));
        }
        self.claims.push((mode, key));
        Ok(())
    }

    fn take_option(&mut self, name: &Ident, word: &str, value: &Expr) -> Result<()> {
        if word == "scope" {
            return put(&mut self.scope, name, text(value, "scope")?);
        }
        self.options.take(name, value).unwrap_or_else(|| Err(Error::new(name.span(), unknown("option", word, &KEYS))))
    }
}

fn unknown(what: &str, word: &str, all: &[&str]) -> String {
    match near(word, all, &SYNONYMS) {
        Some(meant) if MODES.contains(&meant) => format!("unknown {what} `{word}`: did you mean `{meant}(…)`?"),
        Some(meant) => format!("unknown {what} `{word}`: did you mean `{meant} = …`?"),
        None => format!("unknown {what} `{word}`: there are `{}`", all.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Wait;

    #[test]
    fn everything_at_once() {
        let args = ClaimsArgs::parse(quote::quote!(
            read("a", "b"),
            exclusive("device:1"),
            wait = "1m",
            ttl = 0.5,
            owner = "ci",
            scope = "s",
            crate = a::b,
        ));
        let args = args.unwrap_or_else(|error| panic!("{error}"));
        let claims: Vec<_> = args.claims.iter().map(|(mode, key)| (*mode, &*key.value)).collect();
        assert_eq!(claims, [("read", "a"), ("read", "b"), ("exclusive", "device:1")]);
        assert_eq!((args.options.wait, args.options.ttl_minutes), (Some(Wait::Millis(60_000)), Some(0.5)));
        assert_eq!(args.options.runtime().to_string(), "a :: b");
        assert_eq!((&*args.options.owner.unwrap().value, &*args.scope.unwrap().value), ("ci", "s"));
    }

    #[test]
    fn near_words() {
        let table = [
            ("raed", "read"),
            ("shared", "read"),
            ("wirte", "write"),
            ("exclusiv", "exclusive"),
            ("lock", "exclusive"),
            ("tll", "ttl"),
            ("waits", "wait"),
            ("repo", "scope"),
        ];
        let all: Vec<_> = MODES.into_iter().chain(KEYS).collect();
        for (word, meant) in table {
            assert_eq!(near(word, &all, &SYNONYMS), Some(meant), "{word}");
        }
        assert_eq!((near("heartbeat", &all, &SYNONYMS), near("own", &MODES, &SYNONYMS)), (None, None));
    }
}
