//! A Rust file as the rules see it.

use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// Something in a file, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// What.
    pub what: T,
    /// In which line, from 1.
    pub line: usize,
}

/// A Rust file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where it lies, relative to the workspace.
    pub file: String,
    /// How many lines it has.
    pub n_lines: usize,
    /// Every path of two or more names, and every path that a `use` brings in, whole: `["crate", "store", "Lease"]`.
    pub paths: Vec<Found<Vec<String>>>,
    /// Every name that stands before a `!`, and every name at all.
    pub names: Vec<Found<String>>,
    /// Names of macros that are called.
    pub macros: Vec<Found<String>>,
    /// The content of every text literal outside doc comments and outside `#[cfg(test)]`.
    pub texts: Vec<Found<String>>,
    /// Module path of the file inside its crate: `["store", "guard"]`.
    pub module: Vec<String>,
}

impl Source {
    /// Reads a file below the workspace.
    ///
    /// # Panics
    ///
    /// If it cannot be read or is not Rust.
    pub fn load(workspace: &Path, path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = path.strip_prefix(workspace).expect("the file lies in the workspace").to_string_lossy().into_owned();
        Self::parse(&file, &text)
    }

    /// Reads a file from its text. `file` is `<package>/src/...` and gives the module path.
    ///
    /// # Panics
    ///
    /// If the text is not Rust.
    pub fn parse(file: &str, text: &str) -> Self {
        let stream: TokenStream = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut source = Self {
            file: file.to_owned(),
            n_lines: text.lines().count(),
            paths: Vec::new(),
            names: Vec::new(),
            macros: Vec::new(),
            texts: Vec::new(),
            module: module_of(file),
        };
        let module = source.module.clone();
        let is_test_module = module.iter().any(|name| name == "tests");
        source.read(stream, &module, is_test_module);
        source
    }

    fn read(&mut self, stream: TokenStream, module: &[String], in_tests: bool) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut place = 0;
        let mut tests_next = false;
        while place < tokens.len() {
            if let Some(group) = attribute(&tokens, place) {
                tests_next |= is_cfg_test(&group);
                self.read_attribute(group, module, in_tests || tests_next);
                place += 2;
            } else if let Some((name, body)) = inline_module(&tokens, place) {
                let inner: Vec<String> = module.iter().cloned().chain([name]).collect();
                self.read(body, &inner, in_tests || tests_next);
                tests_next = false;
                place += 3;
            } else {
                let step = self.read_token(&tokens, place, module, in_tests || tests_next);
                tests_next &= !ends_item(&tokens[place]);
                place += step;
            }
        }
    }

    /// Doc comments are attributes with a text; they are prose, not code.
    fn read_attribute(&mut self, attribute: TokenStream, module: &[String], in_tests: bool) {
        let is_doc = matches!(attribute.clone().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc");
        if !is_doc {
            self.read(attribute, module, in_tests);
        }
    }

    /// Takes in one token, or the whole path that begins with it; gives the number of tokens taken.
    fn read_token(&mut self, tokens: &[TokenTree], place: usize, module: &[String], in_tests: bool) -> usize {
        match &tokens[place] {
            TokenTree::Group(group) => self.read(group.stream(), module, in_tests),
            TokenTree::Literal(literal) if !in_tests => self.read_text(&literal.to_string(), literal.span().start().line),
            TokenTree::Ident(name) => {
                let used =
                    matches!(place.checked_sub(1).map(|before| &tokens[before]), Some(TokenTree::Ident(word)) if *word == "use");
                let mut paths = Vec::new();
                let taken = follow(tokens, place, &[], &mut paths);
                for path in paths.into_iter().filter(|path| path.len() > 1 || used) {
                    self.names.extend(path.iter().map(|what| Found { what: what.clone(), line: name.span().start().line }));
                    self.paths.push(Found { what: resolve(path, module), line: name.span().start().line });
                }
                if taken == 1 {
                    self.read_name(tokens, place);
                }
                return taken;
            }
            TokenTree::Literal(_) | TokenTree::Punct(_) => {}
        }
        1
    }

    fn read_name(&mut self, tokens: &[TokenTree], place: usize) {
        let TokenTree::Ident(name) = &tokens[place] else { return };
        let found = Found { what: name.to_string(), line: name.span().start().line };
        if is_punct(tokens.get(place + 1), '!') && !is_punct(tokens.get(place + 2), '=') {
            self.macros.push(found.clone());
        }
        self.names.push(found);
    }

    fn read_text(&mut self, literal: &str, line: usize) {
        let quoted = literal.trim_start_matches(['r', 'b', 'c']).trim_start_matches('#');
        if let Some(rest) = quoted.strip_prefix('"') {
            let what = rest.trim_end_matches('#').trim_end_matches('"').to_owned();
            self.texts.push(Found { what, line });
        }
    }
}

