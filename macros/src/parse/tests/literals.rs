//! Texts and numbers.

use proc_macro2::{Literal, TokenStream, TokenTree};

use super::super::Lit;

#[track_caller]
fn literal(text: &str) -> Literal {
    match text.parse::<TokenStream>().unwrap_or_else(|error| panic!("{text}: {error}")).into_iter().next() {
        Some(TokenTree::Literal(literal)) => literal,
        other => panic!("{text} is {other:?}"),
    }
}

#[test]
fn texts() {
    let table = [
        r#""plain""#,
        r#""""#,
        r#""\n\r\t\0\\\'\"""#,
        r#""\x41\x7f""#,
        r#""\u{41}\u{1F600}\u{1_f_6_0_0}\u{10ffff}""#,
        "\"over\nlines\"",
        "\"one \\\n   \t line\"",
        "\"one \\\n\n   line\"",
        "\"no \\\n\\\n end\\\n\"",
        r#""ünï → 🦀""#,
        r##"r"raw \n""##,
        r###"r#"with "quotes""#"###,
        r####"r##"with "# marks"##"####,
        r##"r"""##,
        r#""with a suffix"suffix"#,
        r###"r#"so too"#suffix"###,
    ];
    for text in table {
        let syn::Lit::Str(theirs) = syn::Lit::new(literal(text)) else { panic!("{text} is a text") };
        let Lit::Text(ours) = Lit::new(literal(text)) else { panic!("{text} is not read") };
        assert_eq!(ours.value, theirs.value(), "{text}");
        assert_eq!(quote::quote!(#ours).to_string(), text, "it is written as it was");
    }
}

#[test]
fn what_is_neither_a_text_nor_a_number() {
    for text in ["b\"bytes\"", "br\"bytes\"", "c\"text\"", "cr#\"text\"#", "'c'", "'\\''", "b'c'"] {
        assert!(matches!(Lit::new(literal(text)), Lit::Other), "{text}");
    }
}

#[test]
fn numbers() {
    let table = [
        "0",
        "00",
        "007",
        "30",
        "1_000",
        "1_",
        "0x1E",
        "0xff_u8",
        "0x_0",
        "0o17",
        "0b1_01",
        "30u64",
        "90s",
        "10m",
        "1h30m",
        "1em",
        "1f64",
        "1é",
        "0e",
        "340282366920938463463374607431768211455",
        "0xffff_ffff_ffff_ffff_ffff_ffff_ffff_ffff",
        "99999999999999999999999999999999999999999999",
        "1.5",
        "1.",
        "0.0",
        "1_0.5_0",
        "1e3",
        "1E+3",
        "1e-3",
        "1_e_3",
        "1.5e3",
        "1.5f64",
        "1e3f32",
        "1.0em",
        "1e400",
    ];
    for text in table {
        match (syn::Lit::new(literal(text)), Lit::new(literal(text))) {
            (syn::Lit::Int(theirs), Lit::Int { digits, has_suffix, .. }) => {
                assert_eq!((&*digits, has_suffix), (theirs.base10_digits(), !theirs.suffix().is_empty()), "{text}");
            }
            (syn::Lit::Float(theirs), Lit::Float(value)) => {
                let is_plain = theirs.suffix().is_empty();
                assert_eq!(value, is_plain.then(|| theirs.base10_parse().unwrap()), "{text}");
            }
            _ => panic!("{text} is read as something else"),
        }
    }
}
