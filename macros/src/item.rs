//! The function below the attribute, and what its other attributes say about it.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use strsim::osa_distance;

use crate::parse::{Attribute, Error, FnArg, Generics, Input, Path, Result, Signature, only};

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
    pub(crate) visibility: TokenStream,
    pub(crate) signature: Signature,
    /// Attributes at the top of the body.
    pub(crate) inner_attrs: Vec<Attribute>,
    /// The body, with its braces.
    pub(crate) body: Group,
}

/// The parameter that is given a slot, or the claims.
pub(crate) struct Param {
    pub(crate) attrs: TokenStream,
    pub(crate) pattern: TokenStream,
    /// Its type without a lifetime: what it is given is a local of the test.
    pub(crate) ty: TokenStream,
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

impl TestFn {
    pub(crate) fn parse(item: TokenStream) -> Result<Self> {
        let mut input = Input::new(item);
        let attrs = input.attributes("#")?;
        if is_macro_call(input.clone()) {
            return Err(input.error("#[leased_slot] goes on a test function: inside of this macro, above the function"));
        }
        let visibility = input.visibility();
        if !looks_like_fn(input.clone()) {
            return Err(Error::new(input.place(), "#[leased_slot] goes on a test function"));
        }
        let signature = input.signature()?;
        check_qualifiers(&signature)?;
        let Some(body) = input.take_group(Delimiter::Brace) else {
            return Err(Error::new_spanned(signature, "#[leased_slot] goes on a function that has a body"));
        };
        let (inner_attrs, body) = split_inner_attrs(body)?;
        Ok(Self { attrs, visibility, signature, inner_attrs, body })
    }

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
        if let Some(receiver) = self.signature.params.first().filter(|param| param.is_receiver) {
            return Err(Error::new_spanned(receiver, "#[leased_slot] goes on a free function, not on a method"));
        }
        let mut ours = Vec::new();
        for param in std::mem::take(&mut self.signature.params) {
            match param_of(&param, name) {
                Some(param) => ours.push(param),
                None => self.signature.params.push(param),
            }
        }
        Ok(ours)
    }

    /// A parameter that was meant for a slot, of a test that nobody else gives parameters to.
    fn mistaken_slot_param(&self) -> Option<Error> {
        let is_plain = self.attrs.iter().any(|attr| attr.path.ends_with("test")) && self.attrs.iter().all(gives_no_params);
        let is_meant = |param: &&FnArg| mentions_slot(param.ty.clone()) || is_called_slot(&param.pattern);
        let param = self.signature.params.iter().filter(|_| is_plain).find(is_meant)?;
        let message = "a slot comes as `Slot`, `&Slot` or `&mut Slot`, and its type is written with this name";
        Some(Error::new_spanned(&param.ty, message))
    }

    /// Whether an attribute of this name stands here, be it under a condition.
    pub(crate) fn has_attribute(&self, name: &str) -> bool {
        self.attrs.iter().any(|attr| find_path(attr, name).is_some())
    }

    /// Takes away all attributes of this name; says where the first of them stands.
    pub(crate) fn take_attribute(&mut self, name: &str) -> Option<Path> {
        let first = self.attrs.iter().find_map(|attr| find_path(attr, name));
        self.attrs.retain(|attr| find_path(attr, name).is_none());
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
        self.attrs.iter().map(|attr| presence_in(attr, name)).fold(Presence::Never, Presence::or)
    }

    /// Whether one test will come of this function, under its own name; with parameters left, something else must make
    /// tests of it.
    pub(crate) fn keeps_its_name(&self) -> bool {
        self.signature.params.is_empty() && self.attrs.iter().all(keeps_name)
    }

    /// Whether its test attribute may be the standard library's, which runs nothing that is async.
    pub(crate) fn may_lack_a_runtime(&self) -> bool {
        self.signature.asyncness.is_some() && self.attrs.iter().any(|attr| attr.path.is_ident("test"))
    }

