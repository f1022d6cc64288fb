//! What stands in the parentheses of `#[leased_slot(…)]`.

use std::time::Duration;

use proc_macro2::Span;
use strsim::levenshtein;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::token::Paren;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Path, Result, Token};

use crate::duration::parse_duration;

/// Every key, in the order in which messages list them.
const KEYS: [&str; 7] = ["pool", "pools", "ttl", "wait", "owner", "reset", "crate"];

/// The key whose values stand in parentheses.
const LIST: &str = "pools";

/// The key that has no value.
const FLAG: &str = "reset";

/// Words that people write for a key, and the key they mean.
const SYNONYMS: [(&str, &str); 8] = [
    ("file", "pool"),
    ("path", "pool"),
    ("minutes", "ttl"),
    ("ttl_minutes", "ttl"),
    ("timeout", "wait"),
    ("user", "owner"),
    ("clean", "reset"),
    ("krate", "crate"),
];

/// The longest TTL the format knows: 366 days.
const MAX_TTL_MINUTES: f64 = 527_040.0;
const TTL_RANGE: &str = "`ttl` is more than 0 and at most 527040 minutes (366 days)";

/// The options of one attribute, checked.
pub(crate) struct Args {
    /// The pool files as written, at least one; they are resolved when the test runs.
    pub(crate) pools: Vec<LitStr>,
    /// TTL in minutes.
    pub(crate) ttl_minutes: Option<f64>,
    /// How long to wait for a slot.
    pub(crate) wait: Option<Wait>,
    /// Who asks.
    pub(crate) owner: Option<LitStr>,
    /// Whether the test wants the slot clean, also behind another: where it says so.
    pub(crate) reset: Option<Span>,
    /// Where the runtime is.
    pub(crate) runtime: Path,
}

/// How long to wait for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// At most so many milliseconds.
    Millis(u64),
}

impl Args {
    /// Reads the options; every mistake is reported, each at the word that is wrong.
    pub(crate) fn parse(tokens: proc_macro2::TokenStream) -> Result<Self> {
        let pairs = Punctuated::<Pair, Token![,]>::parse_terminated.parse2(tokens)?;
        let mut found = Found::default();
        let mut errors = None::<Error>;
        for pair in pairs {
            if let Err(error) = found.take(pair) {
                match &mut errors {
                    Some(errors) => errors.combine(error),
                    None => errors = Some(error),
                }
            }
        }
        match errors {
            Some(errors) => Err(errors),
            None => found.finish(),
        }
    }
}

/// One `key = value`, `key(value, …)` or `key`.
struct Pair {
    key: Ident,
    value: Value,
}

enum Value {
    None,
    One(Expr),
    List(Vec<Expr>),
}

impl Parse for Pair {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(Lit) {
            let literal: Lit = input.parse()?;
            return Err(Error::new(literal.span(), "an option needs its name, as in `pool = \"pool.json\"`"));
        }
        let key = Ident::parse_any(input)?;
        if key == LIST && input.peek(Paren) {
            let inside;
            syn::parenthesized!(inside in input);
            let values = Punctuated::<Expr, Token![,]>::parse_terminated(&inside)?;
            return Ok(Self { key, value: Value::List(values.into_iter().collect()) });
        }
        if key == FLAG {
            return if input.is_empty() || input.peek(Token![,]) {
                Ok(Self { key, value: Value::None })
            } else {
                Err(Error::new(key.span(), "`reset` stands alone, as in `#[leased_slot(pool = \"pool.json\", reset)]`"))
            };
        }
        if !input.peek(Token![=]) {
            return Err(needs_value(&key));
        }
        input.parse::<Token![=]>()?;
        if input.is_empty() || input.peek(Token![,]) {
            return Err(needs_value(&key));
        }
        Ok(Self { key, value: Value::One(input.parse()?) })
    }
}

/// The options met so far.
#[derive(Default)]
struct Found {
    pools: Option<Vec<LitStr>>,
    ttl_minutes: Option<f64>,
    wait: Option<Wait>,
    owner: Option<LitStr>,
    reset: Option<Span>,
    runtime: Option<Path>,
}

impl Found {
    fn take(&mut self, Pair { key, value }: Pair) -> Result<()> {
        let value = match value {
            Value::None => return put(&mut self.reset, &key, key.span()),
            Value::One(value) => value,
            Value::List(values) => return self.take_pools(&key, pools(&key, &values)?),
        };
        match key.unraw().to_string().as_str() {
            "pool" => self.take_pools(&key, vec![text(&value, "pool")?]),
            LIST => Err(Error::new_spanned(value, format!("`{LIST}` is a list, as in `{}`", example_of(LIST)))),
            "ttl" => put(&mut self.ttl_minutes, &key, minutes(&value)?),
            "wait" => put(&mut self.wait, &key, wait(&value)?),
            "owner" => put(&mut self.owner, &key, text(&value, "owner")?),
            "crate" => put(&mut self.runtime, &key, path(value)?),
            unknown => Err(Error::new(key.span(), unknown_key(unknown))),
        }
    }

