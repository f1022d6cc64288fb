//! What is read of hard input, beside what a crate that knows all of the grammar reads.

mod expressions;
mod functions;
mod literals;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;

use super::{Error, Input};

/// The tokens of a text, in which `⟦…⟧` stands for an invisible group.
#[track_caller]
fn tokens(text: &str) -> TokenStream {
    let marked = text.replace('⟦', "(__INVISIBLE ").replace('⟧', ")");
    with_invisible_groups(marked.parse().unwrap_or_else(|error| panic!("{text}: {error}")))
}

fn with_invisible_groups(tokens: TokenStream) -> TokenStream {
    let marked = |token| {
        let TokenTree::Group(group) = token else { return token };
        let mut inside = Input::new(with_invisible_groups(group.stream()));
        let delimiter = if inside.take_word("__INVISIBLE").is_some() { Delimiter::None } else { group.delimiter() };
        TokenTree::Group(Group::new(delimiter, inside.rest()))
    };
    tokens.into_iter().map(marked).collect()
}

/// The tokens as a text, whether or not some of them stand in an invisible group, and whatever is written together.
fn plain(tokens: TokenStream) -> String {
    let written = |token| match token {
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            format!("{open}{}{close}", plain(group.stream()))
        }
        token => token.to_string(),
    };
    tokens.into_iter().map(written).collect::<Vec<_>>().join(" ")
}

#[test]
fn words_and_operators_are_seen_in_invisible_groups() {
    let mut input = Input::new(tokens("⟦⟧ ⟦⟦a⟧ :⟧ : = > r#fn"));
    assert!(!input.is_empty() && input.peek_word("a"));
    assert_eq!(input.take().unwrap().to_string(), "a");
    assert!(input.peek_op(":") && !input.peek_op("::"), "they are not written together");
    assert!(input.take_op(":") && input.take_op(":") && input.take_op("=") && input.take_op(">"));
    assert!(!input.peek_word("fn"), "it is a name");
    assert_eq!(input.ident().unwrap().to_string(), "r#fn");
    assert!(input.is_empty() && input.take().is_none());
}

#[test]
fn angles_end_where_they_are_closed() {
    for (text, rest) in [
        ("<A<B<C>>> x", "x"),
        ("<F: Fn() -> Vec<u8>> x", "x"),
        ("<F: for<'a> Fn(&'a u8) -> &'a u8, const N: usize = { 1 > 2 }> x", "x"),
        ("<A<-1>, ⟦B>⟧> x", "x"),
        ("<A<{ N >> 1 }>>= x", "= x"),
    ] {
        let mut input = Input::new(tokens(text));
        input.angles().unwrap();
        assert_eq!(input.rest().to_string(), rest, "{text}");
    }
    assert_eq!(Input::new(tokens("<A<B>")).angles().unwrap_err().to_string(), "expected `>`");
}

#[test]
fn an_error_is_what_makes_the_compiler_report_it() {
    let mut ours = Error::new_spanned(quote!(a + b), "one \"thing\"");
    ours.combine(Error::new_spanned(TokenStream::new(), "another"));
    let mut theirs = syn::Error::new_spanned(quote!(a + b), "one \"thing\"");
    theirs.combine(syn::Error::new_spanned(TokenStream::new(), "another"));
    assert_eq!(ours.to_compile_error().to_string(), theirs.to_compile_error().to_string());
    assert_eq!(ours.to_string(), theirs.to_string());

    let reworded = ours.reworded(|said| said.replace("other", "y"));
    assert!(reworded.to_compile_error().to_string().contains("any"), "all of them are reworded");
}
