//! The function below the attribute, and what its other attributes say about it.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use strsim::osa_distance;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, FnArg, Ident, Meta, Pat, PatType, Path, Result, ReturnType, Signature, Token, Type, TypeReference,
    Visibility,
};

/// Attributes that leave a function one test under its own name. Anything else may be a generator (rstest,
/// test_case) whose tests are called `name::something`.
const NAME_KEEPING: [&str; 27] = [
    "allow",
    "bench",
    "cfg",
    "cold",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "file_parallel",
    "file_serial",
    "forbid",
    "ignore",
    "inline",
    "instrument",
    "must_use",
    "optimize",
    "parallel",
    "parallel_ignore",
    "serial",
    "should_panic",
    "test",
    "test_context",
    "test_log",
    "tracing_test",
    "traced_test",
    "track_caller",
    "warn",
];

/// A function with its body left as it was written: what is not looked at cannot be misread.
#[derive(Clone)]
pub(crate) struct TestFn {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    /// Attributes at the top of the body.
    pub(crate) inner_attrs: Vec<Attribute>,
    /// The body, with its braces.
    pub(crate) body: Group,
}

/// The parameter that is given a slot, or the claims.
pub(crate) struct Param {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) pattern: Pat,
    /// Its type without a lifetime: what it is given is a local of the test.
    pub(crate) ty: Type,
    pub(crate) access: Access,
}

/// How the body gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Owned,
    Shared,
    Exclusive,
}

/// Under which conditions an attribute is there.
#[derive(Clone, Debug)]
pub(crate) enum Presence {
    Never,
    Always,
    /// A boolean expression of `cfg!`s.
    When(TokenStream),
}

impl Parse for TestFn {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        if is_macro_call(input) {
            return Err(input.error("#[leased_slot] goes on a test function: inside of this macro, above the function"));
        }
        let visibility = input.parse()?;
        if !looks_like_fn(input) {
            return Err(not_a_fn(input.span()));
        }
        let signature: Signature = input.parse()?;
        check_qualifiers(&signature)?;
        let Some(body) = input.parse::<TokenTree>().ok().and_then(in_braces) else {
            return Err(Error::new_spanned(signature, "#[leased_slot] goes on a function that has a body"));
        };
        let (inner_attrs, body) = split_inner_attrs(body)?;
        Ok(Self { attrs, visibility, signature, inner_attrs, body })
    }
}

fn looks_like_fn(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    while ahead.peek(Token![const])
        || ahead.peek(Token![async])
        || ahead.peek(Token![unsafe])
        || ahead.peek(Token![extern])
        || ahead.peek(syn::LitStr)
    {
        if ahead.parse::<TokenTree>().is_err() {
            return false;
        }
    }
    ahead.peek(Token![fn])
}

/// `proptest! { … }`, which has the functions inside.
fn is_macro_call(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    ahead.call(Path::parse_mod_style).is_ok() && ahead.peek(Token![!])
}

/// A slot is taken when a function runs, and without one the function panics.
fn check_qualifiers(signature: &Signature) -> Result<()> {
    if let Some(constness) = &signature.constness {
        let message =
            "#[leased_slot] goes on a function that runs with the tests; a `const fn` could run while they are compiled";
        return Err(Error::new_spanned(constness, message));
    }
    match &signature.abi {
        Some(abi) if abi.name.as_ref().is_none_or(|name| name.value() != "Rust") => {
            let message = "#[leased_slot] panics without a slot, and a panic must not leave an `extern` function";
            Err(Error::new_spanned(abi, message))
        }
        _ => Ok(()),
    }
}

fn not_a_fn(span: Span) -> Error {
    Error::new(span, "#[leased_slot] goes on a test function")
}

/// The body itself: one that comes out of a `macro_rules!` variable stands in an invisible group.
fn in_braces(body: TokenTree) -> Option<Group> {
    match body {
        TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => Some(body),
        TokenTree::Group(body) if body.delimiter() == Delimiter::None => syn::parse2(body.stream()).ok().and_then(in_braces),
        _ => None,
    }
}

fn split_inner_attrs(body: Group) -> Result<(Vec<Attribute>, Group)> {
    let split = |input: ParseStream<'_>| Ok((Attribute::parse_inner(input)?, input.parse::<TokenStream>()?));
    let (inner_attrs, rest) = split.parse2(body.stream())?;
    if inner_attrs.is_empty() {
        return Ok((inner_attrs, body));
    }
    let mut without = Group::new(Delimiter::Brace, rest);
    without.set_span(body.span());
    Ok((inner_attrs, without))
}

impl ToTokens for TestFn {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, visibility, signature, inner_attrs, body } = self;
        let body = body.stream();
        tokens.extend(quote!(#(#attrs)* #visibility #signature { #(#inner_attrs)* #body }));
    }
}

