//! The output of `#[leased_claims]`: the function as it was, with one call in front of its body.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::claims_args::ClaimsArgs;
use crate::emit::{Frame, beside, bind, bound, hidden, told};
use crate::item::{Param, TestFn};
use crate::parse::Error;

/// Expands one attribute; on a mistake the item stays, so that nothing else is reported about it.
pub(crate) fn leased_claims(args: TokenStream, item: TokenStream) -> TokenStream {
    claims_expanded(args, item).unwrap_or_else(|(error, item)| beside(&error, &item))
}

/// The same; a mistake comes with what is to stay of the item.
pub(crate) fn claims_expanded(args: TokenStream, item: TokenStream) -> Result<TokenStream, (Error, TokenStream)> {
    let mut test = TestFn::parse(item.clone()).map_err(|error| (of_claims(&error), item))?;
    let second = test.take_attribute("leased_claims");
    let unchanged = test.to_token_stream();
    let params = test.take_claims_params().map_err(|error| (of_claims(&error), TokenStream::new()))?;
    let checked = match (second, params.as_slice()) {
        (Some(second), _) => Err(Error::new_spanned(second, SECOND)),
        (None, [_, Param { pattern, ty, .. }, ..]) => Err(Error::new_spanned(quote!(#pattern: #ty), SECOND_SET)),
        (None, _) => ClaimsArgs::parse(args),
    };
    match checked {
        Ok(args) => Ok(Expansion { args, test, param: params.into_iter().next() }.expanded()),
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
    error.reworded(|said| said.replace("#[leased_slot]", "#[leased_claims]").replace("without a slot", "without its claims"))
}

/// A checked attribute on a checked function.
struct Expansion {
    args: ClaimsArgs,
    test: TestFn,
    param: Option<Param>,
}

impl Expansion {
    fn expanded(&self) -> TokenStream {
        let runtime = self.args.options.runtime();
        let frame = Frame { test: &self.test, runtime: &runtime, site: quote!(__LEASE_CLAIMS) };
        let (site, acquire) = (self.site(&runtime), self.acquire(&frame));
        let bind = self.param.iter().map(|param| bind(param, &hidden("__claims")));
        let start = quote! {
            static __LEASE_CLAIMS: #runtime::__private::ClaimsSite = #site;
            #acquire
            #(#bind)*
        };
        // Beside a slot it is the slot's attribute that looks for a runtime.
        frame.function(&start, frame.runtime_check().filter(|_| !self.test.has_attribute("leased_slot")))
    }

    fn acquire(&self, frame: &Frame<'_>) -> TokenStream {
        let lease = hidden("__claims_lease");
        // Without a parameter they are kept until the body is done, too.
        let kept = || hidden("_claims").into_token_stream();
        let claims = self.param.as_ref().map_or_else(kept, |param| bound(param, &hidden("__claims")));
        frame.call("claims", &quote!((#lease, #claims)))
    }

    fn site(&self, runtime: &TokenStream) -> TokenStream {
        let ClaimsArgs { claims, scope, options } = &self.args;
        let name = self.test.signature.name.to_string();
        let claims = claims.iter().map(|(mode, key)| quote!((#mode, #key)));
        let mut site = quote!(#runtime::__private::ClaimsSite::new(::core::module_path!(), #name, &[#(#claims),*]));
        site.extend(told(options));
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
pub(crate) fn take_claims_below(item: TokenStream) -> Result<(TokenStream, Option<TokenStream>), Error> {
    let Ok(mut test) = TestFn::parse(item.clone()) else { return Ok((item, None)) };
    let Some(at) = test.attrs.iter().position(|attr| attr.path.ends_with("leased_claims")) else {
        return match test.take_attribute("leased_claims") {
            Some(path) => Err(Error::new_spanned(path, UNDER_A_CONDITION)),
            None => Ok((item, None)),
        };
    };
    let args = test.attrs.remove(at).list.unwrap_or_default();
    Ok((test.into_token_stream(), Some(args)))
}

/// Slots are taken before claims, and which order the attributes have does not matter; what is not there yet cannot be put first.
const UNDER_A_CONDITION: &str = "slots are taken before claims: write this above #[leased_slot], since it is under a condition";
