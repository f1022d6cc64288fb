//! What stands before the body of a function.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};

use super::input::opened;
use super::{Input, Lit, Result, as_written};

/// A function without its attributes, its visibility and its body.
#[derive(Clone)]
pub(crate) struct Signature {
    pub(crate) constness: Option<Ident>,
    pub(crate) asyncness: Option<Ident>,
    /// `extern`, and what stands behind it, unless that is Rust's.
    pub(crate) foreign_abi: Option<TokenStream>,
    pub(crate) name: Ident,
    pub(crate) params: Vec<FnArg>,
    /// The type of what it returns, if it is written down.
    pub(crate) output: Option<TokenStream>,
    before_params: TokenStream,
    parentheses: Span,
    behind_params: TokenStream,
}

/// One parameter.
#[derive(Clone)]
pub(crate) struct FnArg {
    pub(crate) attrs: TokenStream,
    /// Whether it is a `self`.
    pub(crate) is_receiver: bool,
    pub(crate) pattern: TokenStream,
    pub(crate) ty: TokenStream,
    tokens: TokenStream,
}

as_written!(FnArg);

impl ToTokens for Signature {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { before_params, params, behind_params, .. } = self;
        let mut parentheses = Group::new(Delimiter::Parenthesis, quote!(#(#params),*));
        parentheses.set_span(self.parentheses);
        tokens.extend(quote!(#before_params #parentheses #behind_params));
    }
}

impl Input {
    /// `pub` and where, or nothing.
    pub(crate) fn visibility(&mut self) -> TokenStream {
        let word = self.take_word("pub");
        let place = word.as_ref().and_then(|_| self.take_group(Delimiter::Parenthesis));
        quote!(#word #place)
    }

    /// All but the body, which is the last token, as is the semicolon that stands for it.
    pub(crate) fn signature(&mut self) -> Result<Signature> {
        let ((constness, asyncness, foreign_abi, name), before_params) = self.record(|input| {
            let (constness, asyncness) = (input.take_word("const"), input.take_word("async"));
            input.take_word("unsafe");
            let (is_foreign, abi) = input.record(|input| match (input.take_word("extern"), input.peek(0)) {
                (None, _) => Ok(false),
                (_, Some(TokenTree::Literal(name))) => {
                    input.take();
                    Ok(!matches!(Lit::new(name), Lit::Text(name) if name.value == "Rust"))
                }
                _ => Ok(true),
            })?;
            let foreign_abi = is_foreign.then_some(abi);
            input.take_word("fn").ok_or_else(|| input.error("expected `fn`"))?;
            let name = input.ident()?;
            if input.peek_op("<") {
                input.angles()?;
            }
            Ok((constness, asyncness, foreign_abi, name))
        })?;
        let parentheses = self.take_group(Delimiter::Parenthesis).ok_or_else(|| self.error("expected parentheses"))?;
        let params = Self::inside(&parentheses).list(Self::fn_arg)?;
        let behind_params = self.until(Self::is_at_last);
        let mut behind = Self::new(behind_params.clone());
        let output = behind.take_op("->").then(|| behind.until(|input| input.peek_word("where")));
        let parentheses = parentheses.span();
        Ok(Signature { constness, asyncness, foreign_abi, name, params, output, before_params, parentheses, behind_params })
    }

    fn fn_arg(&mut self) -> Result<FnArg> {
        let ((attrs, is_receiver, pattern, ty), tokens) = self.record(|input| {
            let (_, attrs) = input.record(|input| input.attributes("#"))?;
            let is_receiver = is_receiver(input.clone());
            let pattern = input.until(|input| input.peek_op(",") || input.peek_op(":") && !input.peek_op("::"));
            input.take_op(":");
            Ok((attrs, is_receiver, opened(pattern), input.until(|input| input.peek_op(","))))
        })?;
        Ok(FnArg { attrs, is_receiver, pattern, ty, tokens })
    }
}

fn is_receiver(mut input: Input) -> bool {
    input.take_op("&");
    input.take_lifetime();
    input.take_word("mut");
    input.take_word("self").is_some() && !input.peek_op("::")
}
