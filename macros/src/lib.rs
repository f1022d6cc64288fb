//! The `#[leased_slot]` attribute. Use it through `lease_harness`.

use proc_macro::TokenStream;

/// Gives a test a slot of a pool.
#[proc_macro_attribute]
pub fn leased_slot(_args: TokenStream, item: TokenStream) -> TokenStream {
    item
}
