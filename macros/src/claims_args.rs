//! What stands in the parentheses of `#[leased_claims(…)]`.

use proc_macro2::{Span, TokenStream};
use strsim::osa_distance;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::token::Paren;
use syn::{Error, Expr, Ident, Lit, LitStr, Path, Result, Token};

use crate::args::{Wait, literal, minutes, path, put, text, wait};

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
pub(crate) struct ClaimsArgs {
    /// Mode and key, at least one.
    pub(crate) claims: Vec<(&'static str, LitStr)>,
    pub(crate) ttl_minutes: Option<f64>,
    pub(crate) wait: Option<Wait>,
    pub(crate) owner: Option<LitStr>,
    pub(crate) scope: Option<LitStr>,
    pub(crate) runtime: Path,
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

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Lit) {
            let literal: Lit = input.parse()?;
            return Err(Error::new(literal.span(), format!("a claim says how it is wanted, as in {EXAMPLE}")));
        }
        let name = Ident::parse_any(input)?;
        if input.peek(Paren) {
            let inside;
            syn::parenthesized!(inside in input);
            let keys = Punctuated::<Expr, Token![,]>::parse_terminated(&inside)?;
            return Ok(Self { name, value: Value::Keys(keys.into_iter().collect()) });
        }
        if !input.peek(Token![=]) {
            return Ok(Self { name, value: Value::None });
        }
        input.parse::<Token![=]>()?;
        let value = if input.is_empty() || input.peek(Token![,]) { Value::None } else { Value::One(input.parse()?) };
        Ok(Self { name, value })
    }
}

impl ClaimsArgs {
    /// Reads the options; every mistake is reported, each at the word that is wrong.
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let items = Punctuated::<Item, Token![,]>::parse_terminated.parse2(tokens)?;
        let mut found = Found::default();
        let mut errors = None::<Error>;
        for error in items.into_iter().filter_map(|item| found.take(item).err()) {
            match &mut errors {
                Some(errors) => errors.combine(error),
                None => errors = Some(error),
            }
        }
        match errors {
            Some(errors) => Err(errors),
            None => found.finish(),
        }
    }
}

/// What was met so far.
#[derive(Default)]
struct Found {
    claims: Vec<(&'static str, LitStr)>,
    ttl_minutes: Option<f64>,
    wait: Option<Wait>,
    owner: Option<LitStr>,
    scope: Option<LitStr>,
    runtime: Option<Path>,
}

impl Found {
    fn take(&mut self, Item { name, value }: Item) -> Result<()> {
        let word = name.unraw().to_string();
        match (MODES.into_iter().find(|mode| *mode == word), value) {
            (Some(mode), Value::Keys(keys)) => self.take_claims(mode, &name, &keys),
            (Some(mode), Value::None | Value::One(_)) => {
                let message = format!("`{mode}` has its resources in parentheses, as in `{mode}(\"schema:orders\")`");
                Err(Error::new(name.span(), message))
            }
            (None, Value::One(value)) => self.take_option(&name, &word, value),
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
        let Some(Lit::Str(key)) = literal(key) else {
            return Err(Error::new_spanned(key, format!("a resource is a text, as in `{mode}(\"schema:orders\")`")));
        };
        let name = key.value();
        if name.trim().is_empty() {
            return Err(Error::new(key.span(), "a resource needs a name that is not blank"));
        }
        if self.claims.iter().any(|(_, known)| known.value().trim() == name.trim()) {
            return Err(Error::new(key.span(), format!("{name:?} is claimed twice: once is enough, in the stronger mode")));
        }
        self.claims.push((mode, key.clone()));
        Ok(())
    }

    fn take_option(&mut self, name: &Ident, word: &str, value: Expr) -> Result<()> {
        match word {
            "wait" => put(&mut self.wait, name, wait(&value)?),
            "ttl" => put(&mut self.ttl_minutes, name, minutes(&value)?),
            "owner" => put(&mut self.owner, name, text(&value, "owner")?),
            "scope" => put(&mut self.scope, name, text(&value, "scope")?),
            "crate" => put(&mut self.runtime, name, path(value)?),
            _ => Err(Error::new(name.span(), unknown("option", word, &KEYS))),
        }
    }

    fn finish(self) -> Result<ClaimsArgs> {
        if self.claims.is_empty() {
            return Err(Error::new(Span::call_site(), format!("nothing is claimed: say what, as in {EXAMPLE}")));
        }
        Ok(ClaimsArgs {
            claims: self.claims,
            ttl_minutes: self.ttl_minutes,
            wait: self.wait,
            owner: self.owner,
            scope: self.scope,
            runtime: self.runtime.unwrap_or_else(|| syn::parse_quote!(::lease_harness)),
        })
    }
}

fn unknown(what: &str, word: &str, all: &[&str]) -> String {
    match near(word, all) {
        Some(meant) if MODES.contains(&meant) => format!("unknown {what} `{word}`: did you mean `{meant}(…)`?"),
        Some(meant) => format!("unknown {what} `{word}`: did you mean `{meant} = …`?"),
        None => format!("unknown {what} `{word}`: there are `{}`", all.join("`, `")),
    }
}

/// Which of them was probably meant.
fn near<'a>(word: &str, all: &[&'a str]) -> Option<&'a str> {
    let synonym = SYNONYMS.iter().find(|(synonym, _)| *synonym == word).map_or(word, |(_, meant)| meant);
    let edits = all.iter().map(|known| (osa_distance(synonym, known), *known));
    edits.filter(|(edits, _)| *edits <= 2).min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let claims: Vec<_> = args.claims.iter().map(|(mode, key)| (*mode, key.value())).collect();
        assert_eq!(claims, [("read", "a".into()), ("read", "b".into()), ("exclusive", "device:1".into())]);
        assert_eq!((args.wait, args.ttl_minutes), (Some(Wait::Millis(60_000)), Some(0.5)));
        assert_eq!((args.owner.unwrap().value(), args.scope.unwrap().value()), ("ci".into(), "s".into()));
        assert_eq!(args.runtime.segments.len(), 2);
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
            assert_eq!(near(word, &all), Some(meant), "{word}");
        }
        assert_eq!((near("heartbeat", &all), near("own", &MODES)), (None, None));
    }
}