impl TestFn {
    /// Takes the parameters whose type is called `Slot` out of the signature.
    pub(crate) fn take_slot_params(&mut self) -> Result<Vec<Param>> {
        let slots = self.take_params("Slot")?;
        match self.mistaken_slot_param() {
            Some(error) => Err(error),
            None => Ok(slots),
        }
    }

    /// Takes the parameters whose type is called `ClaimSet` out of the signature.
    pub(crate) fn take_claims_params(&mut self) -> Result<Vec<Param>> {
        self.take_params("ClaimSet")
    }

    fn take_params(&mut self, name: &str) -> Result<Vec<Param>> {
        if let Some(FnArg::Receiver(receiver)) = self.signature.inputs.first() {
            return Err(Error::new_spanned(receiver, "#[leased_slot] goes on a free function, not on a method"));
        }
        let mut ours = Vec::new();
        let mut others = Punctuated::new();
        for input in std::mem::take(&mut self.signature.inputs) {
            match param_of(&input, name) {
                None => others.push(input),
                Some(param) => ours.push(param),
            }
        }
        self.signature.inputs = others;
        Ok(ours)
    }

    /// A parameter that was meant for a slot, of a test that nobody else gives parameters to.
    fn mistaken_slot_param(&self) -> Option<Error> {
        let is_plain = self.attrs.iter().any(|attr| is_test(attr.meta.path())) && self.attrs.iter().all(gives_no_params);
        let is_meant = |param: &&PatType| mentions_slot(param.ty.to_token_stream()) || is_called_slot(&param.pat);
        let params = self.signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(param) => Some(param),
            FnArg::Receiver(_) => None,
        });
        let param = params.filter(|_| is_plain).find(is_meant)?;
        let message = "a slot comes as `Slot`, `&Slot` or `&mut Slot`, and its type is written with this name";
        Some(Error::new_spanned(&param.ty, message))
    }

    /// Whether an attribute of this name stands here, be it under a condition.
    pub(crate) fn has_attribute(&self, name: &str) -> bool {
        self.attrs.iter().any(|attr| find_path(&attr.meta, &|path| is_named(path, name)).is_some())
    }

    /// Takes away all attributes of this name; says where the first of them stands.
    pub(crate) fn take_attribute(&mut self, name: &str) -> Option<Path> {
        let place = |attr: &Attribute| find_path(&attr.meta, &|path| is_named(path, name));
        let first = self.attrs.iter().find_map(place);
        self.attrs.retain(|attr| place(attr).is_none());
        first
    }

    /// When the function is `#[ignore]`d.
    pub(crate) fn ignored(&self) -> Presence {
        self.presence_of("ignore")
    }

    /// When the function is expected to panic.
    pub(crate) fn should_panic(&self) -> Presence {
        self.presence_of("should_panic")
    }

    fn presence_of(&self, name: &str) -> Presence {
        self.attrs.iter().map(|attr| presence_in(&attr.meta, name)).fold(Presence::Never, Presence::or)
    }

    /// Whether one test will come of this function, under its own name; with parameters left, something else must make
    /// tests of it.
    pub(crate) fn keeps_its_name(&self) -> bool {
        self.signature.inputs.is_empty() && self.attrs.iter().all(|attr| keeps_name(&attr.meta))
    }

    /// Whether its test attribute may be the standard library's, which runs nothing that is async.
    pub(crate) fn may_lack_a_runtime(&self) -> bool {
        self.signature.asyncness.is_some() && self.attrs.iter().any(|attr| attr.path().is_ident("test"))
    }

    /// The word of the source of which a macro made the function's name, if one did: rstest calls the cases of `works`
    /// `case_1` and so on, and points at `works`.
    pub(crate) fn made_of(&self) -> Option<String> {
        let name = &self.signature.ident;
        let word = name.span().source_text()?;
        (*name != word && syn::parse_str::<Ident>(&word).is_ok()).then_some(word)
    }

    /// Whether the function returns nothing.
    pub(crate) fn returns_unit(&self) -> bool {
        match &self.signature.output {
            ReturnType::Default => true,
            ReturnType::Type(_, ty) => {
                matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty())
            }
        }
    }
}

fn param_of(input: &FnArg, name: &str) -> Option<Param> {
    let FnArg::Typed(PatType { attrs, pat, ty, .. }) = input else {
        return None;
    };
    let (ty, access) = match bare(ty) {
        Type::Reference(reference) if is_type(&reference.elem, name) => {
            let access = if reference.mutability.is_some() { Access::Exclusive } else { Access::Shared };
            (Type::Reference(TypeReference { lifetime: None, ..reference.clone() }), access)
        }
        bare if is_type(bare, name) => (bare.clone(), Access::Owned),
        _ => return None,
    };
    Some(Param { attrs: attrs.clone(), pattern: (**pat).clone(), ty, access })
}

fn is_test(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident == "test")
}