    /// The word of the source of which a macro made the function's name, if one did: rstest calls the cases of `works`
    /// `case_1` and so on, and points at `works`.
    pub(crate) fn made_of(&self) -> Option<String> {
        let name = &self.signature.name;
        let word = name.span().source_text()?;
        (*name != word && is_name(&word)).then_some(word)
    }

    /// Whether the function returns nothing.
    pub(crate) fn returns_unit(&self) -> bool {
        let is_empty = |ty: &Group| ty.delimiter() == Delimiter::Parenthesis && ty.stream().is_empty();
        let is_unit = |ty: &TokenStream| matches!(only(ty), Some(TokenTree::Group(ty)) if is_empty(&ty));
        self.signature.output.as_ref().is_none_or(is_unit)
    }
}

impl ToTokens for TestFn {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, visibility, signature, inner_attrs, body } = self;
        let body = body.stream();
        tokens.extend(quote!(#(#attrs)* #visibility #signature { #(#inner_attrs)* #body }));
    }
}

fn looks_like_fn(mut input: Input) -> bool {
    const BEFORE: [&str; 4] = ["const", "async", "unsafe", "extern"];
    while BEFORE.iter().any(|word| input.peek_word(word)) || matches!(input.peek(0), Some(TokenTree::Literal(_))) {
        input.take();
    }
    input.peek_word("fn")
}

/// `proptest! { … }`, which has the functions inside.
fn is_macro_call(mut input: Input) -> bool {
    input.path(Generics::Nowhere).is_ok() && input.peek_op("!")
}

/// A slot is taken when a function runs, and without one the function panics.
fn check_qualifiers(signature: &Signature) -> Result<()> {
    if let Some(constness) = &signature.constness {
        let message =
            "#[leased_slot] goes on a function that runs with the tests; a `const fn` could run while they are compiled";
        return Err(Error::new_spanned(constness, message));
    }
    match &signature.foreign_abi {
        Some(abi) => {
            let message = "#[leased_slot] panics without a slot, and a panic must not leave an `extern` function";
            Err(Error::new_spanned(abi, message))
        }
        None => Ok(()),
    }
}

fn split_inner_attrs(body: Group) -> Result<(Vec<Attribute>, Group)> {
    let mut input = Input::inside(&body);
    let inner_attrs = input.attributes("#!")?;
    if inner_attrs.is_empty() {
        return Ok((inner_attrs, body));
    }
    let mut without = Group::new(Delimiter::Brace, input.rest());
    without.set_span(body.span());
    Ok((inner_attrs, without))
}

