//! What both attributes emit alike.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};

use crate::item::{Access, Param, TestFn};
use crate::options::{Options, Wait};
use crate::parse::{Error, only};

/// An error and the item it is about.
pub(crate) fn beside(error: &Error, item: &impl ToTokens) -> TokenStream {
    let error = error.to_compile_error();
    quote!(#error #item)
}

/// Names in the expansion that the body cannot see.
pub(crate) fn hidden(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// What an expansion is made of.
pub(crate) struct Frame<'a> {
    pub(crate) test: &'a TestFn,
    pub(crate) runtime: &'a TokenStream,
    /// The static by which the runtime knows the place.
    pub(crate) site: TokenStream,
}

impl Frame<'_> {
    /// The call: it comes back with what is `bound`, or not at all.
    pub(crate) fn call(&self, name: &str, bound: &TokenStream) -> TokenStream {
        let Self { test, runtime, site } = self;
        let may_fail_quietly = test.should_panic().is_possible() && test.returns_unit();
        let is_async = test.signature.asyncness.is_some();
        let suffix = match (may_fail_quietly, is_async) {
            (false, false) => "",
            (false, true) => "_async",
            (true, false) => "_or_report",
            (true, true) => "_or_report_async",
        };
        let call = format_ident!("{name}{suffix}");
        let wait = is_async.then(|| quote!(.await));
        let acquired = quote!(#runtime::__private::#call(&#site)#wait);
        if may_fail_quietly {
            quote!(let ::core::option::Option::Some(#bound) = #acquired else { return };)
        } else {
            quote!(let #bound = #acquired;)
        }
    }

    /// The function with this in front of its body, and below its `#[test]` what `checks` it.
    pub(crate) fn function(&self, start: &TokenStream, checks: Option<TokenStream>) -> TokenStream {
        let TestFn { attrs, visibility, signature, inner_attrs, body } = self.test;
        let run = run_body(self.test);
        let mut whole = Group::new(Delimiter::Brace, quote!(#(#inner_attrs)* #start #run));
        // With braces of ours the function would count as ours, and nobody would be told that it is never used: that
        // `#[test]` was forgotten.
        whole.set_span(body.span());
        quote!(#(#attrs)* #checks #visibility #signature #whole)
    }

    /// What says that a runtime is missing.
    ///
    /// `test` may be a runtime's that was imported: whether the function is still async below it is seen there.
    pub(crate) fn runtime_check(&self) -> Option<TokenStream> {
        let runtime = self.runtime;
        self.test.may_lack_a_runtime().then(|| quote!(#[#runtime::__private::has_a_runtime]))
    }
}

/// What the runtime is told of the options that both attributes have.
pub(crate) fn told(Options { ttl_minutes, wait, owner, .. }: &Options) -> TokenStream {
    let minutes = ttl_minutes.map(Literal::f64_suffixed);
    let ttl = minutes.map(|minutes| quote!(.ttl_minutes(#minutes)));
    let wait = wait.map(|wait| match wait {
        Wait::No => quote!(.wait_not()),
        Wait::Millis(millis) => quote!(.wait_millis(#millis)),
    });
    let owner = owner.as_ref().map(|owner| quote!(.owner(#owner)));
    quote!(#ttl #wait #owner)
}

/// The body, its value kept until its last temporary is gone: only then may the lease be given back.
fn run_body(test: &TestFn) -> TokenStream {
    let body = &test.body;
    let value = hidden("__value");
    match &test.signature.output {
        None => quote!(let () = #body;),
        Some(ty) if is_never(ty) => quote!(#body),
        Some(ty) => {
            let annotation = (!names_impl(ty.clone())).then(|| quote!(: #ty));
            quote! {
                let #value #annotation = #body;
                #[allow(unreachable_code)]
                #value
            }
        }
    }
}

fn is_never(ty: &TokenStream) -> bool {
    matches!(only(ty), Some(TokenTree::Punct(never)) if never.as_char() == '!')
}

/// An `impl Trait` cannot be written down a second time.
fn names_impl(ty: TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "impl",
        TokenTree::Group(group) => names_impl(group.stream()),
        _ => false,
    })
}

/// The name to which the call's value is bound, so that the parameter can be made of it.
pub(crate) fn bound(param: &Param, name: &Ident) -> TokenStream {
    match param.access {
        Access::Owned | Access::Shared => quote!(#name),
        Access::Exclusive => quote!(mut #name),
    }
}

/// The parameter as a local of the body.
pub(crate) fn bind(param: &Param, slot: &Ident) -> TokenStream {
    let Param { attrs, pattern, ty, access } = param;
    let value = match access {
        Access::Owned => quote!(#slot),
        Access::Shared => quote!(&#slot),
        Access::Exclusive => quote!(&mut #slot),
    };
    quote_spanned!(Span::mixed_site()=> #attrs let #pattern: #ty = #value;)
}