    fn take_pools(&mut self, key: &Ident, pools: Vec<LitStr>) -> Result<()> {
        let is_list = |pools: &Vec<LitStr>| pools.len() != 1;
        if self.pools.as_ref().is_some_and(|known| is_list(known) != is_list(&pools)) {
            return Err(Error::new(key.span(), "`pool` names one pool and `pools` names all: a test has one of these options"));
        }
        put(&mut self.pools, key, pools)
    }

    fn finish(self) -> Result<Args> {
        let pools = self
            .pools
            .ok_or_else(|| Error::new(Span::call_site(), "the pool is missing, as in `#[leased_slot(pool = \"pool.json\")]`"))?;
        Ok(Args {
            pools,
            ttl_minutes: self.ttl_minutes,
            wait: self.wait,
            owner: self.owner,
            reset: self.reset,
            runtime: self.runtime.unwrap_or_else(|| syn::parse_quote!(::lease_harness)),
        })
    }
}

/// Keeps the value of an option that may be given once.
pub(crate) fn put<T>(place: &mut Option<T>, key: &Ident, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(key.span(), format!("`{key}` is given twice"))),
    }
}

/// Several pools, each named once.
fn pools(key: &Ident, values: &[Expr]) -> Result<Vec<LitStr>> {
    if values.len() < 2 {
        let message = format!("`{key}` names two pools or more, as in `{}`; one is `{}`", example_of(LIST), example_of("pool"));
        return Err(Error::new(key.span(), message));
    }
    let mut pools = Vec::<LitStr>::new();
    for value in values {
        let pool = text(value, LIST)?;
        if pools.iter().any(|known| known.value() == pool.value()) {
            let message = format!("{:?} is named twice: a test takes one slot of a pool", pool.value());
            return Err(Error::new(pool.span(), message));
        }
        pools.push(pool);
    }
    Ok(pools)
}

/// A text that is not empty.
pub(crate) fn text(value: &Expr, key: &str) -> Result<LitStr> {
    match literal(value) {
        Some(Lit::Str(text)) if !text.value().is_empty() => Ok(text.clone()),
        Some(Lit::Str(text)) => Err(Error::new(text.span(), format!("`{key}` is empty"))),
        _ if key == LIST => Err(Error::new_spanned(value, format!("`{key}` are texts, as in `{}`", example_of(key)))),
        _ => Err(Error::new_spanned(value, format!("`{key}` is a text, as in `{}`", example_of(key)))),
    }
}

/// A TTL.
pub(crate) fn minutes(value: &Expr) -> Result<f64> {
    let number = match literal(value) {
        Some(Lit::Int(number)) if number.suffix().is_empty() => number.base10_parse::<f64>()?,
        Some(Lit::Float(number)) if number.suffix().is_empty() => number.base10_parse::<f64>()?,
        Some(Lit::Int(_) | Lit::Float(_)) => {
            return Err(Error::new_spanned(value, "`ttl` is a plain number of minutes, without a suffix"));
        }
        _ if is_negative(value) => return Err(Error::new_spanned(value, TTL_RANGE)),
        _ => {
            return Err(Error::new_spanned(value, "`ttl` is a number of minutes, as in `ttl = 30` or `ttl = 0.5`"));
        }
    };
    if 0.0 < number && number <= MAX_TTL_MINUTES { Ok(number) } else { Err(Error::new_spanned(value, TTL_RANGE)) }
}

/// A wait: `0`, `"no"` or a duration.
pub(crate) fn wait(value: &Expr) -> Result<Wait> {
    let help = "`wait` is a duration, as in `wait = \"90s\"`, `\"10m\"` or `\"1h30m\"`, or `0` for not at all";
    match literal(value) {
        Some(Lit::Int(number)) if number.base10_digits() == "0" => Ok(Wait::No),
        Some(Lit::Int(number)) => {
            let digits = number.base10_digits();
            Err(Error::new(number.span(), format!("`wait` needs a unit, as in `wait = \"{digits}s\"` or `\"{digits}m\"`")))
        }
        Some(Lit::Str(text)) if text.value() == "no" => Ok(Wait::No),
        Some(Lit::Str(text)) => match parse_duration(&text.value()) {
            Ok(longest) => Ok(at_most(longest)),
            Err(why) => Err(Error::new(text.span(), format!("`wait`: {why}"))),
        },
        _ => Err(Error::new_spanned(value, help)),
    }
}

