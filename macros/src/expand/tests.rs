//! One printed expansion a shape.

mod process;
mod slot;

use proc_macro2::TokenStream;
use quote::quote;

use super::Source;

#[track_caller]
fn check(args: TokenStream, item: TokenStream, expected: &str) {
    let expanded = super::leased_slot(args, item, Source { line: 1, column: 1, package: None });
    let file = syn::parse2(expanded).expect("an expansion is Rust");
    let printed = prettyplease::unparse(&file);
    assert_eq!(printed.trim(), expected.trim(), "\n{printed}");
}

fn pool() -> TokenStream {
    quote!(pool = "pool.json")
}
