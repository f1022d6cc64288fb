//! What stands in the parentheses of `#[leased_slot(…)]`.

use proc_macro2::{Delimiter, Ident, Span, TokenStream};

use crate::options::{Options, example_of, near, put, text};
use crate::parse::{Error, Expr, Input, Result, Text, unraw};

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

/// The options of one attribute, checked.
#[derive(Default)]
pub(crate) struct Args {
    /// The pool files as written, at least one; they are resolved when the test runs.
    pub(crate) pools: Vec<Text>,
    /// Whether the test wants the slot clean, also behind another: where it says so.
    pub(crate) reset: Option<Span>,
    pub(crate) options: Options,
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

impl Args {
    /// Reads the options; every mistake is reported, each at the word that is wrong.
    pub(crate) fn parse(tokens: TokenStream) -> Result<Self> {
        let pairs = Input::new(tokens).list(Pair::parse)?;
        let mut args = Self::default();
        Error::all(pairs.into_iter().filter_map(|pair| args.take(pair).err()))?;
        if args.pools.is_empty() {
            return Err(Error::new(Span::call_site(), "the pool is missing, as in `#[leased_slot(pool = \"pool.json\")]`"));
        }
        Ok(args)
    }

    fn take(&mut self, Pair { key, value }: Pair) -> Result<()> {
        let value = match value {
            Value::None => return put(&mut self.reset, &key, key.span()),
            Value::One(value) => value,
            Value::List(values) => return self.take_pools(&key, pools(&key, &values)?),
        };
        match unraw(&key).as_str() {
            "pool" => self.take_pools(&key, vec![text(&value, "pool")?]),
            LIST => Err(Error::new_spanned(value, format!("`{LIST}` is a list, as in `{}`", example_of(LIST)))),
            word => self.options.take(&key, &value).unwrap_or_else(|| Err(Error::new(key.span(), unknown_key(word)))),
        }
    }

    fn take_pools(&mut self, key: &Ident, pools: Vec<Text>) -> Result<()> {
        let is_list = |pools: &[Text]| pools.len() != 1;
        if self.pools.is_empty() {
            self.pools = pools;
            return Ok(());
        }
        let message = match is_list(&self.pools) == is_list(&pools) {
            true => format!("`{key}` is given twice"),
            false => "`pool` names one pool and `pools` names all: a test has one of these options".to_owned(),
        };
        Err(Error::new(key.span(), message))
    }
}

impl Pair {
    fn parse(input: &mut Input) -> Result<Self> {
        if let Some(place) = input.peek_literal() {
            return Err(Error::new(place, "an option needs its name, as in `pool = \"pool.json\"`"));
        }
        let key = input.any_ident()?;
        let has_value = |input: &Input| !input.is_empty() && !input.peek_op(",");
        if key == LIST
            && let Some(values) = input.take_group(Delimiter::Parenthesis)
        {
            return Ok(Self { key, value: Value::List(Input::inside(&values).list(Input::expr)?) });
        }
        if key == FLAG {
            return match has_value(input) {
                true => Err(Error::new(key.span(), "`reset` stands alone, as in `#[leased_slot(pool = \"pool.json\", reset)]`")),
                false => Ok(Self { key, value: Value::None }),
            };
        }
        if !input.take_op("=") || !has_value(input) {
            return Err(needs_value(&key));
        }
        Ok(Self { key, value: Value::One(input.expr()?) })
    }
}

/// Several pools, each named once.
fn pools(key: &Ident, values: &[Expr]) -> Result<Vec<Text>> {
    if values.len() < 2 {
        let message = format!("`{key}` names two pools or more, as in `{}`; one is `{}`", example_of(LIST), example_of("pool"));
        return Err(Error::new(key.span(), message));
    }
    let mut pools = Vec::<Text>::new();
    for value in values {
        let pool = text(value, LIST)?;
        if pools.iter().any(|known| known.value == pool.value) {
            let message = format!("{:?} is named twice: a test takes one slot of a pool", pool.value);
            return Err(Error::new(pool.place, message));
        }
        pools.push(pool);
    }
    Ok(pools)
}

/// About a key without a value; nothing helps one that does not exist.
fn needs_value(key: &Ident) -> Error {
    let word = unraw(key);
    let message = match KEYS.contains(&&*word) {
        true => format!("`{word}` needs a value, as in `{}`", example_of(&word)),
        false => unknown_key(&word),
    };
    Error::new(key.span(), message)
}

fn unknown_key(word: &str) -> String {
    match near(word, &KEYS, &SYNONYMS) {
        Some(key) => format!("unknown option `{word}`: did you mean `{key}`?"),
        None => format!("unknown option `{word}`: there are `{}`", KEYS.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duration::CASES;
    use crate::options::Wait;

    #[test]
    fn durations_are_those_of_the_command_line() {
        for (text, expected) in CASES {
            let args = Args::parse(quote::quote!(pool = "p", wait = #text));
            match expected {
                Ok(0) => assert_eq!(args.unwrap().options.wait, Some(Wait::No), "{text:?}"),
                Ok(micros) => assert_eq!(args.unwrap().options.wait, Some(Wait::Millis(micros.div_ceil(1000))), "{text:?}"),
                Err(part) => {
                    let error = args.err().unwrap_or_else(|| panic!("{text:?} is accepted")).to_string();
                    assert!(error.contains(part), "{text:?}: {error}");
                }
            }
        }
    }

    #[track_caller]
    fn check_near(word: &str, expected: Option<&str>) {
        assert_eq!(near(word, &KEYS, &SYNONYMS), expected, "{word:?}");
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
        assert_eq!(args.pools[0].value, "p.json");
        assert_eq!(args.options.ttl_minutes, Some(0.5));
        assert_eq!(args.options.wait, Some(Wait::Millis(60_000)));
        assert_eq!(args.options.runtime().to_string(), "a :: b");
        assert_eq!(args.options.owner.unwrap().value, "ci");
        assert!(args.reset.is_some());
    }

    #[test]
    fn no_wait_has_three_spellings() {
        for tokens in
            [quote::quote!(pool = "p", wait = 0), quote::quote!(pool = "p", wait = "0"), quote::quote!(pool = "p", wait = "no")]
        {
            assert_eq!(Args::parse(tokens).unwrap().options.wait, Some(Wait::No));
        }
    }
}