/// `lease-harness/src/store/guard.rs` is the module `store::guard`.
fn module_of(file: &str) -> Vec<String> {
    let inside = file.split_once("src/").map_or(file, |(_, inside)| inside);
    let mut module: Vec<String> = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// `#` or `#!` with its brackets: gives what is in the brackets.
fn attribute(tokens: &[TokenTree], place: usize) -> Option<TokenStream> {
    if !is_punct(tokens.get(place), '#') {
        return None;
    }
    match tokens.get(place + 1)? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => Some(group.stream()),
        _ => None,
    }
}

fn is_cfg_test(attribute: &TokenStream) -> bool {
    attribute.to_string().replace(' ', "").starts_with("cfg(test)")
}

/// `mod name { … }`.
fn inline_module(tokens: &[TokenTree], place: usize) -> Option<(String, TokenStream)> {
    match (tokens.get(place)?, tokens.get(place + 1)?, tokens.get(place + 2)?) {
        (TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body))
            if *word == "mod" && body.delimiter() == Delimiter::Brace =>
        {
            Some((name.to_string(), body.stream()))
        }
        _ => None,
    }
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_double_colon(tokens: &[TokenTree], place: usize) -> bool {
    matches!(tokens.get(place), Some(TokenTree::Punct(punct)) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint)
        && is_punct(tokens.get(place + 1), ':')
}

/// Follows the path that begins at `place` and adds every full path of it behind `prefix`; gives the number of tokens.
fn follow(tokens: &[TokenTree], place: usize, prefix: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let mut path = prefix.to_vec();
    let mut at = place;
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        path.push(name.to_string());
        at += 1;
        if !is_double_colon(tokens, at) {
            break;
        }
        at += 2;
        if let Some(TokenTree::Group(group)) =
            tokens.get(at).filter(|token| matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace))
        {
            follow_group(group.stream(), &path, paths);
            return at + 1 - place;
        }
    }
    paths.push(path);
    (at - place).max(1)
}

fn follow_group(stream: TokenStream, prefix: &[String], paths: &mut Vec<Vec<String>>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        let begins = at == 0 || is_punct(tokens.get(at - 1), ',');
        at += match &tokens[at] {
            TokenTree::Ident(_) if begins => follow(&tokens, at, prefix, paths),
            TokenTree::Punct(glob) if begins && glob.as_char() == '*' => {
                paths.push(prefix.to_vec());
                1
            }
            _ => 1,
        };
    }
}

/// `self` and `super` seen from `module`, as a path from `crate`.
fn resolve(path: Vec<String>, module: &[String]) -> Vec<String> {
    let up = path.iter().take_while(|name| *name == "super").count();
    let own = path.first().is_some_and(|name| name == "self");
    if up == 0 && !own {
        return path;
    }
    let base = module[..module.len().saturating_sub(up)].iter().cloned();
    let rest = path.into_iter().skip(up.max(usize::from(own)));
    ["crate".to_owned()].into_iter().chain(base).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(file: &str, text: &str) -> Vec<String> {
        Source::parse(file, text).paths.into_iter().map(|found| found.what.join("::")).collect()
    }

    #[test]
    fn grouped_imports_are_taken_apart() {
        let found = paths("p/src/a.rs", "use crate::{store::{self, Lease as L}, sys::*};");
        assert_eq!(found, ["crate::store::self", "crate::store::Lease", "crate::sys"]);
    }

    #[test]
    fn super_is_resolved_from_the_module_that_says_it() {
        assert_eq!(paths("p/src/store/guard.rs", "use super::super::pool::Pool;"), ["crate::pool::Pool"]);
        assert_eq!(paths("p/src/store/mod.rs", "mod inner { use super::guard::G; }"), ["crate::store::guard::G"]);
    }

    #[test]
    fn paths_in_bodies_signatures_and_macro_calls_count() {
        let found = paths("p/src/a.rs", "fn f(x: crate::pool::Slot) { vec![crate::sys::now()]; }");
        assert_eq!(found, ["crate::pool::Slot", "crate::sys::now"]);
    }

    #[test]
    fn prose_and_tests_have_no_texts() {
        let source = Source::parse(
            "p/src/a.rs",
            "/// \"queue.json\"\nconst A: &str = \"a\";\n#[cfg(test)]\nmod tests { const B: &str = \"b\"; }\nconst C: &str = r#\"c\"#;",
        );
        let texts: Vec<_> = source.texts.iter().map(|found| (found.what.as_str(), found.line)).collect();
        assert_eq!(texts, [("a", 2), ("c", 5)]);
    }

    #[test]
    fn called_macros_are_told_from_comparisons() {
        let source = Source::parse("p/src/a.rs", "fn f() { if a != b { todo!() } }");
        let macros: Vec<_> = source.macros.iter().map(|found| found.what.as_str()).collect();
        assert_eq!(macros, ["todo"]);
    }
}
