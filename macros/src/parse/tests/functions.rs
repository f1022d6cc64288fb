//! Functions and what stands above them.

use quote::{ToTokens, quote};

use super::super::Input;
use super::{plain, tokens};

/// Functions, with all that makes it hard to see where something ends.
const FUNCTIONS: [&str; 32] = [
    "fn f() {}",
    "const fn f() {}",
    "async fn f() {}",
    "async unsafe fn r#type() {}",
    "unsafe extern fn f() {}",
    "extern \"C\" fn f() {}",
    "extern r\"Rust\" fn f() {}",
    "extern \"\\x52ust\" fn f() {}",
    "fn f(a: A, b: &'a mut B,) {}",
    "fn f(mut a: A<B, C>, (b, c): (D, E), [d, ..]: [u8; 3], F { g, .. }: F) {}",
    "fn f(A::<B, C> { x }: A<B, C>, <A as B>::C: D, &x: &u8, _: fn(A, B) -> C<D, E>) {}",
    "fn f(a: ::std::string::String, b: <A as B<C, D>>::E, c: A::B) {}",
    "fn f(a: impl Fn(A, B) -> Vec<Vec<u8>>, b: u8) {}",
    "fn f(a: &dyn for<'a, 'b> Fn(&'a u8, &'b u8) -> &'a u8, b: A<{ 1 > 2 }, -1>) {}",
    "fn f(#[a(b, c)] a: A, #[d = \"e, f\"] #[g] b: B) {}",
    "fn f(self) {}",
    "fn f(&self, a: A) {}",
    "fn f(&'a mut self) {}",
    "fn f(#[a] mut self: Box<Self>) {}",
    "fn f(self::A { x }: self::A) {}",
    "fn f(a: m!(b, c), d: m![e; f]) {}",
    "fn f<'a, T: Into<u8>, F: Fn() -> Vec<Vec<u8>>, const N: usize>(a: T) {}",
    "fn f<const N: bool = { 1 > 2 }>() {}",
    "fn f() -> () {}",
    "fn f() -> ! {}",
    "fn f() -> A<{ 1 }, B> where A: B<{ 2 }>, [u8; { 3 }]: C {}",
    "fn f() -> m! { a } where m! { b }: C { #![d] }",
    "fn f() -> impl for<'a> Fn(&'a u8) -> &'a u8 + 'static where for<'a> &'a u8: A, {}",
    "fn f(⟦a⟧: ⟦A<B, C>⟧, b: &⟦dyn A + B⟧, ⟦(c, d)⟧: ⟦lease⟧::Slot) -> ⟦D<E, F>⟧ where ⟦A⟧: B ⟦{}⟧",
    "⟦fn f(a: A) -> B {}⟧",
    "⟦⟦async⟧ fn ⟦f⟧ ⟦(a: A)⟧ ⟦⟦{}⟧⟧⟧",
    "fn f<T>(a: A) -> B where T: C;",
];

#[track_caller]
fn theirs(text: &str) -> syn::Signature {
    syn::parse2::<syn::TraitItemFn>(tokens(text)).unwrap_or_else(|error| panic!("{text}: {error}")).sig
}

#[test]
fn functions_are_read_as_a_whole_grammar_reads_them() {
    for text in FUNCTIONS {
        let theirs = theirs(text);
        let mut input = Input::new(tokens(text));
        let ours = input.signature().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(ours.name, theirs.ident, "{text}");
        assert_eq!(ours.constness.is_some(), theirs.constness.is_some(), "{text}");
        assert_eq!(ours.asyncness.is_some(), theirs.asyncness.is_some(), "{text}");
        let is_foreign = theirs.abi.as_ref().is_some_and(|abi| abi.name.as_ref().is_none_or(|name| name.value() != "Rust"));
        assert_eq!(ours.foreign_abi.is_some(), is_foreign, "{text}");
        let output = match &theirs.output {
            syn::ReturnType::Default => None,
            syn::ReturnType::Type(_, ty) => Some(plain(ty.to_token_stream())),
        };
        assert_eq!(ours.output.map(plain), output, "{text}");
        let body = input.take().map(|body| body.to_string());
        assert!(body.is_some_and(|body| body.starts_with(['{', ';'])) && input.is_empty(), "{text}: the body is left");
    }
}

