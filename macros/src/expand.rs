//! The attribute's output: the function as it was, with one call into the runtime in front of its body.

use std::path::PathBuf;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::args::Args;
use crate::emit::{Frame, beside, bind, bound, hidden, told};
use crate::expand_claims::{claims_expanded, take_claims_below};
use crate::item::{Param, TestFn};
use crate::parse::{Error, Result, Text};
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
            Err((error, _)) => return error.to_compile_error(),
        },
        Ok((item, None)) => item,
        Err(error) => return beside(&error, &item),
    };
    let mut test = match TestFn::parse(item.clone()) {
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
            Ok(()) => Expansion { args, test, slots, source }.expanded(),
            Err(error) => error.to_compile_error(),
        },
        (Err(error), Ok(slots)) if slots.is_empty() => beside(&error, &unchanged),
        // A parameter that only we could fill would be reported a second time.
        (Err(error), Ok(_) | Err(_)) | (Ok(_), Err(error)) => error.to_compile_error(),
    }
}

/// Expands what stands below a `#[test]`: if that has left the function async, nothing runs it.
pub(crate) fn has_a_runtime(item: TokenStream) -> TokenStream {
    match TestFn::parse(item.clone()).ok().and_then(|test| test.signature.asyncness) {
        Some(asyncness) => {
            let message = "an `async fn` needs a runtime, and the standard library's #[test] brings none: write that of your \
                           runtime in its place, such as `#[tokio::test]`, or `#[apply(test!)]` with smol";
            beside(&Error::new_spanned(asyncness, message), &item)
        }
        None => item,
    }
}

/// In one attribute all pools of a test are seen, and so they are always taken in one order.
const SECOND: &str = "this is a second #[leased_slot]: one attribute names all pools of a test, as in \
                      `#[leased_slot(pools(\"db.json\", \"ports.json\"))]`";

/// A test takes no slot as a parameter, or that of each pool.
fn check_one_each(pools: &[Text], slots: &[Param]) -> Result<()> {
    if let Some(Param { pattern, ty, .. }) = slots.get(pools.len()) {
        let message = "there is no pool for this slot: name one for each, as in `pools(\"db.json\", \"ports.json\")`";
        return Err(Error::new_spanned(quote!(#pattern: #ty), message));
    }
    match pools.get(slots.len()) {
        Some(pool) if !slots.is_empty() => {
            let message = "there is no `Slot` for this pool: a test takes one of each pool, in this order, or none at all";
            Err(Error::new(pool.place, message))
        }
        _ => Ok(()),
    }
}

/// A slot as a parameter is clean without being asked for.
fn check_reset(args: &Args, slots: &[Param]) -> Result<()> {
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

impl Expansion {
    fn expanded(&self) -> TokenStream {
        let runtime = self.args.options.runtime();
        let frame = Frame { test: &self.test, runtime: &runtime, site: quote!(__LEASE_SITE) };
        let register = self.register(&runtime);
        let acquire = self.acquire(&frame);
        let bind = self.slots.iter().enumerate().map(|(slot_idx, param)| bind(param, &self.slot_name(slot_idx)));
        frame.function(&quote!(#register #acquire #(#bind)*), frame.runtime_check())
    }

    /// A place is known before `main`.
    ///
    /// By a constructor written out: the one of the `ctor` crate does not compile in a crate that forbids unsafe code.
    /// 101 is the earliest priority that is not the system's; macOS has none and runs constructors in the order of linking.
    fn register(&self, runtime: &TokenStream) -> TokenStream {
        let site = self.site(runtime);
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

    /// The slots stand behind the lease: they are dropped first.
    fn acquire(&self, frame: &Frame<'_>) -> TokenStream {
        let lease = hidden("__lease");
        let slots: Vec<_> =
            self.slots.iter().enumerate().map(|(slot_idx, param)| bound(param, &self.slot_name(slot_idx))).collect();
        match slots.as_slice() {
            [] => frame.call("process_slot", &quote!(#lease)),
            [slot] => frame.call("test_slot", &quote!((#lease, #slot))),
            slots => frame.call("test_slots", &quote!((#lease, [#(#slots),*]))),
        }
    }

    fn slot_name(&self, slot_idx: usize) -> Ident {
        if self.slots.len() == 1 { hidden("__slot") } else { hidden(&format!("__slot_{slot_idx}")) }
    }

    /// What the runtime is told about the place.
    fn site(&self, runtime: &TokenStream) -> TokenStream {
        let Args { pools, reset, options } = &self.args;
        let (pool, others) = (&pools[0], &pools[1..]);
        let name = self.test.signature.name.to_string();
        let mut site = quote!(#runtime::__private::Site::new(::core::module_path!(), #name, #pool));
        if !others.is_empty() {
            site.extend(quote!(.and_pools(&[#(#others),*])));
        }
        // Whether the files are there does not matter yet; if one is missing when the test runs, this helps to tell why.
        if let Some(package) = &self.source.package {
            let were_there = pools.iter().map(|pool| workspace::is_there(package, &pool.value));
            site.extend(quote!(.pools_were_there(&[#(#were_there),*])));
        }
        site.extend(told(options));
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
