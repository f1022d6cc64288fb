//! The attribute's output: the function as it was, with one call into the runtime in front of its body.

use std::path::PathBuf;

use proc_macro2::{Delimiter, Group, Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Error, Ident, LitStr, Signature};

use crate::args::{Args, Wait};
use crate::emit::{beside, bind, call_suffix, hidden, run_body};
use crate::expand_claims::{claims_expanded, take_claims_below};
use crate::item::{Access, Param, TestFn};
use crate::workspace;

/// Where the attribute is compiled.
pub(crate) struct Source {
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// The folder of the package, if cargo compiles it.
    pub(crate) package: Option<PathBuf>,
}

/// Expands one attribute; on a mistake the item stays, so that nothing else is reported about it.
///
/// Whatever order they stand in, a slot is taken before claims: claims below this attribute are expanded first, and so come to be
/// further inside.
pub(crate) fn leased_slot(args: TokenStream, item: TokenStream, source: Source) -> TokenStream {
    let item = match take_claims_below(item.clone()) {
        Ok((without, Some(claims))) => match claims_expanded(claims, without) {
            Ok(item) => item,
            // What is left of the item may have a parameter that only we could fill.
            Err((error, _)) => return error.into_compile_error(),
        },
        Ok((item, None)) => item,
        Err(error) => return beside(&error, &item),
    };
    let mut test = match syn::parse2::<TestFn>(item.clone()) {
        Ok(test) => test,
        Err(error) => return beside(&error, &item),
    };
    let second = test.take_attribute("leased_slot");
    let unchanged = test.clone();
    let slots = test.take_slot_params();
    let checked = match second {
        Some(second) => Err(Error::new_spanned(second, SECOND)),
        None => Args::parse(args),
    };
    match (checked, slots) {
        (Ok(args), Ok(slots)) => match check_one_each(&args.pools, &slots).and_then(|()| check_reset(&args, &slots)) {
            Ok(()) => Expansion { args, test, slots, source }.into_token_stream(),
            Err(error) => error.into_compile_error(),
        },
        (Err(error), Ok(slots)) if slots.is_empty() => beside(&error, &unchanged),
        // A parameter that only we could fill would be reported a second time.
        (Err(error), Ok(_) | Err(_)) | (Ok(_), Err(error)) => error.into_compile_error(),
    }
}

/// Expands what stands below a `#[test]`: if that has left the function async, nothing runs it.
pub(crate) fn has_a_runtime(item: TokenStream) -> TokenStream {
    match syn::parse2::<TestFn>(item.clone()) {
        Ok(TestFn { signature: Signature { asyncness: Some(asyncness), .. }, .. }) => {
            let message = "an `async fn` needs a runtime, and the standard library's #[test] brings none: write that of your \
                           runtime in its place, such as `#[tokio::test]`, or `#[apply(test!)]` with smol";
            beside(&Error::new_spanned(asyncness, message), &item)
        }
        _ => item,
    }
}

/// In one attribute all pools of a test are seen, and so they are always taken in one order.
const SECOND: &str = "this is a second #[leased_slot]: one attribute names all pools of a test, as in \
                      `#[leased_slot(pools(\"db.json\", \"ports.json\"))]`";

