//! What both attributes emit alike.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, Ident, ReturnType};

use crate::item::{Access, Param, TestFn};

/// An error and the item it is about.
pub(crate) fn beside(error: &Error, item: &impl ToTokens) -> TokenStream {
    let error = error.to_compile_error();
    quote!(#error #item)
}

/// Names in the expansion that the body cannot see.
pub(crate) fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Which of the calls is meant, and whether it may come back without a lease.
pub(crate) fn call_suffix(test: &TestFn) -> (&'static str, bool) {
    let may_fail_quietly = test.should_panic().is_possible() && test.returns_unit();
    let suffix = match (may_fail_quietly, test.signature.asyncness.is_some()) {
        (false, false) => "",
        (false, true) => "_async",
        (true, false) => "_or_report",
        (true, true) => "_or_report_async",
    };
    (suffix, may_fail_quietly)
}

/// The body, its value kept until its last temporary is gone: only then may the lease be given back.
pub(crate) fn run_body(test: &TestFn) -> TokenStream {
    let body = &test.body;
    let value = hidden("__value");
    match &test.signature.output {
        ReturnType::Default => quote!(let () = #body;),
        ReturnType::Type(_, ty) if is_never(ty) => quote!(#body),
        ReturnType::Type(_, ty) => {
            let annotation = (!names_impl(ty.to_token_stream())).then(|| quote!(: #ty));
            quote! {
                let #value #annotation = #body;
                #[allow(unreachable_code)]
                #value
            }
        }
    }
}

fn is_never(ty: &syn::Type) -> bool {
    matches!(ty, syn::Type::Never(_))
}

/// An `impl Trait` cannot be written down a second time.
fn names_impl(ty: TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        proc_macro2::TokenTree::Ident(ident) => ident == "impl",
        proc_macro2::TokenTree::Group(group) => names_impl(group.stream()),
        _ => false,
    })
}

/// The parameter as a local of the body.
pub(crate) fn bind(param: &Param, slot: &Ident) -> TokenStream {
    let Param { attrs, pattern, ty, access } = param;
    let value = match access {
        Access::Owned => quote!(#slot),
        Access::Shared => quote!(&#slot),
        Access::Exclusive => quote!(&mut #slot),
    };
    quote_spanned!(Span::mixed_site()=> #(#attrs)* let #pattern: #ty = #value;)
}
