//! The `#[leased_slot]` and `#[leased_claims]` attributes. Use them through `lease_harness`, where they are documented.
//!
//! Reading order: `parse` reads tokens, `args` and `claims_args` are what stands in the attributes' parentheses, with `options`
//! what they share, `item` is the function below them, `expand` and `expand_claims` put both together into one call of
//! `lease_harness::__private`.

mod args;
mod claims_args;
mod duration;
mod emit;
mod expand;
mod expand_claims;
mod item;
mod options;
mod parse;
mod workspace;

use std::path::PathBuf;

use proc_macro::TokenStream;

use expand::Source;

/// Gives a test a slot of a pool; documented at `lease_harness::leased_slot`.
#[proc_macro_attribute]
pub fn leased_slot(args: TokenStream, item: TokenStream) -> TokenStream {
    let here = proc_macro::Span::call_site();
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    expand::leased_slot(args.into(), item.into(), Source { line: here.line(), column: here.column(), package }).into()
}

/// Lets a test hold claims; documented at `lease_harness::leased_claims`.
#[proc_macro_attribute]
pub fn leased_claims(args: TokenStream, item: TokenStream) -> TokenStream {
    expand_claims::leased_claims(args.into(), item.into()).into()
}

/// Stands below a `#[test]` in what `leased_slot` emits, and says what is missing if that is no runtime's.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn has_a_runtime(_args: TokenStream, item: TokenStream) -> TokenStream {
    expand::has_a_runtime(item.into()).into()
}
