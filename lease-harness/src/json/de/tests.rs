use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::net::Ipv4Addr;
use std::num::NonZeroU8;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::*;

#[derive(Deserialize, Debug, PartialEq)]
struct Server {
    port: u16,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Strict {
    port: u16,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Flat {
    a: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize, Debug, PartialEq)]
struct Nothing;

#[derive(Deserialize, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Port(u16);

#[derive(Deserialize, Debug, PartialEq)]
struct Pair(u8, String);

#[derive(Deserialize, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Colour {
    Red,
    Green,
}

#[derive(Deserialize, Debug, PartialEq)]
enum Shape {
    Point,
    Circle(f64),
    Empty(),
    Line(u8, u8),
    Box { width: u8, height: Option<u8> },
    Maybe(Option<u8>),
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Small(u8),
    Whole(i64),
    Fraction(f64),
    Text(String),
    Many(Vec<Untagged>),
    Server(Server),
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(tag = "kind")]
enum Tagged {
    Point,
    Box { width: u8 },
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(tag = "kind", content = "of")]
enum Adjacent {
    Point,
    Line(u8, u8),
}

/// Asks for one kind and would take each.
macro_rules! asks {
    ($($name:ident $method:ident)*) => {$(
        #[derive(Debug, PartialEq)]
        struct $name(serde_json::Value);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.$method(Anything).map($name)
            }
        }
    )*};
}

asks! {
    AsksBool deserialize_bool AsksI64 deserialize_i64 AsksU128 deserialize_u128 AsksF64 deserialize_f64
    AsksChar deserialize_char AsksStr deserialize_str AsksString deserialize_string
    AsksBytes deserialize_bytes AsksByteBuf deserialize_byte_buf AsksUnit deserialize_unit AsksSeq deserialize_seq
    AsksMap deserialize_map AsksIdentifier deserialize_identifier AsksAny deserialize_any
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = serde_json::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(serde_json::Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut found = vec![items.size_hint().into()];
        while let Some(item) = items.next_element::<serde_json::Value>()? {
            found.push(item);
        }
        Ok(found.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = serde_json::Map::new();
        while let Some((key, value)) = members.next_entry()? {
            found.insert(key, value);
        }
        Ok(found.into())
    }
}

/// Takes one item of a list, and one member of an object.
#[derive(Debug, PartialEq)]
struct First;

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TakesOne;
        impl<'de> Visitor<'de> for TakesOne {
            type Value = First;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("something")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<First, A::Error> {
                items.next_element::<IgnoredAny>().map(|_| First)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<First, A::Error> {
                members.next_entry::<IgnoredAny, IgnoredAny>().map(|_| First)
            }
        }
        deserializer.deserialize_any(TakesOne)
    }
}

#[rustfmt::skip]
const DOCUMENTS: &[&str] = &[
    "null", "true", "false",
    "0", "-0.0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "65535", "65536", "4294967296", "-2147483649",
    "9007199254740992", "-9007199254740992", "18446744073709551616",
    "1e20", "-1e20", "1e300", "-1e300", "0.5", "-0.5", "1.5", "3.4e38", "1e39", "5e-324",
    r#""""#, r#""a""#, r#""ab""#, r#""é""#, r#""😀""#, r#""a\nb""#, r#""\ufdd0""#, r#""1""#, r#""true""#, r#""127.0.0.1""#,
    r#""Red""#, r#""Blue""#, r#""Point""#, r#""Circle""#, r#""Line""#, r#""Box""#, r#""Empty""#, r#""Maybe""#,
    "[]", "[1]", "[1,2]", "[1,2,3]", "[[1],[2]]", r#"["a"]"#, r#"[1,"a"]"#, r#"[1,"a",2]"#, "[null]", "[null,1]", "[256]", "[1,-1]",
    "{}", r#"{"a":1}"#, r#"{"a":1,"b":2}"#, r#"{"a":1,"b":[{"c":null}]}"#, r#"{"a":null}"#, r#"{"a":"x"}"#, r#"{"a":{"b":1}}"#,
    r#"{"port":1}"#, r#"{"port":1,"name":"x"}"#, r#"{"port":1,"name":null}"#, r#"{"port":1,"more":[{}]}"#, r#"{"port":65536}"#,
    r#"{"port":"1"}"#, r#"{"name":"x"}"#, r#"{"port":1.5}"#,
    r#"{"1":1}"#, r#"{"01":1}"#, r#"{"-1":1}"#, r#"{"1.5":1}"#, r#"{"1.0":1}"#, r#"{"1e2":1}"#, r#"{" 1":1}"#, r#"{"1 ":1}"#, r#"{"+1":1}"#, r#"{".5":1}"#,
    r#"{"":1}"#, r#"{"-":1}"#, r#"{"300":1}"#, r#"{"70000":1}"#, r#"{"18446744073709551615":1}"#, r#"{"18446744073709551616":1}"#,
    r#"{"-9223372036854775809":1}"#, r#"{"340282366920938463463374607431768211456":1}"#, r#"{"1e400":1}"#, r#"{"null":1}"#,
    r#"{"true":1}"#, r#"{"false":0,"true":1}"#, r#"{"é":1}"#, r#"{"10":1,"2":2,"x":3}"#,
    r#"{"Red":1}"#, r#"{"Red":null}"#, r#"{"Green":1,"Red":2}"#, r#"{"Blue":1}"#,
    r#"{"Point":null}"#, r#"{"Point":1}"#, r#"{"Circle":1}"#, r#"{"Circle":1.5}"#, r#"{"Circle":"x"}"#, r#"{"Circle":null}"#,
    r#"{"Line":[1,2]}"#, r#"{"Line":[1]}"#, r#"{"Line":[1,2,3]}"#, r#"{"Line":[]}"#, r#"{"Line":1}"#, r#"{"Empty":[]}"#, r#"{"Empty":[1]}"#,
    r#"{"Box":{"width":1}}"#, r#"{"Box":{"width":1,"height":2}}"#, r#"{"Box":{"height":2}}"#, r#"{"Box":[1,2]}"#, r#"{"Box":null}"#,
    r#"{"Maybe":null}"#, r#"{"Maybe":1}"#, r#"{"Point":null,"Circle":1}"#,
    r#"{"kind":"Point"}"#, r#"{"kind":"Box","width":1}"#, r#"{"width":1,"kind":"Box"}"#, r#"{"kind":"Box"}"#, r#"{"kind":"Line","of":[1,2]}"#,
    r#"{"secs":1,"nanos":2}"#, r#"{"Ok":1}"#, r#"{"Err":"x"}"#, r#"{"start":1,"end":2}"#,
];

