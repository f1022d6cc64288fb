//! Rust values from documents, through serde, as serde_json makes them: enums are named from outside, and a value of the
//! wrong kind is refused.

use std::borrow::Cow;
use std::{fmt, slice};

use serde_core::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde_core::forward_to_deserialize_any;

use super::{Iter, Json, Object, plain_text};

/// How deep a document may be nested to become a Rust value, which is made and dropped by recursion.
const DEPTH: usize = 128;

/// What an infinite number is for serde, as it is in a printed document.
static NULL: Json = Json::Null;

impl Json {
    /// This document as a value of another type: whole numbers are integers, an infinite number is `null`, half of a
    /// surrogate pair is U+FFFD.
    ///
    /// # Errors
    /// The document has another form than the type, a number does not fit, or the value would be nested more than 128 deep.
    ///
    /// # Examples
    /// ```
    /// use std::collections::HashMap;
    ///
    /// use lease_harness::json::Json;
    ///
    /// let document = Json::parse(r#"{"api": 3000}"#)?;
    /// let ports: HashMap<&str, u16> = document.to()?;
    /// assert_eq!(ports["api"], 3000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to<'de, T: Deserialize<'de>>(&'de self) -> Result<T, TypeError> {
        T::deserialize(Document::new(self, DEPTH))
    }
}

/// Why a document is no value of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError(String);

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TypeError {}

impl Error for TypeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// A document, or a part of one, and how deep it may still be nested.
#[derive(Clone, Copy)]
struct Document<'de> {
    value: &'de Json,
    depth: usize,
}

impl<'de> Document<'de> {
    fn new(value: &'de Json, depth: usize) -> Self {
        let is_null = matches!(value, Json::Number(number) if !number.is_finite());
        Self { value: if is_null { &NULL } else { value }, depth }
    }

    /// How deep the items may be nested.
    fn depth_within(self) -> Result<usize, TypeError> {
        self.depth.checked_sub(1).ok_or_else(|| TypeError(format!("nested more than {DEPTH} deep")))
    }

    fn visit_list<V: Visitor<'de>>(self, list: &'de [Json], visitor: V) -> Result<V::Value, TypeError> {
        let mut items = Items { rest: list.iter(), depth: self.depth_within()? };
        let made = visitor.visit_seq(&mut items)?;
        all_used(items.rest.len(), list.len(), &"fewer elements in array").map(|()| made)
    }

    fn visit_members<V: Visitor<'de>>(self, object: &'de Object, visitor: V) -> Result<V::Value, TypeError> {
        let mut members = Members { rest: object.iter(), value: &NULL, depth: self.depth_within()? };
        let made = visitor.visit_map(&mut members)?;
        all_used(members.rest.len(), object.len(), &"fewer elements in map").map(|()| made)
    }

    fn is_no(self, expected: &dyn Expected) -> TypeError {
        let text;
        let found = match self.value {
            Json::Null => Unexpected::Other("null"),
            Json::Bool(value) => Unexpected::Bool(*value),
            Json::Number(number) => Number::of(*number).as_unexpected(),
            Json::String(value) => {
                text = plain_text(value);
                Unexpected::Str(&text)
            }
            Json::Array(_) => Unexpected::Seq,
            Json::Object(_) => Unexpected::Map,
        };
        Error::invalid_type(found, expected)
    }
}

fn all_used(n_left: usize, n_all: usize, expected: &dyn Expected) -> Result<(), TypeError> {
    if n_left == 0 { Ok(()) } else { Err(Error::invalid_length(n_all, expected)) }
}

/// Methods for types that are made of these kinds of values and of no others.
macro_rules! deserialize_only {
    ($($kind:pat => $($method:ident)*;)*) => {$($(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
            match self.value {
                $kind => self.deserialize_any(visitor),
                _ => Err(self.is_no(&visitor)),
            }
        }
    )*)*};
}

