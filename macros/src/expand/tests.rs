//! One printed expansion a shape.

mod process;
mod slot;

use proc_macro2::TokenStream;
use quote::quote;

#[track_caller]
fn check(args: TokenStream, item: TokenStream, expected: &str) {
    let expanded = super::leased_slot(args, item, (1, 1));
    let file = syn::parse2(expanded).expect("an expansion is Rust");
    let printed = prettyplease::unparse(&file);
    assert_eq!(printed.trim(), expected.trim(), "\n{printed}");
}

fn pool() -> TokenStream {
    quote!(pool = "pool.json")
}
