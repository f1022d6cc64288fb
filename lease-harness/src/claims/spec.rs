//! One claim.

use std::fmt;

use super::key::ResourceKey;
use super::mode::{Mode, UnknownMode};
use crate::json::{Json, Object};

/// A resource and how it is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    given: String,
    key: ResourceKey,
    mode: Mode,
    /// Whatever else the claim says, in its order.
    rest: Object,
}

/// Why something is no claim.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimError {
    /// It is no object, or has no text as `resourceKey` or `mode`.
    Shape(String),
    /// The key is blank. It is refused, not left out: nothing claimed would look like everything granted.
    BlankKey,
    /// The mode is none.
    Mode(UnknownMode),
}

impl Claim {
    /// A claim on one resource.
    ///
    /// # Errors
    /// The key is blank.
    pub fn new(given: &str, mode: Mode) -> Result<Self, ClaimError> {
        let key = ResourceKey::new(given).ok_or(ClaimError::BlankKey)?;
        Ok(Self { given: given.to_owned(), key, mode, rest: Object::new() })
    }

    /// Reads the claim's document. Members that mean nothing here are kept.
    ///
    /// # Errors
    /// It is no claim.
    pub fn from_json(document: &Json) -> Result<Self, ClaimError> {
        let Json::Object(members) = document else { return Err(ClaimError::Shape("a claim is an object".to_owned())) };
        let text = |name: &str| {
            let value = members.get(name).and_then(Json::as_str);
            value.ok_or_else(|| ClaimError::Shape(format!("a claim's {name} is a text")))
        };
        let claim = Self::new(text(KEY)?, text(MODE)?.parse().map_err(ClaimError::Mode)?)?;
        let rest = members.iter().filter(|(name, _)| !matches!(*name, KEY | MODE));
        Ok(Self { rest: rest.map(|(name, value)| (name.to_owned(), value.clone())).collect(), ..claim })
    }

    /// The claim's document, with the key in its normal form.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let own = [(KEY, Json::from(self.key.as_str())), (MODE, Json::from(self.mode.as_str()))];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        Json::Object(own.chain(self.rest.iter().map(|(name, value)| (name.to_owned(), value.clone()))).collect())
    }

    /// The resource as it was written.
    #[must_use]
    pub fn given(&self) -> &str {
        &self.given
    }

    /// The resource.
    #[must_use]
    pub fn key(&self) -> &ResourceKey {
        &self.key
    }

    /// How it is wanted.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Says something beside key and mode.
    pub(super) fn say(&mut self, name: &'static str, value: &str) {
        self.rest.insert(name, value);
    }

    /// The same without what no operation looks at: what is left is key, mode, `repoId`, `checkoutId` and `workId`.
    #[must_use]
    pub fn plain(&self) -> Self {
        let place = ["repoId", "checkoutId", "workId"].into_iter().filter_map(|name| {
            let value = self.text(name).filter(|value| !value.is_empty())?;
            Some((name.to_owned(), Json::from(value)))
        });
        Self { rest: place.collect(), ..self.clone() }
    }

    /// A member beside key and mode, such as `checkoutId`, if it is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.rest.get(name).and_then(Json::as_str)
    }
}

const KEY: &str = "resourceKey";
const MODE: &str = "mode";

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(what) => f.write_str(what),
            Self::BlankKey => f.write_str("a claim's resourceKey is blank"),
            Self::Mode(unknown) => unknown.fmt(f),
        }
    }
}

impl std::error::Error for ClaimError {}