/// Whether the attribute is none that brings parameters, as those of rstest, test-context and smol do.
fn gives_no_params(attr: &Attribute) -> bool {
    keeps_name(&attr.meta) && !attr.path().is_ident("test_context") && !applies_test(&attr.meta)
}

fn is_called_slot(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Ident(name) if name.ident == "slot" || name.ident.to_string().ends_with("_slot"))
}

/// A type with a `Slot` inside, or with a name like it.
fn mentions_slot(ty: TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => osa_distance(&ident.to_string(), "Slot") <= 1,
        TokenTree::Group(group) => mentions_slot(group.stream()),
        _ => false,
    })
}

fn is_type(ty: &Type, name: &str) -> bool {
    matches!(bare(ty), Type::Path(path) if path.qself.is_none() && is_named(&path.path, name))
}

/// The type itself: one that comes out of a `macro_rules!` variable stands in an invisible group.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        ty => ty,
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|last| last.ident == name && last.arguments.is_empty())
}

/// The attributes that a `cfg_attr` adds, with its condition.
fn cfg_attr(meta: &Meta) -> Option<(Meta, Vec<Meta>)> {
    let Meta::List(list) = meta else { return None };
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let mut metas = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?.into_iter();
    Some((metas.next()?, metas.collect()))
}

/// The first path of an attribute, also of one that a `cfg_attr` adds, that fits.
fn find_path(meta: &Meta, fits: &dyn Fn(&Path) -> bool) -> Option<Path> {
    match cfg_attr(meta) {
        Some((_, added)) => added.iter().find_map(|meta| find_path(meta, fits)),
        None => fits(meta.path()).then(|| meta.path().clone()),
    }
}

fn presence_in(meta: &Meta, name: &str) -> Presence {
    match cfg_attr(meta) {
        Some((condition, added)) => {
            added.iter().map(|meta| presence_in(meta, name)).fold(Presence::Never, Presence::or).and(&condition)
        }
        None if meta.path().is_ident(name) => Presence::Always,
        None => Presence::Never,
    }
}

fn keeps_name(meta: &Meta) -> bool {
    if let Some((_, added)) = cfg_attr(meta) {
        return added.iter().all(keeps_name);
    }
    let segments = &meta.path().segments;
    let is_tool = segments.first().is_some_and(|first| first.ident == "rustfmt" || first.ident == "clippy");
    is_tool || applies_test(meta) || segments.last().is_some_and(|last| NAME_KEEPING.iter().any(|name| last.ident == name))
}

/// `#[apply(test!)]`, as tests of smol are written.
fn applies_test(meta: &Meta) -> bool {
    let Meta::List(list) = meta else { return false };
    let is_test =
        |input: ParseStream<'_>| Ok(is_named(&input.call(Path::parse_mod_style)?, "test") && input.parse::<Token![!]>().is_ok());
    is_named(&list.path, "apply") && list.parse_args_with(is_test).unwrap_or(false)
}

impl Presence {
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Always, _) | (_, Self::Always) => Self::Always,
            (Self::Never, other) => other,
            (this, Self::Never) => this,
            (Self::When(this), Self::When(other)) => Self::When(quote!(#this || #other)),
        }
    }

    fn and(self, condition: &Meta) -> Self {
        match self {
            Self::Never => Self::Never,
            Self::Always => Self::When(quote!(::core::cfg!(#condition))),
            Self::When(inner) => Self::When(quote!((::core::cfg!(#condition) && (#inner)))),
        }
    }

    /// Whether the attribute can be there at all.
    pub(crate) fn is_possible(&self) -> bool {
        !matches!(self, Self::Never)
    }
}

impl ToTokens for Presence {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Self::Never => quote!(false),
            Self::Always => quote!(true),
            Self::When(condition) => condition.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_keeps_name(attr: Attribute, expected: bool) {
        assert_eq!(keeps_name(&attr.meta), expected, "{}", attr.to_token_stream());
    }

    #[test]
    fn who_may_make_several_tests() {
        check_keeps_name(syn::parse_quote!(#[tokio::test(flavor = "multi_thread")]), true);
        check_keeps_name(syn::parse_quote!(#[cfg_attr(unix, test, ignore = "why")]), true);
        check_keeps_name(syn::parse_quote!(#[cfg_attr(unix, rstest)]), false);
        check_keeps_name(syn::parse_quote!(#[clippy::cognitive_complexity = "9"]), true);
        check_keeps_name(syn::parse_quote!(#[rstest]), false);
        check_keeps_name(syn::parse_quote!(#[apply(test!)]), true);
        check_keeps_name(syn::parse_quote!(#[macro_rules_attribute::apply(smol_macros::test!)]), true);
        check_keeps_name(syn::parse_quote!(#[apply(many_tests!)]), false);
        check_keeps_name(syn::parse_quote!(#[apply(template)]), false);
    }
}