/// What is given to a parameter, if its type has this name.
fn param_of(param: &FnArg, name: &str) -> Option<Param> {
    let FnArg { attrs, pattern, ty, .. } = param.clone();
    let mut bare_ty = bare(ty);
    let Some(reference) = bare_ty.peek(0).filter(|_| bare_ty.take_op("&")) else {
        let ty = path_of(bare_ty, name)?.into_token_stream();
        return Some(Param { attrs, pattern, ty, access: Access::Owned });
    };
    let reference = quote_spanned!(reference.span()=> &);
    bare_ty.take_lifetime();
    let mutable = bare_ty.take_word("mut");
    let access = if mutable.is_some() { Access::Exclusive } else { Access::Shared };
    let target = bare_ty.rest();
    path_of(bare(target.clone()), name)?;
    Some(Param { attrs, pattern, ty: quote!(#reference #mutable #target), access })
}

/// The path that a type is, if it has this name.
fn path_of(mut ty: Input, name: &str) -> Option<Path> {
    ty.path(Generics::BehindNames).ok().filter(|path| path.ends_with(name) && ty.is_empty())
}

/// The type itself, which may stand in parentheses.
fn bare(ty: TokenStream) -> Input {
    let mut input = Input::new(ty.clone());
    match input.take_group(Delimiter::Parenthesis) {
        Some(inside) if input.is_empty() => bare(inside.stream()),
        _ => Input::new(ty),
    }
}

/// Whether this is one name in source.
fn is_name(word: &str) -> bool {
    let Ok(tokens) = word.parse::<TokenStream>() else { return false };
    let mut input = Input::new(tokens);
    input.ident().is_ok() && input.is_empty()
}

/// Whether the attribute is none that brings parameters, as those of rstest, test-context and smol do.
fn gives_no_params(attr: &Attribute) -> bool {
    keeps_name(attr) && !attr.path.is_ident("test_context") && !applies_test(attr)
}

/// Whether a pattern is a name for a slot.
fn is_called_slot(pattern: &TokenStream) -> bool {
    let mut pattern = Input::new(pattern.clone());
    pattern.take_word("ref");
    pattern.take_word("mut");
    let is_slot = |name: Ident| name == "slot" || name.to_string().ends_with("_slot");
    pattern.ident().is_ok_and(is_slot) && (pattern.is_empty() || pattern.peek_op("@"))
}

/// A type with a `Slot` inside, or with a name like it.
fn mentions_slot(ty: TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => osa_distance(&ident.to_string(), "Slot") <= 1,
        TokenTree::Group(group) => mentions_slot(group.stream()),
        _ => false,
    })
}

/// The attributes that a `cfg_attr` adds, with its condition.
fn cfg_attr(attr: &Attribute) -> Option<(Attribute, Vec<Attribute>)> {
    let list = attr.list.clone().filter(|_| attr.path.is_ident("cfg_attr"))?;
    let mut inside = Input::new(list).list(Input::meta).ok()?.into_iter();
    Some((inside.next()?, inside.collect()))
}

/// The path of an attribute of this name, also of one that a `cfg_attr` adds.
fn find_path(attr: &Attribute, name: &str) -> Option<Path> {
    match cfg_attr(attr) {
        Some((_, added)) => added.iter().find_map(|attr| find_path(attr, name)),
        None => attr.path.ends_with(name).then(|| attr.path.clone()),
    }
}

fn presence_in(attr: &Attribute, name: &str) -> Presence {
    match cfg_attr(attr) {
        Some((condition, added)) => {
            added.iter().map(|attr| presence_in(attr, name)).fold(Presence::Never, Presence::or).and(&condition)
        }
        None if attr.path.is_ident(name) => Presence::Always,
        None => Presence::Never,
    }
}

fn keeps_name(attr: &Attribute) -> bool {
    if let Some((_, added)) = cfg_attr(attr) {
        return added.iter().all(keeps_name);
    }
    let is_tool = attr.path.starts_with("rustfmt") || attr.path.starts_with("clippy");
    is_tool || applies_test(attr) || NAME_KEEPING.iter().any(|name| attr.path.ends_with(name))
}

/// `#[apply(test!)]`, as tests of smol are written.
fn applies_test(attr: &Attribute) -> bool {
    let Some(list) = attr.list.clone().filter(|_| attr.path.ends_with("apply")) else { return false };
    let mut input = Input::new(list);
    input.path(Generics::Nowhere).is_ok_and(|path| path.ends_with("test")) && input.take_op("!") && input.is_empty()
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

    fn and(self, condition: &Attribute) -> Self {
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
    fn check_keeps_name(attr: TokenStream, expected: bool) {
        let attrs = Input::new(attr.clone()).attributes("#").unwrap();
        assert_eq!(keeps_name(&attrs[0]), expected, "{attr}");
    }

    #[test]
    fn who_may_make_several_tests() {
        check_keeps_name(quote!(#[tokio::test(flavor = "multi_thread")]), true);
        check_keeps_name(quote!(#[cfg_attr(unix, test, ignore = "why")]), true);
        check_keeps_name(quote!(#[cfg_attr(unix, rstest)]), false);
        check_keeps_name(quote!(#[clippy::cognitive_complexity = "9"]), true);
        check_keeps_name(quote!(#[rstest]), false);
        check_keeps_name(quote!(#[apply(test!)]), true);
        check_keeps_name(quote!(#[macro_rules_attribute::apply(smol_macros::test!)]), true);
        check_keeps_name(quote!(#[apply(many_tests!)]), false);
        check_keeps_name(quote!(#[apply(template)]), false);
    }
}
