//! The `#[leased_slot]` attribute. Use it through `lease_harness`, where it is documented.
//!
//! Reading order: `args` is what stands in the attribute's parentheses, `item` is the function below it, `expand` puts
//! both together into one call of `lease_harness::__private`.

mod args;
mod duration;
mod expand;
mod item;
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

/// Stands below a `#[test]` in what `leased_slot` emits, and says what is missing if that is no runtime's.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn has_a_runtime(_args: TokenStream, item: TokenStream) -> TokenStream {
    expand::has_a_runtime(item.into()).into()
}
