//! Documents from Rust values, and between this type and serde_json's.

use serde_json::Value;

use super::{Json, Object, from_utf16, plain_text};

/// How deep a document may be nested to become a serde_json value, which is dropped by recursion.
const SERDE_DEPTH: usize = 128;

/// An object of these members, in JavaScript's order.
pub fn object<K: Into<String>>(members: impl IntoIterator<Item = (K, Json)>) -> Json {
    Json::Object(members.into_iter().collect())
}

impl Json {
    /// This document for typed access through serde: whole numbers become integers, an infinite number becomes
    /// `null`, half of a surrogate pair becomes U+FFFD. `None` if it is nested more than 128 deep.
    pub fn to_serde(&self) -> Option<Value> {
        to_serde(self, SERDE_DEPTH)
    }
}

fn to_serde(value: &Json, depth: usize) -> Option<Value> {
    let inner = || depth.checked_sub(1);
    Some(match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(value) => serde_number(*value),
        Json::String(value) => Value::String(plain_text(value).into_owned()),
        Json::Array(items) => {
            let depth = inner()?;
            items.iter().map(|item| to_serde(item, depth)).collect::<Option<Vec<_>>>()?.into()
        }
        Json::Object(members) => {
            let depth = inner()?;
            let pair = |(key, member): (&str, &Json)| Some((plain_text(key).into_owned(), to_serde(member, depth)?));
            Value::Object(members.iter().map(pair).collect::<Option<_>>()?)
        }
    })
}

/// A whole number as an integer, because serde reads no integer out of a fraction.
fn serde_number(number: f64) -> Value {
    if number.fract() != 0.0 || !number.is_finite() {
        return Value::from(number);
    }
    let text = format!("{number:.0}");
    match (text.parse::<i64>(), text.parse::<u64>()) {
        (Ok(integer), _) => Value::from(integer),
        (_, Ok(integer)) => Value::from(integer),
        _ => Value::from(number),
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => number.as_f64().map_or(Self::Null, Self::Number),
            Value::String(text) => Self::String(document_text(text)),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::Object(members.iter().map(|(key, member)| (document_text(key), Self::from(member))).collect())
            }
        }
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

/// A Rust text as a document holds it.
fn document_text(text: &str) -> String {
    if super::text::is_plain(text) {
        return text.to_owned();
    }
    from_utf16(&text.encode_utf16().collect::<Vec<_>>())
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

/// Above 2^53 the nearest number that JavaScript has.
macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Json {
            fn from(value: $integer) -> Self {
                Self::Number(value as f64)
            }
        }
    )*};
}

from_integer!(i32, u32, i64, u64, usize, u16);

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

impl From<&String> for Json {
    fn from(value: &String) -> Self {
        Self::String(value.clone())
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl From<Object> for Json {
    fn from(members: Object) -> Self {
        Self::Object(members)
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
