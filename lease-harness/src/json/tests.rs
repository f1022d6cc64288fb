use super::*;

#[track_caller]
fn check(text: &str, printed: &str) {
    assert_eq!(Json::parse(text).map(|value| value.to_text()), Ok(printed.to_owned()), "{text}");
}

#[track_caller]
fn refuse(text: &str, message: &str) {
    assert_eq!(Json::parse(text).map_err(|error| error.to_string()), Err(message.to_owned()), "{text}");
}

#[test]
fn values_print_as_javascript_prints_them() {
    check("null", "null");
    check(" \t\r\n[ true , false , null ] ", "[true,false,null]");
    check(r#"{ "a" : { } , "b" : [ ] }"#, r#"{"a":{},"b":[]}"#);
    check("-0", "0");
    check("1.0", "1");
    check("30", "30");
    check("0.05", "0.05");
    check("1e400", "null");
    check("-1E+400", "null");
    check("1e-400", "0");
    check("1e99999999999999999999", "null");
    check("0e99999999999999999999", "0");
    check("9007199254740993", "9007199254740992");
}

#[test]
fn typed_numbers_are_read_as_javascript_reads_them() {
    let table = [
        ("", Some(0.0)),
        (" \t\n\u{FEFF}\u{A0}\u{2028} ", Some(0.0)),
        ("\u{85}5", None),
        ("\u{FEFF} 5\u{3000}", Some(5.0)),
        ("30", Some(30.0)),
        ("+5", Some(5.0)),
        ("-0.5", Some(-0.5)),
        (".5", Some(0.5)),
        ("5.", Some(5.0)),
        ("1e3", Some(1000.0)),
        ("1E-2", Some(0.01)),
        ("0x10", Some(16.0)),
        ("0XfF", Some(255.0)),
        ("0b11", Some(3.0)),
        ("0o17", Some(15.0)),
        ("017", Some(17.0)),
        ("Infinity", Some(f64::INFINITY)),
        ("-Infinity", Some(f64::NEG_INFINITY)),
        ("1e400", Some(f64::INFINITY)),
        ("infinity", None),
        ("inf", None),
        ("NaN", None),
        ("0x", None),
        ("-0x10", None),
        ("0b12", None),
        ("0x1.8", None),
        ("5m", None),
        ("1_000", None),
        ("1,5", None),
        (".", None),
        ("+", None),
        ("+-5", None),
        ("1e", None),
        ("e5", None),
        ("5 5", None),
        ("é", None),
    ];
    for (text, number) in table {
        assert_eq!(number_from_text(text), number, "{text:?}");
    }
}

#[test]
fn texts_print_as_javascript_prints_them() {
    check(r#""\b\f\n\r\t\"\\\/\u0000\u001F\u007f""#, "\"\\b\\f\\n\\r\\t\\\"\\\\/\\u0000\\u001f\u{7f}\"");
    check(r#""\u2028 é 😀 \ud83d\ude00""#, "\"\u{2028} é 😀 😀\"");
    check(r#""\uD800""#, r#""\ud800""#);
    check(r#""\ude00\ud83d""#, r#""\ude00\ud83d""#);
    check(r#""\ud83d\u0041\ud83d\n\ud83d\ud83d\ude00""#, "\"\\ud83dA\\ud83d\\n\\ud83d😀\"");
    check("\"\\ufdd0\u{FDD0}\u{10D800}\"", "\"\u{FDD0}\u{FDD0}\u{10D800}\"");
    check(r#"{"\ud800":1,"\udfff":2}"#, r#"{"\ud800":1,"\udfff":2}"#);
}

#[test]
fn halves_of_surrogate_pairs_go_to_utf16_and_back() {
    let Json::String(text) = &Json::parse(r#""a\ud83d\ufdd0\udc00😀""#).unwrap() else { panic!() };
    let units = utf16_units(text);
    assert_eq!(units, [0x61, 0xD83D, 0xFDD0, 0xDC00, 0xD83D, 0xDE00]);
    assert_eq!(&from_utf16(&units), text);
    assert_eq!(plain_text(text), "a\u{FFFD}\u{FDD0}\u{FFFD}😀");
    let joined = format!("{}{}", from_utf16(&[0xD83D]), from_utf16(&[0xDE00]));
    assert_eq!(plain_text(&joined), "😀");
    assert_eq!(Json::from(joined).to_text(), "\"😀\"");
}

#[test]
fn keys_have_javascripts_order() {
    check(r#"{"b":1,"10":2,"a":3,"2":4,"0":5}"#, r#"{"0":5,"2":4,"10":2,"b":1,"a":3}"#);
    check(r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#);
    check(
        r#"{"x":0,"4294967295":1,"4294967294":2,"01":3,"-1":4,"1.0":5,"00":6,"99999999999":7,"":8}"#,
        r#"{"4294967294":2,"x":0,"4294967295":1,"01":3,"-1":4,"1.0":5,"00":6,"99999999999":7,"":8}"#,
    );
    check(r#"{"__proto__":{"a":1},"constructor":2}"#, r#"{"__proto__":{"a":1},"constructor":2}"#);
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    refuse("", "unexpected end of the text at line 1 column 1");
    refuse("{", "unexpected end of the text at line 1 column 2");
    refuse("[1,]", "unexpected character ']' at line 1 column 4");
    refuse("[1 2]", "unexpected character '2' at line 1 column 4");
    refuse("{\"é\":1,\n \"b\" 2}", "unexpected character '2' at line 2 column 6");
    refuse("{a:1}", "unexpected character 'a' at line 1 column 2");
    refuse("{\"a\":1,}", "unexpected character '}' at line 1 column 8");
    refuse("01", "unexpected character '1' after the end of the value at line 1 column 2");
    refuse("1.", "unexpected end of the text at line 1 column 3");
    refuse(".5", "unexpected character '.' at line 1 column 1");
    refuse("+1", "unexpected character '+' at line 1 column 1");
    refuse("-", "unexpected end of the text at line 1 column 2");
    refuse("1e", "unexpected end of the text at line 1 column 3");
    refuse("1e+", "unexpected end of the text at line 1 column 4");
    refuse("NaN", "unexpected character 'N' at line 1 column 1");
    refuse("nul", "unexpected end of the text at line 1 column 4");
    refuse("\"a\nb\"", "control character '\\n' inside a text at line 1 column 3");
    refuse("\"\\x\"", "bad escape 'x' inside a text at line 1 column 3");
    refuse("\"\\u12g4\"", "bad escape 'g' inside a text at line 1 column 6");
    refuse("\"\\ud83d\\u12", "unexpected end of the text at line 1 column 12");
    refuse("\"a", "unexpected end of the text at line 1 column 3");
    refuse("\"a\\", "unexpected end of the text at line 1 column 4");
    refuse("\u{FEFF}1", "unexpected character '\\u{feff}' at line 1 column 1");
    refuse("\u{A0}1", "unexpected character '\\u{a0}' at line 1 column 1");
    refuse("'a'", "unexpected character '\\'' at line 1 column 1");
    refuse("1 // x", "unexpected character '/' after the end of the value at line 1 column 3");
}

#[test]
fn bytes_are_read_as_node_reads_a_file() {
    assert_eq!(Json::parse_bytes(b"\"a\xffb\xe2\x82\"").unwrap(), Json::from("a\u{FFFD}b\u{FFFD}"));
    assert!(Json::parse_bytes(b"\xef\xbb\xbf1").is_err());
    assert_eq!(Json::parse_bytes(b"1").unwrap(), Json::from(1));
}

#[test]
fn numbers_have_javascripts_text() {
    for (number, text) in [
        (0.0, "0"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (-30.0, "-30"),
        (123_456_789.0, "123456789"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e20, "100000000000000000000"),
        (123_456_789_012_345_680_000.0, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.25e21, "1.25e+21"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (-1.5e-7, "-1.5e-7"),
        (5e-324, "5e-324"),
        (122.597_930_908_203_13, "122.59793090820312"),
        (30_520_226_573_571.563, "30520226573571.562"),
        (1_234_567_890_123_456.8, "1234567890123456.8"),
        (f64::MAX, "1.7976931348623157e+308"),
        (9_007_199_254_740_992.0, "9007199254740992"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
        (f64::NAN, "NaN"),
    ] {
        assert_eq!(number_text(number), text);
    }
}

#[test]
fn the_text_for_people_has_two_spaces_a_level() {
    let value = Json::parse(r#"{"a":[1,{"b":[]},{}],"c":{"d":null},"e":"[","f":["{"]}"#).unwrap();
    let pretty = r#"{
  "a": [
    1,
    {
      "b": []
    },
    {}
  ],
  "c": {
    "d": null
  },
  "e": "[",
  "f": [
    "{"
  ]
}"#;
    assert_eq!(value.to_pretty(), pretty);
    let members = value.as_object().unwrap();
    assert_eq!((members.to_pretty(), members.to_text()), (pretty.to_owned(), value.to_text()));
    assert_eq!(Json::parse(pretty).unwrap(), value);
    assert_eq!(Json::from("x").to_pretty(), "\"x\"");
}

#[test]
fn nesting_has_no_limit() {
    for (depth, before, after) in [(100_000, "[", "]"), (100_000, "{\"a\":", "}"), (20_000, "[0,{\"b\":1,\"a\":", ",\"c\":2},3]")]
    {
        let text = format!("{}1{}", before.repeat(depth), after.repeat(depth));
        let value = Json::parse(&text).unwrap();
        let copy = value.clone();
        assert!(copy == value);
        assert_eq!(format!("{copy:?}"), text);
        drop(value);
        assert_eq!(copy.to_text(), text);
        assert!(copy != Json::parse(&text.replace('1', "2")).unwrap());
        assert!(Json::parse(&text[..text.len() - 1]).is_err());
        assert!(copy.into_array().is_some() || before.starts_with('{'));
    }
}

#[test]
fn a_sorted_copy_has_no_order_of_its_own() {
    let left = Json::parse(r#"{"b":[{"d":1,"c":{"y":1,"x":[]}}],"a":{},"3":0}"#).unwrap();
    let right = Json::parse(r#"{"3":0,"a":{},"b":[{"c":{"x":[],"y":1},"d":1}]}"#).unwrap();
    assert_ne!(left, right);
    assert_eq!(left.sorted(), right.sorted());
    assert_eq!(left.sorted().to_text(), r#"{"3":0,"a":{},"b":[{"c":{"x":[],"y":1},"d":1}]}"#);
}

#[test]
fn an_object_is_a_map_that_keeps_order() {
    let mut members = Object::new();
    assert!(members.is_empty());
    assert_eq!(members.insert("b", 1), None);
    assert_eq!(members.insert("7", "seven"), None);
    assert_eq!(members.insert("a", vec![true]), None);
    assert_eq!(members.insert("b", 2), Some(Json::from(1)));
    assert_eq!(members.keys().collect::<Vec<_>>(), ["7", "b", "a"]);
    assert_eq!(members.remove("b"), Some(Json::from(2)));
    assert_eq!(members.remove("b"), None);
    assert_eq!(members.insert("b", 3), None);
    assert_eq!(members.keys().collect::<Vec<_>>(), ["7", "a", "b"]);
    assert_eq!(members.get_mut("7").map(std::mem::take), Some(Json::from("seven")));
    assert!(members.contains_key("7") && !members.contains_key("8"));
    assert_eq!(members.len(), 3);
    assert_eq!(members, [("7", Json::Null), ("a", Json::from(vec![true])), ("b", Json::from(3))].into_iter().collect());
    assert_ne!(members, [("7", Json::Null), ("b", Json::from(3)), ("a", Json::from(vec![true]))].into_iter().collect());
    assert_eq!(members.into_iter().last(), Some(("b".to_owned(), Json::from(3))));
}

#[test]
fn rust_values_become_documents() {
    let value = object([
        ("id", Json::from(1)),
        ("name", Json::from("x")),
        ("none", Json::from(None::<&str>)),
        ("some", Json::from(Some(1.5))),
        ("list", Json::from(vec![1_u64, 2])),
        ("deep", object([("on", Json::from(true))])),
    ]);
    assert_eq!(value.to_text(), r#"{"id":1,"name":"x","none":null,"some":1.5,"list":[1,2],"deep":{"on":true}}"#);
    assert_eq!(value.get("deep").and_then(|deep| deep.get("on")).and_then(Json::as_bool), Some(true));
    assert_eq!(value.get("id").and_then(Json::as_f64), Some(1.0));
    assert!(value.get("none").is_some_and(Json::is_null));
    assert_eq!(value.get("x"), None);
    assert_eq!(Json::from(1).get("x"), None);
}

#[test]
fn a_list_of_objects_is_written_as_the_document_that_it_makes() {
    let items = ["{}", "{\"a\":[1,{}],\"b\":\"\\n\"}", "{\"c\":{\"d\":null}}"].map(|text| Json::parse(text).unwrap());
    for n_items in 0..=items.len() {
        let document = object([("entries", Json::Array(items[..n_items].to_vec()))]);
        let members = items[..n_items].iter().map(|item| item.as_object().unwrap());
        assert_eq!(Json::pretty_list("entries", members), document.to_pretty());
    }
}

/// One member more than what is looked through, and what is then found by an index.
#[test]
fn an_object_is_the_same_whether_it_has_few_members_or_many() {
    let keys = |n: usize| (0..n).map(|number| if number % 3 == 0 { format!("{}", 100 - number) } else { format!("k{number}") });
    for n in [15, 16, 17, 18, 40] {
        let mut object: Object = keys(n).map(|key| (key.clone(), key)).collect();
        let numbers: Vec<u32> = object.keys().map_while(|key| key.parse().ok()).collect();
        assert_eq!(numbers.len(), n.div_ceil(3));
        assert!(numbers.is_sorted(), "{numbers:?}");
        let others: Vec<_> = object.keys().skip(numbers.len()).map(str::to_owned).collect();
        assert_eq!(others, keys(n).filter(|key| key.starts_with('k')).collect::<Vec<_>>());
        for key in keys(n) {
            assert_eq!(object.get(&key).and_then(Json::as_str), Some(&*key));
            assert!(object.insert(key.clone(), "new").is_some());
            assert_eq!(object.remove(&key).as_ref().and_then(Json::as_str), Some("new"));
        }
        assert!(object.is_empty());
    }
}