/// A test takes no slot as a parameter, or that of each pool.
fn check_one_each(pools: &[LitStr], slots: &[Param]) -> syn::Result<()> {
    if let Some(Param { pattern, ty, .. }) = slots.get(pools.len()) {
        let message = "there is no pool for this slot: name one for each, as in `pools(\"db.json\", \"ports.json\")`";
        return Err(Error::new_spanned(quote!(#pattern: #ty), message));
    }
    match pools.get(slots.len()) {
        Some(pool) if !slots.is_empty() => {
            let message = "there is no `Slot` for this pool: a test takes one of each pool, in this order, or none at all";
            Err(Error::new(pool.span(), message))
        }
        _ => Ok(()),
    }
}

/// A slot as a parameter is clean without being asked for.
fn check_reset(args: &Args, slots: &[Param]) -> syn::Result<()> {
    match args.reset {
        Some(place) if !slots.is_empty() => {
            let message = "a test with a `slot: Slot` always gets it clean; `reset` is for tests without, which find the slot of \
                           their process as the test before left it";
            Err(Error::new(place, message))
        }
        _ => Ok(()),
    }
}

/// A checked attribute on a checked function.
struct Expansion {
    args: Args,
    test: TestFn,
    /// None in the process form, else one of each pool.
    slots: Vec<Param>,
    source: Source,
}

impl ToTokens for Expansion {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let TestFn { attrs, visibility, signature, inner_attrs, .. } = &self.test;
        let register = self.register();
        let acquire = self.acquire();
        let bind = self.slots.iter().enumerate().map(|(slot_idx, param)| bind(param, &self.slot_name(slot_idx)));
        let run = run_body(&self.test);
        let mut body = Group::new(
            Delimiter::Brace,
            quote! {
                #(#inner_attrs)*
                #register
                #acquire
                #(#bind)*
                #run
            },
        );
        // With braces of ours the function would count as ours, and nobody would be told that it is never used: that
        // `#[test]` was forgotten.
        body.set_span(self.test.body.span());
        // `test` may be a runtime's that was imported: whether the function is still async below it is seen there.
        let runtime = &self.args.runtime;
        let check = self.test.may_lack_a_runtime().then(|| quote!(#[#runtime::__private::has_a_runtime]));
        tokens.extend(quote! {
            #(#attrs)*
            #check
            #visibility #signature #body
        });
    }
}

impl Expansion {
    /// A place is known before `main`.
    ///
    /// By a constructor written out: the one of the `ctor` crate does not compile in a crate that forbids unsafe code.
    /// 101 is the earliest priority that is not the system's; macOS has none and runs constructors in the order of linking.
    fn register(&self) -> TokenStream {
        let runtime = &self.args.runtime;
        let site = self.site();
        quote! {
            static __LEASE_SITE: #runtime::__private::Site = #site;
            const _: () = {
                extern "C" fn register() {
                    __LEASE_SITE.register();
                }
                #[used]
                #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array.00101"))]
                #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func,mod_init_funcs"))]
                static REGISTER: extern "C" fn() = register;
            };
        }
    }

    /// The call: it comes back with the slot, or not at all.
    fn acquire(&self) -> TokenStream {
        let runtime = &self.args.runtime;
        let lease = hidden("__lease");
        let (call, bound) = match (self.slots.len(), self.slot_patterns()) {
            (0, _) => ("process_slot", quote!(#lease)),
            (1, slot) => ("test_slot", quote!((#lease, #(#slot)*))),
            (_, slots) => ("test_slots", quote!((#lease, [#(#slots),*]))),
        };
        let is_async = self.test.signature.asyncness.is_some();
        let (suffix, may_fail_quietly) = call_suffix(&self.test);
        let call = format_ident!("{call}{suffix}", span = Span::call_site());
        let wait = is_async.then(|| quote!(.await));
        let acquired = quote!(#runtime::__private::#call(&__LEASE_SITE)#wait);
        if may_fail_quietly {
            quote!(let ::core::option::Option::Some(#bound) = #acquired else { return };)
        } else {
            quote!(let #bound = #acquired;)
        }
    }

    /// The slots as the call gives them, behind the lease: they are dropped first.
    fn slot_patterns(&self) -> Vec<TokenStream> {
        let pattern = |(slot_idx, param): (usize, &Param)| {
            let slot = self.slot_name(slot_idx);
            match param.access {
                Access::Owned | Access::Shared => quote!(#slot),
                Access::Exclusive => quote!(mut #slot),
            }
        };
        self.slots.iter().enumerate().map(pattern).collect()
    }

    fn slot_name(&self, slot_idx: usize) -> Ident {
        if self.slots.len() == 1 { hidden("__slot") } else { hidden(&format!("__slot_{slot_idx}")) }
    }

    /// What the runtime is told about the place.
    fn site(&self) -> TokenStream {
        let Args { pools, ttl_minutes, wait, owner, reset, runtime } = &self.args;
        let (pool, others) = (&pools[0], &pools[1..]);
        let name = self.test.signature.ident.to_string();
        let mut site = quote!(#runtime::__private::Site::new(::core::module_path!(), #name, #pool));
        if !others.is_empty() {
            site.extend(quote!(.and_pools(&[#(#others),*])));
        }
        // Whether the files are there does not matter yet; if one is missing when the test runs, this helps to tell why.
        if let Some(package) = &self.source.package {
            let were_there = pools.iter().map(|pool| workspace::is_there(package, &pool.value()));
            site.extend(quote!(.pools_were_there(&[#(#were_there),*])));
        }
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
        if reset.is_some() {
            site.extend(quote!(.resets()));
        }
        let (ignored, should_panic) = (self.test.ignored(), self.test.should_panic());
        if ignored.is_possible() {
            site.extend(quote!(.ignored(#ignored)));
        }
        if should_panic.is_possible() {
            site.extend(quote!(.should_panic(#should_panic)));
        }
        // Cases that have the attribute from one place most likely all have it; the runtime compares.
        if let Some(word) = self.test.made_of() {
            let Source { line, column, .. } = self.source;
            site.extend(quote!(.made_of(#word, #line, #column)));
        }
        if !self.test.keeps_its_name() {
            site.extend(quote!(.makes_several_tests(::core::cfg!(test))));
        }
        if !self.slots.is_empty() {
            site.extend(quote!(.takes_its_slots()));
        }
        site
    }
}

#[cfg(test)]
mod tests;
