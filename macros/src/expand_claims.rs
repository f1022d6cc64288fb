//! The output of `#[leased_claims]`: the function as it was, with one call in front of its body.

use proc_macro2::{Delimiter, Group, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Error, Path};

use crate::args::Wait;
use crate::claims_args::ClaimsArgs;
use crate::emit::{beside, bind, call_suffix, hidden, run_body};
use crate::item::{Access, Param, TestFn};

/// Expands one attribute; on a mistake the item stays, so that nothing else is reported about it.
pub(crate) fn leased_claims(args: TokenStream, item: TokenStream) -> TokenStream {
    claims_expanded(args, item).unwrap_or_else(|(error, item)| beside(&error, &item))
}

/// The same; a mistake comes with what is to stay of the item.
pub(crate) fn claims_expanded(args: TokenStream, item: TokenStream) -> Result<TokenStream, (Error, TokenStream)> {
    let mut test = syn::parse2::<TestFn>(item.clone()).map_err(|error| (of_claims(&error), item))?;
    let second = test.take_attribute("leased_claims");
    let unchanged = test.to_token_stream();
    let params = test.take_claims_params().map_err(|error| (of_claims(&error), TokenStream::new()))?;
    let checked = match (second, params.as_slice()) {
        (Some(second), _) => Err(Error::new_spanned(second, SECOND)),
        (None, [_, Param { pattern, ty, .. }, ..]) => Err(Error::new_spanned(quote!(#pattern: #ty), SECOND_SET)),
        (None, _) => ClaimsArgs::parse(args),
    };
    match checked {
        Ok(args) => Ok(Expansion { args, test, param: params.into_iter().next() }.into_token_stream()),
        Err(error) if params.is_empty() => Err((error, unchanged)),
        // A parameter that only we could fill would be reported a second time.
        Err(error) => Err((error, TokenStream::new())),
    }
}

/// In one attribute the whole set is seen, and so it is granted whole.
const SECOND: &str = "this is a second #[leased_claims]: one attribute names the whole set, as in \
                      `#[leased_claims(read(\"a\"), write(\"b\"))]`, so that it is granted whole or not at all";
const SECOND_SET: &str = "a test has one `ClaimSet` with all of its claims";

/// A mistake in the function, about this attribute.
fn of_claims(error: &Error) -> Error {
    let said = |error: &Error| {
        error.to_string().replace("#[leased_slot]", "#[leased_claims]").replace("without a slot", "without its claims")
    };
    let mut errors = error.clone().into_iter().map(|error| Error::new(error.span(), said(&error)));
    let first = errors.next().unwrap_or_else(|| error.clone());
    errors.fold(first, |mut all, error| {
        all.combine(error);
        all
    })
}

/// A checked attribute on a checked function.
struct Expansion {
    args: ClaimsArgs,
    test: TestFn,
    param: Option<Param>,
}

impl ToTokens for Expansion {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let TestFn { attrs, visibility, signature, inner_attrs, body, .. } = &self.test;
        let (site, acquire) = (self.site(), self.acquire());
        let bind = self.param.iter().map(|param| bind(param, &hidden("__claims")));
        let run = run_body(&self.test);
        let runtime = &self.args.runtime;
        let mut whole = Group::new(
            Delimiter::Brace,
            quote! {
                #(#inner_attrs)*
                static __LEASE_CLAIMS: #runtime::__private::ClaimsSite = #site;
                #acquire
                #(#bind)*
                #run
            },
        );
        whole.set_span(body.span());
        // Beside a slot it is the slot's attribute that looks for a runtime.
        let looks = self.test.may_lack_a_runtime() && !self.test.has_attribute("leased_slot");
        let check = looks.then(|| quote!(#[#runtime::__private::has_a_runtime]));
        tokens.extend(quote! {
            #(#attrs)*
            #check
            #visibility #signature #whole
        });
    }
}

impl Expansion {
    /// The call: it comes back with the claims, or not at all.
    fn acquire(&self) -> TokenStream {
        let runtime = &self.args.runtime;
        let (lease, claims) = (hidden("__claims_lease"), hidden("__claims"));
        let claims = match self.param.as_ref().map(|param| param.access) {
            Some(Access::Exclusive) => quote!(mut #claims),
            Some(Access::Owned | Access::Shared) => quote!(#claims),
            // Kept until the body is done.
            None => {
                let unused = hidden("_claims");
                quote!(#unused)
            }
        };
        let (suffix, may_fail_quietly) = call_suffix(&self.test);
        let call = format_ident!("claims{suffix}");
        let wait = self.test.signature.asyncness.is_some().then(|| quote!(.await));
        let acquired = quote!(#runtime::__private::#call(&__LEASE_CLAIMS)#wait);
        if may_fail_quietly {
            quote!(let ::core::option::Option::Some((#lease, #claims)) = #acquired else { return };)
        } else {
            quote!(let (#lease, #claims) = #acquired;)
        }
    }

    fn site(&self) -> TokenStream {
        let ClaimsArgs { claims, ttl_minutes, wait, owner, scope, runtime } = &self.args;
        let name = self.test.signature.ident.to_string();
        let claims = claims.iter().map(|(mode, key)| quote!((#mode, #key)));
        let mut site = quote!(#runtime::__private::ClaimsSite::new(::core::module_path!(), #name, &[#(#claims),*]));
        if let Some(minutes) = ttl_minutes {
            let minutes = Literal::f64_suffixed(*minutes);
            site.extend(quote!(.ttl_minutes(#minutes)));
        }
        match wait {
            Some(Wait::No) => site.extend(quote!(.wait_not())),
            Some(Wait::Millis(millis)) => site.extend(quote!(.wait_millis(#millis))),
            None => {}
        }
        if let Some(owner) = owner {
            site.extend(quote!(.owner(#owner)));
        }
        if let Some(scope) = scope {
            site.extend(quote!(.scope(#scope)));
        }
        let should_panic = self.test.should_panic();
        if should_panic.is_possible() {
            site.extend(quote!(.should_panic(#should_panic)));
        }
        site
    }
}

/// Takes the arguments of a `#[leased_claims(…)]` away from an item, if it has one outside of any `cfg_attr`.
pub(crate) fn take_claims_below(item: TokenStream) -> syn::Result<(TokenStream, Option<TokenStream>)> {
    let Ok(mut test) = syn::parse2::<TestFn>(item.clone()) else { return Ok((item, None)) };
    let is_it = |path: &Path| path.segments.last().is_some_and(|last| last.ident == "leased_claims");
    let Some(at) = test.attrs.iter().position(|attr| is_it(attr.path())) else {
        return match test.take_attribute("leased_claims") {
            Some(path) => Err(Error::new_spanned(path, UNDER_A_CONDITION)),
            None => Ok((item, None)),
        };
    };
    let args = match test.attrs.remove(at).meta {
        syn::Meta::List(list) => list.tokens,
        _ => TokenStream::new(),
    };
    Ok((test.into_token_stream(), Some(args)))
}

/// Slots are taken before claims, and which order the attributes have does not matter; what is not there yet cannot be put first.
const UNDER_A_CONDITION: &str = "slots are taken before claims: write this above #[leased_slot], since it is under a condition";