/// Every document becomes the same value of this type as with serde_json, or is refused as there.
fn compare<T: DeserializeOwned + Debug + PartialEq>() {
    for text in DOCUMENTS {
        let document = Json::parse(text).unwrap();
        // Numbers and keys stand in it as JavaScript prints them, which serde_json reads as we understand them.
        let theirs = serde_json::from_value::<T>(serde_json::from_str(&document.to_text()).unwrap());
        let ours = document.to::<T>();
        let what = std::any::type_name::<T>();
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "{text} as {what}"),
            (Err(_), Err(_)) => {}
            _ => panic!("{text} as {what}: {ours:?}, but with serde_json {theirs:?}"),
        }
    }
}

macro_rules! compare_each {
    ($($target:ty),* $(,)?) => {
        $(compare::<$target>();)*
    };
}

#[test]
fn values_are_those_of_serde_json() {
    compare_each!(bool, char, String, PathBuf, Cow<'static, str>, Box<str>, (), Nothing, IgnoredAny, serde_json::Value, Ipv4Addr);
    compare_each!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, NonZeroU8, serde_json::Number);
    compare_each!(Option<u8>, Option<Option<u8>>, Option<()>, Option<String>, Box<u8>, Port, Option<Port>, Result<u8, String>);
    compare_each!(
        Vec<u8>,
        Vec<Option<u8>>,
        Vec<Vec<u8>>,
        [u8; 0],
        [u8; 2],
        (u8,),
        (u8, String),
        Pair,
        Vec<f64>,
        First,
        Vec<IgnoredAny>
    );
    compare_each!(Server, Strict, Flat, Duration, std::ops::Range<u8>, Option<Server>);
    compare_each!(Colour, Shape, Untagged, Tagged, Adjacent, Option<Shape>, Vec<Colour>);
}

#[test]
fn keys_are_those_of_serde_json() {
    compare_each!(BTreeMap<String, u8>, HashMap<String, IgnoredAny>, BTreeMap<Cow<'static, str>, u8>, BTreeMap<char, u8>);
    compare_each!(BTreeMap<i8, u8>, BTreeMap<i64, u8>, BTreeMap<i128, u8>, BTreeMap<u8, u8>, BTreeMap<u64, u8>, BTreeMap<u128, u8>);
    compare_each!(BTreeMap<bool, u8>, BTreeMap<Port, u8>, BTreeMap<Option<u8>, u8>, BTreeMap<Colour, u8>, BTreeMap<(), u8>);
    compare_each!(BTreeMap<String, Option<u8>>, BTreeMap<String, BTreeMap<String, u8>>, BTreeMap<(u8, u8), u8>);
    compare_each!(BTreeMap<AsFloat<f32>, u8>, BTreeMap<AsFloat<f64>, u8>);
}

/// Only to be a key.
#[derive(Deserialize, Debug, PartialEq)]
struct AsFloat<F>(F);

impl<F: PartialEq> Eq for AsFloat<F> {}

impl<F: PartialOrd> PartialOrd for AsFloat<F> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<F: PartialOrd> Ord for AsFloat<F> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.partial_cmp(&other.0).unwrap()
    }
}

