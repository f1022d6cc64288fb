//! Which tokens are one value.

use syn::parse::Parser;
use syn::punctuated::Punctuated;

use super::super::{Expr, Input};
use super::{plain, tokens};

/// What another option may follow.
const EXPRESSIONS: [&str; 74] = [
    "\"text\"",
    "r#\"text\"#",
    "-5",
    "- -1.5",
    "!&*x",
    "&mut x",
    "true",
    "_",
    "a::b",
    "::a::b",
    "crate::a",
    "self::a",
    "Self::A",
    "super::super::a",
    "r#type",
    "a::<B, C>::d",
    "a::<B<C>, { 1 > 2 }>()",
    "<A as B>::c",
    "<A<B, C> as D<E>>::f::<G, H>()",
    "a.b",
    "a.b.await",
    "a.0.b",
    "a.0.1",
    "a.b::<C, D>(e, f)",
    "pool.json",
    "db-pool.json",
    "db/pool.json",
    "a?.b?",
    "a[0][1]",
    "a(b, c)(d)",
    "(1)",
    "()",
    "(a, b)",
    "[]",
    "[\"a\", \"b\",]",
    "[0; 3]",
    "{ a; b }",
    "concat!(\"a\" \"b\")",
    "m![a, b; c]",
    "a::m! { a => b }",
    "S { a: 1, ..b }",
    "10 * 60",
    "1 + 2 - 3 / 4 % 5 ^ 6 & 7 | 8",
    "a << b >> c",
    "a == b",
    "a != b",
    "a <= b && c >= d || e < f",
    "a = b",
    "a += b",
    "a >>= b",
    "30 as f64",
    "a as u8 as u16 + 1",
    "..",
    "..5",
    "1..",
    "1..2 + 3",
    "..=5",
    "1..=2",
    "|| a",
    "|a| a + 1",
    "move || a",
    "async move { a }",
    "unsafe { a }",
    "if a { 1 } else if b { 2 } else { 3 }",
    "match a { _ => 1 }",
    "loop { break }",
    "#[a(b)] 5",
    "⟦\"text\"⟧",
    "⟦1 + 2⟧ * 3",
    "-⟦5⟧",
    "⟦a::b⟧",
    "⟦a⟧::b",
    "⟦⟦\"text\"⟧⟧",
    "⟦a⟧.b(⟦c⟧)",
];

#[test]
fn an_expression_ends_where_the_next_option_begins() {
    for text in EXPRESSIONS {
        let list = format!("{text}, next");
        let theirs = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated.parse2(tokens(&list)).unwrap();
        assert_eq!(theirs.len(), 2, "{text}");
        let ours = Input::new(tokens(&list)).list(Input::expr).unwrap_or_else(|error| panic!("{text}: {error}"));
        let ours: Vec<String> = ours.iter().map(|expr| plain(quote::quote!(#expr))).collect();
        assert_eq!(ours, [plain(tokens(text)), "next".to_owned()], "{text}");
    }
}

#[test]
fn a_literal_a_path_and_a_negative_number() {
    let is_path = |expr: &syn::Expr| matches!(expr, syn::Expr::Path(path) if path.qself.is_none() && path.attrs.is_empty());
    fn opened(expr: &syn::Expr) -> &syn::Expr {
        if let syn::Expr::Group(group) = expr { opened(&group.expr) } else { expr }
    }
    for text in EXPRESSIONS {
        let theirs = syn::parse2::<syn::Expr>(tokens(text)).unwrap();
        let ours: Expr = Input::new(tokens(text)).expr().unwrap();
        let is_literal =
            matches!(opened(&theirs), syn::Expr::Lit(lit) if lit.attrs.is_empty() && !matches!(lit.lit, syn::Lit::Bool(_)));
        assert_eq!(ours.literal().is_some(), is_literal, "{text}");
        assert_eq!(ours.path().is_some(), is_path(&theirs), "{text}");
        let is_negative = matches!(opened(&theirs), syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)));
        assert_eq!(ours.is_negative(), is_negative, "{text}");
    }
}

/// Mistakes in a list of values, which are told in the same words as by a crate that knows the whole grammar.
#[test]
fn mistakes() {
    let table = [
        "\"a\" \"b\"",
        "10 m",
        "a b",
        "./pool.json",
        "../pool.json",
        "/pool.json",
        "~/pool.json",
        "10 *",
        "10 * , a",
        "-",
        "&",
        "!, a",
        "= a",
        "=> a",
        "a => b",
        "a -> b",
        "@a",
        "$a",
        "#a",
        ";",
        ": a",
        "in a",
        "type",
        "fn a",
        "a::",
        "a::, b",
        "a::in",
        "a.",
        "a.in",
        "a.*",
        "a!",
        "a! b",
        "(a b)",
        "(a, b c)",
        "f(1 2)",
        "f(g(1 2))",
        "[a b]",
        "(1 +)",
        "<a to b>",
        "<a>",
        "<a>::",
        "1..=",
        ",",
        "a,,",
        "⟦1⟧ ⟦2⟧",
    ];
    for text in table {
        let theirs = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated.parse2(tokens(text));
        let ours = Input::new(tokens(text)).list(Input::expr);
        let theirs = theirs.err().unwrap_or_else(|| panic!("{text} is right")).to_string();
        assert_eq!(ours.err().map(|error| error.to_string()), Some(theirs), "{text}");
    }
}