impl<'de> Deserializer<'de> for Document<'de> {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.value {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(*value),
            Json::Number(number) => Number::of(*number).visit(visitor),
            Json::String(text) => visit_text(plain_text(text), visitor),
            Json::Array(items) => self.visit_list(items, visitor),
            Json::Object(members) => self.visit_members(members, visitor),
        }
    }

    deserialize_only! {
        Json::Null => deserialize_unit;
        Json::Bool(_) => deserialize_bool;
        Json::Number(_) =>
            deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
            deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
            deserialize_f32 deserialize_f64;
        Json::String(_) => deserialize_char deserialize_str deserialize_string deserialize_identifier;
        Json::String(_) | Json::Array(_) => deserialize_bytes deserialize_byte_buf;
        Json::Array(_) => deserialize_seq;
        Json::Object(_) => deserialize_map;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.value {
            Json::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, TypeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, TypeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V>(self, _name: &'static str, _len: usize, visitor: V) -> Result<V::Value, TypeError>
    where
        V: Visitor<'de>,
    {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError>
    where
        V: Visitor<'de>,
    {
        match self.value {
            Json::Array(_) | Json::Object(_) => self.deserialize_any(visitor),
            _ => Err(self.is_no(&visitor)),
        }
    }

    fn deserialize_enum<V>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError>
    where
        V: Visitor<'de>,
    {
        match self.value {
            Json::String(name) => visitor.visit_enum(Variant { name, content: Content(None) }),
            Json::Object(members) => {
                let mut members = members.iter();
                let (Some((name, content)), None) = (members.next(), members.next()) else {
                    return Err(Error::invalid_value(Unexpected::Map, &"map with a single key"));
                };
                let content = Document::new(content, self.depth_within()?);
                visitor.visit_enum(Variant { name, content: Content(Some(content)) })
            }
            _ => Err(self.is_no(&"string or map")),
        }
    }

    /// What nobody wants may be nested as deep as it likes.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_unit()
    }
}

fn visit_text<'de, V: Visitor<'de>>(text: Cow<'de, str>, visitor: V) -> Result<V::Value, TypeError> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

/// A number as serde knows it: it reads no integer out of a fraction, so what is whole is an integer.
enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl Number {
    fn of(number: f64) -> Self {
        if number.fract() != 0.0 {
            Self::Float(number)
        } else if (0.0..u64::MAX as f64).contains(&number) {
            Self::Unsigned(number as u64)
        } else if (i64::MIN as f64..0.0).contains(&number) {
            Self::Signed(number as i64)
        } else {
            Self::Float(number)
        }
    }

    /// The number that a key is the text of.
    fn of_key(key: &str) -> Option<Self> {
        if is_integer(key) {
            let signed = || key.parse().map(Self::Signed);
            if let Ok(number) = key.parse().map(Self::Unsigned).or_else(|_| signed()) {
                return Some(number);
            }
        }
        let is_trimmed = key.trim() == key;
        Json::parse(key).ok()?.as_f64().filter(|number| is_trimmed && number.is_finite()).map(Self::Float)
    }

    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self {
            Self::Unsigned(number) => visitor.visit_u64(number),
            Self::Signed(number) => visitor.visit_i64(number),
            Self::Float(number) => visitor.visit_f64(number),
        }
    }

    fn as_unexpected(&self) -> Unexpected<'static> {
        match self {
            Self::Unsigned(number) => Unexpected::Unsigned(*number),
            Self::Signed(number) => Unexpected::Signed(*number),
            Self::Float(number) => Unexpected::Float(*number),
        }
    }
}

/// Whether a text is a number of a document, without fraction and exponent.
fn is_integer(text: &str) -> bool {
    match text.strip_prefix('-').unwrap_or(text).as_bytes() {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

struct Items<'de> {
    rest: slice::Iter<'de, Json>,
    depth: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = TypeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, TypeError> {
        self.rest.next().map(|item| seed.deserialize(Document::new(item, self.depth))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Members<'de> {
    rest: Iter<'de>,
    /// What belongs to the key that was given last.
    value: &'de Json,
    depth: usize,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = TypeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, TypeError> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = value;
        seed.deserialize(Key(plain_text(key))).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, TypeError> {
        seed.deserialize(Document::new(self.value, self.depth))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A member's key, which is a text for who wants a text, and a number for who wants that.
struct Key<'de>(Cow<'de, str>);

impl Key<'_> {
    fn is_no(&self, expected: &dyn Expected) -> TypeError {
        Error::invalid_type(Unexpected::Str(&self.0), expected)
    }
}

macro_rules! deserialize_number {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
            match Number::of_key(&self.0) {
                Some(number) => number.visit(visitor),
                None => Err(self.is_no(&visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        visit_text(self.0, visitor)
    }

    deserialize_number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.0.parse() {
            Ok(number) if is_integer(&self.0) => visitor.visit_i128(number),
            _ => Err(self.is_no(&visitor)),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.0.parse() {
            Ok(number) if is_integer(&self.0) => visitor.visit_u128(number),
            _ => Err(self.is_no(&visitor)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.0.parse() {
            Ok(value) => visitor.visit_bool(value),
            Err(_) => Err(self.is_no(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, TypeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V>(self, name: &'static str, variants: &'static [&'static str], visitor: V) -> Result<V::Value, TypeError>
    where
        V: Visitor<'de>,
    {
        self.0.into_deserializer().deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The variant of an enum that a document names.
struct Variant<'de> {
    name: &'de str,
    content: Content<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = TypeError;
    type Variant = Content<'de>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Content<'de>), TypeError> {
        seed.deserialize(Key(plain_text(self.name))).map(|variant| (variant, self.content))
    }
}

/// What is in the variant, if the document says something about it.
struct Content<'de>(Option<Document<'de>>);

impl<'de> Content<'de> {
    fn get(self, expected: &dyn Expected) -> Result<Document<'de>, TypeError> {
        self.0.ok_or_else(|| Error::invalid_type(Unexpected::UnitVariant, expected))
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = TypeError;

    fn unit_variant(self) -> Result<(), TypeError> {
        self.0.map_or(Ok(()), Deserialize::deserialize)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, TypeError> {
        seed.deserialize(self.get(&"newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, TypeError> {
        let content = self.get(&"tuple variant")?;
        match content.value {
            Json::Array(items) if items.is_empty() => visitor.visit_unit(),
            Json::Array(items) => content.visit_list(items, visitor),
            _ => Err(content.is_no(&"tuple variant")),
        }
    }

    fn struct_variant<V: Visitor<'de>>(self, _fields: &'static [&'static str], visitor: V) -> Result<V::Value, TypeError> {
        let content = self.get(&"struct variant")?;
        match content.value {
            Json::Object(members) => content.visit_members(members, visitor),
            _ => Err(content.is_no(&"struct variant")),
        }
    }
}

#[cfg(test)]
mod tests;