#[test]
fn a_target_that_asks_for_one_kind_is_given_no_other() {
    compare_each!(AsksBool, AsksI64, AsksU128, AsksF64, AsksChar, AsksStr, AsksString, AsksBytes, AsksByteBuf, AsksUnit);
    compare_each!(AsksSeq, AsksMap, AsksIdentifier, AsksAny);
}

/// A document's value of a type.
fn read<'de, T: Deserialize<'de>>(document: &'de Json) -> Result<T, String> {
    document.to().map_err(|error| error.to_string())
}

#[track_caller]
fn check<T: DeserializeOwned + Debug + PartialEq>(text: &str, expected: Result<T, &str>) {
    assert_eq!(read(&Json::parse(text).unwrap()), expected.map_err(str::to_owned), "{text}");
}

#[test]
fn numbers_are_javascripts() {
    check("1.0", Ok(1_u8));
    check("1e2", Ok(100_u8));
    check("-0", Ok(0_u8));
    check("9223372036854775807", Ok(1_u64 << 63));
    check("-9223372036854775809", Ok(i64::MIN));
    check("18446744073709549568", Ok(18_446_744_073_709_549_568_u64));
    check("1e400", Ok(None::<f64>));
    check("[-1e400]", Ok(vec![()]));
    check::<f64>("1e400", Err("invalid type: null, expected f64"));
}

#[test]
fn half_of_a_surrogate_pair_is_replaced() {
    check(r#""a\ud800""#, Ok("a\u{FFFD}".to_owned()));
    check(r#""\ud800""#, Ok('\u{FFFD}'));
    check(r#"{"\ud800":1}"#, Ok(BTreeMap::from([("\u{FFFD}".to_owned(), 1)])));
    check::<u8>(r#""\ud800""#, Err("invalid type: string \"\u{FFFD}\", expected u8"));
}

#[test]
fn texts_are_borrowed_where_they_can_be() {
    let document = Json::parse(r#"{"a":["b","c\n"]}"#).unwrap();
    assert_eq!(read(&document), Ok(HashMap::from([("a", vec!["b", "c\n"])])));
    let odd = Json::parse(r#""\ufdd0""#).unwrap();
    assert_eq!(read::<&str>(&odd), Err(r#"invalid type: string "\u{fdd0}", expected a borrowed string"#.to_owned()));
}

#[test]
fn a_refusal_says_what_is_wrong() {
    check::<u16>(r#""x""#, Err(r#"invalid type: string "x", expected u16"#));
    check::<u16>("null", Err("invalid type: null, expected u16"));
    check::<u16>("65536", Err("invalid value: integer `65536`, expected u16"));
    check::<u16>("-1", Err("invalid value: integer `-1`, expected u16"));
    check::<u16>("1.5", Err("invalid type: floating point `1.5`, expected u16"));
    check::<String>("true", Err("invalid type: boolean `true`, expected a string"));
    check::<String>("[]", Err("invalid type: sequence, expected a string"));
    check::<(u8, u8)>("[1]", Err("invalid length 1, expected a tuple of size 2"));
    check::<(u8, u8)>("[1,2,3]", Err("invalid length 3, expected fewer elements in array"));
    check::<BTreeMap<u16, u8>>(r#"{"x":1}"#, Err(r#"invalid type: string "x", expected u16"#));
    check::<Server>("{}", Err("missing field `port`"));
    check::<Strict>(r#"{"port":1,"x":2}"#, Err("unknown field `x`, expected `port`"));
    check::<Shape>("1", Err("invalid type: integer `1`, expected string or map"));
    check::<Shape>("{}", Err("invalid value: map, expected map with a single key"));
    check::<Shape>(r#""Line""#, Err("invalid type: unit variant, expected tuple variant"));
    check::<Colour>(r#""Blue""#, Err("unknown variant `Blue`, expected `Red` or `Green`"));
}

#[derive(Deserialize, Debug, PartialEq)]
enum Nested {
    #[serde(rename = "a")]
    Deeper(Box<Nested>),
    #[serde(rename = "1")]
    End,
}

#[test]
fn what_is_nested_too_deep_is_refused() {
    let nested = |n: usize, open: &str, close: &str| {
        let end = if open.contains('a') { "\"1\"" } else { "1" };
        Json::parse(&format!("{}{end}{}", open.repeat(n), close.repeat(n))).unwrap()
    };
    let too_deep = "nested more than 128 deep";
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        assert!(read::<serde_json::Value>(&nested(128, open, close)).is_ok());
        for n in [129, 100_000] {
            assert_eq!(read::<serde_json::Value>(&nested(n, open, close)), Err(too_deep.to_owned()));
            assert!(read::<IgnoredAny>(&nested(n, open, close)).is_ok(), "nobody looks");
        }
    }
    assert!(read::<Nested>(&nested(128, "{\"a\":", "}")).is_ok());
    assert_eq!(read::<Nested>(&nested(129, "{\"a\":", "}")), Err(too_deep.to_owned()));
}
