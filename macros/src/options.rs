//! What the options of both attributes have in common: some of them, and how their values are read.

use std::time::Duration;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use strsim::osa_distance;

use crate::duration::parse_duration;
use crate::parse::{Error, Expr, Lit, Path, Result, Text, unraw};

/// The longest TTL the format knows: 366 days.
const MAX_TTL_MINUTES: f64 = 527_040.0;
const TTL_RANGE: &str = "`ttl` is more than 0 and at most 527040 minutes (366 days)";

/// The options that both attributes have.
#[derive(Default)]
pub(crate) struct Options {
    /// TTL in minutes.
    pub(crate) ttl_minutes: Option<f64>,
    /// How long to wait for what is wanted.
    pub(crate) wait: Option<Wait>,
    /// Who asks.
    pub(crate) owner: Option<Text>,
    runtime: Option<Path>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// At most so many milliseconds.
    Millis(u64),
}

impl Options {
    /// Keeps the value if this is one of them.
    pub(crate) fn take(&mut self, key: &Ident, value: &Expr) -> Option<Result<()>> {
        Some(match unraw(key).as_str() {
            "ttl" => minutes(value).and_then(|minutes| put(&mut self.ttl_minutes, key, minutes)),
            "wait" => wait(value).and_then(|wait| put(&mut self.wait, key, wait)),
            "owner" => text(value, "owner").and_then(|owner| put(&mut self.owner, key, owner)),
            "crate" => path(value).and_then(|runtime| put(&mut self.runtime, key, runtime)),
            _ => return None,
        })
    }

    /// Where the runtime is.
    pub(crate) fn runtime(&self) -> TokenStream {
        self.runtime.as_ref().map_or_else(|| quote!(::lease_harness), ToTokens::to_token_stream)
    }
}

/// Keeps the value of an option that may be given once.
pub(crate) fn put<T>(place: &mut Option<T>, key: &Ident, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(key.span(), format!("`{key}` is given twice"))),
    }
}

/// A text that is not empty.
pub(crate) fn text(value: &Expr, key: &str) -> Result<Text> {
    match value.literal() {
        Some(Lit::Text(text)) if text.value.is_empty() => Err(Error::new(text.place, format!("`{key}` is empty"))),
        Some(Lit::Text(text)) => Ok(text),
        _ if key == "pools" => Err(Error::new_spanned(value, format!("`{key}` are texts, as in `{}`", example_of(key)))),
        _ => Err(Error::new_spanned(value, format!("`{key}` is a text, as in `{}`", example_of(key)))),
    }
}

/// A TTL.
fn minutes(value: &Expr) -> Result<f64> {
    let number = match value.literal() {
        Some(Lit::Int { digits, has_suffix: false, .. }) => digits.parse().ok(),
        Some(Lit::Float(Some(number))) => Some(number),
        Some(Lit::Int { .. } | Lit::Float(None)) => {
            return Err(Error::new_spanned(value, "`ttl` is a plain number of minutes, without a suffix"));
        }
        _ if value.is_negative() => None,
        _ => return Err(Error::new_spanned(value, "`ttl` is a number of minutes, as in `ttl = 30` or `ttl = 0.5`")),
    };
    let is_valid = |number: &f64| 0.0 < *number && *number <= MAX_TTL_MINUTES;
    number.filter(is_valid).ok_or_else(|| Error::new_spanned(value, TTL_RANGE))
}

/// A wait: `0`, `"no"` or a duration.
fn wait(value: &Expr) -> Result<Wait> {
    let help = "`wait` is a duration, as in `wait = \"90s\"`, `\"10m\"` or `\"1h30m\"`, or `0` for not at all";
    match value.literal() {
        Some(Lit::Int { digits, .. }) if digits == "0" => Ok(Wait::No),
        Some(Lit::Int { digits, place, .. }) => {
            Err(Error::new(place, format!("`wait` needs a unit, as in `wait = \"{digits}s\"` or `\"{digits}m\"`")))
        }
        Some(Lit::Text(text)) if text.value == "no" => Ok(Wait::No),
        Some(Lit::Text(text)) => match parse_duration(&text.value) {
            Ok(longest) => Ok(at_most(longest)),
            Err(why) => Err(Error::new(text.place, format!("`wait`: {why}"))),
        },
        _ => Err(Error::new_spanned(value, help)),
    }
}

/// Rounded up, so that a short wait is not none.
fn at_most(longest: Duration) -> Wait {
    let millis = longest.as_nanos().div_ceil(1_000_000);
    if millis == 0 { Wait::No } else { Wait::Millis(u64::try_from(millis).unwrap_or(u64::MAX)) }
}

fn path(value: &Expr) -> Result<Path> {
    value.path().ok_or_else(|| Error::new_spanned(value, "`crate` is a path, as in `crate = my_crate::lease_harness`"))
}

pub(crate) fn example_of(key: &str) -> &'static str {
    match key {
        "ttl" => "ttl = 30",
        "wait" => "wait = \"10m\"",
        "owner" => "owner = \"ci\"",
        "crate" => "crate = my_crate::lease_harness",
        "scope" => "scope = \"nightly\"",
        "pools" => "pools(\"db.json\", \"ports.json\")",
        _ => "pool = \"pool.json\"",
    }
}

/// Which of all was probably meant; a synonym stands beside what it means.
pub(crate) fn near<'a>(word: &str, all: &[&'a str], synonyms: &[(&str, &str)]) -> Option<&'a str> {
    let word = synonyms.iter().find(|(synonym, _)| *synonym == word).map_or(word, |(_, meant)| meant);
    let edits = all.iter().map(|known| (osa_distance(word, known), *known));
    edits.filter(|(edits, _)| *edits <= 2).min().map(|(_, known)| known)
}