#[test]
fn parameters_are_read_as_a_whole_grammar_reads_them() {
    for text in FUNCTIONS {
        let theirs = theirs(text).inputs;
        let ours = Input::new(tokens(text)).signature().unwrap().params;
        assert_eq!(ours.len(), theirs.len(), "{text}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(plain(quote!(#ours)), plain(quote!(#theirs)), "{text}");
            let syn::FnArg::Typed(theirs) = theirs else {
                assert!(ours.is_receiver, "{text}");
                continue;
            };
            let (attrs, pattern, ty) = (&theirs.attrs, &theirs.pat, &theirs.ty);
            assert!(!ours.is_receiver, "{text}");
            assert_eq!(plain(ours.attrs.clone()), plain(quote!(#(#attrs)*)), "{text}");
            assert_eq!(plain(ours.pattern.clone()), plain(quote!(#pattern)), "{text}");
            assert_eq!(plain(ours.ty.clone()), plain(quote!(#ty)), "{text}");
        }
    }
}

#[test]
fn a_function_is_written_as_it_was_read() {
    for text in FUNCTIONS {
        let ours = Input::new(tokens(text)).signature().unwrap();
        let theirs = syn::parse2::<syn::Signature>(quote!(#ours)).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut expected = self::theirs(text);
        // A comma behind the last is not written, and none of these is an argument.
        expected.inputs = expected.inputs.into_iter().collect();
        assert_eq!(plain(quote!(#theirs)), plain(quote!(#expected)), "{text}");
    }
}

#[test]
fn visibilities() {
    for (text, visibility) in [
        ("fn f() {}", ""),
        ("⟦⟧ fn f() {}", ""),
        ("pub fn f() {}", "pub"),
        ("⟦pub(in a::b)⟧ fn f() {}", "pub (in a :: b)"),
        ("pub(crate) extern \"C\" fn f() {}", "pub (crate)"),
    ] {
        let mut input = Input::new(tokens(text));
        assert_eq!(input.visibility().to_string(), visibility, "{text}");
        assert_eq!(input.signature().unwrap().name, "f", "{text}");
    }
}

#[test]
fn attributes() {
    let text =
        "#[test] #[⟦tokio::test(flavor = \"x\")⟧] /// documented\n #[a = b::<C, D>] #[::e::f[g, h]] #[unsafe(no_mangle)] #![i] x";
    let mut input = Input::new(tokens(text));
    let attrs = input.attributes("#").err().map(|error| error.to_string());
    assert_eq!(attrs.as_deref(), Some("expected square brackets"), "`#!` stands inside of something");

    let mut input = Input::new(tokens(&text.replace("#![i]", "")));
    let attrs = input.attributes("#").unwrap();
    let read: Vec<_> = attrs
        .iter()
        .map(|attr| (attr.path.to_token_stream().to_string(), attr.list.clone().map(|list| list.to_string())))
        .collect();
    let expected = [
        ("test", None),
        ("tokio :: test", Some("flavor = \"x\"")),
        ("doc", None),
        ("a", None),
        (":: e :: f", Some("g , h")),
        ("unsafe", Some("no_mangle")),
    ];
    assert_eq!(read, expected.map(|(path, list)| (path.to_owned(), list.map(str::to_owned))));
    assert!(attrs[0].path.is_ident("test") && !attrs[1].path.is_ident("test") && attrs[1].path.ends_with("test"));
    assert!(attrs[4].path.starts_with("e") && !attrs[4].path.is_ident("f"));

    let mut input = Input::new(tokens("#![a(b)] #! [c] #[d] e"));
    assert_eq!(input.attributes("#!").unwrap().len(), 2);
    assert_eq!(input.rest().to_string(), "# [d] e");
}

#[test]
fn what_a_condition_adds() {
    let text =
        "all(unix, feature = \"a,b\"), ignore = \"why, why\", tokio::test(flavor = \"x\"), a = b + c::<D, E>(f), unsafe(g)";
    let read = Input::new(tokens(text)).list(Input::meta).unwrap();
    let read: Vec<_> = read.iter().map(|meta| plain(quote!(#meta))).collect();
    let theirs =
        syn::parse::Parser::parse2(syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated, tokens(text))
            .unwrap();
    let theirs: Vec<_> = theirs.iter().map(|meta| plain(quote!(#meta))).collect();
    assert_eq!(read, theirs);
    for text in ["true, ignore", "\"x\", ignore", "a b", "!a"] {
        assert!(Input::new(tokens(text)).list(Input::meta).is_err(), "{text}");
    }
}