/// Rounded up, so that a short wait is not none.
fn at_most(longest: Duration) -> Wait {
    let millis = longest.as_nanos().div_ceil(1_000_000);
    if millis == 0 { Wait::No } else { Wait::Millis(u64::try_from(millis).unwrap_or(u64::MAX)) }
}

pub(crate) fn path(value: Expr) -> Result<Path> {
    match value {
        Expr::Path(path) if path.qself.is_none() && path.attrs.is_empty() => Ok(path.path),
        other => Err(Error::new_spanned(other, "`crate` is a path, as in `crate = my_crate::lease_harness`")),
    }
}

pub(crate) fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(ExprLit { lit, attrs }) if attrs.is_empty() => Some(lit),
        // A value that comes out of a `macro_rules!` variable stands in an invisible group.
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

fn is_negative(value: &Expr) -> bool {
    match value {
        Expr::Unary(unary) => matches!(unary.op, syn::UnOp::Neg(_)),
        Expr::Group(group) => is_negative(&group.expr),
        _ => false,
    }
}

fn example_of(key: &str) -> &'static str {
    match key {
        "ttl" => "ttl = 30",
        "wait" => "wait = \"10m\"",
        "owner" => "owner = \"ci\"",
        "crate" => "crate = my_crate::lease_harness",
        "scope" => "scope = \"nightly\"",
        LIST => "pools(\"db.json\", \"ports.json\")",
        _ => "pool = \"pool.json\"",
    }
}

/// About a key without a value; nothing helps one that does not exist.
fn needs_value(key: &Ident) -> Error {
    let word = key.unraw().to_string();
    let message = match KEYS.contains(&&*word) {
        true => format!("`{word}` needs a value, as in `{}`", example_of(&word)),
        false => unknown_key(&word),
    };
    Error::new(key.span(), message)
}

fn unknown_key(word: &str) -> String {
    match near_key(word) {
        Some(key) => format!("unknown option `{word}`: did you mean `{key}`?"),
        None => format!("unknown option `{word}`: there are `{}`", KEYS.join("`, `")),
    }
}

/// The key that was probably meant.
fn near_key(word: &str) -> Option<&'static str> {
    if let Some((_, key)) = SYNONYMS.iter().find(|(synonym, _)| *synonym == word) {
        return Some(key);
    }
    KEYS.into_iter().map(|key| (levenshtein(word, key), key)).filter(|(edits, _)| *edits <= 2).min().map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duration::CASES;

    #[test]
    fn durations_are_those_of_the_command_line() {
        for (text, expected) in CASES {
            let args = Args::parse(quote::quote!(pool = "p", wait = #text));
            match expected {
                Ok(0) => assert_eq!(args.unwrap().wait, Some(Wait::No), "{text:?}"),
                Ok(micros) => assert_eq!(args.unwrap().wait, Some(Wait::Millis(micros.div_ceil(1000))), "{text:?}"),
                Err(part) => {
                    let error = args.err().unwrap_or_else(|| panic!("{text:?} is accepted")).to_string();
                    assert!(error.contains(part), "{text:?}: {error}");
                }
            }
        }
    }

    #[track_caller]
    fn check_near(word: &str, expected: Option<&str>) {
        assert_eq!(near_key(word), expected, "{word:?}");
    }

    #[test]
    fn near_keys() {
        check_near("pol", Some("pool"));
        check_near("pols", Some("pools"));
        check_near("tll", Some("ttl"));
        check_near("timeout", Some("wait"));
        check_near("waits", Some("wait"));
        check_near("onwer", Some("owner"));
        check_near("krate", Some("crate"));
        check_near("resets", Some("reset"));
        check_near("clean", Some("reset"));
        check_near("heartbeat", None);
        check_near("", None);
    }

    #[test]
    fn everything_at_once() {
        let args =
            Args::parse(quote::quote!(pool = "p.json", ttl = 0.5, wait = "1m", owner = "ci", reset, crate = a::b,)).unwrap();
        assert_eq!(args.pools[0].value(), "p.json");
        assert_eq!(args.ttl_minutes, Some(0.5));
        assert_eq!(args.wait, Some(Wait::Millis(60_000)));
        assert_eq!(args.owner.unwrap().value(), "ci");
        assert!(args.reset.is_some());
        assert_eq!(args.runtime.segments.len(), 2);
    }

    #[test]
    fn no_wait_has_three_spellings() {
        for tokens in
            [quote::quote!(pool = "p", wait = 0), quote::quote!(pool = "p", wait = "0"), quote::quote!(pool = "p", wait = "no")]
        {
            assert_eq!(Args::parse(tokens).unwrap().wait, Some(Wait::No));
        }
    }
}
