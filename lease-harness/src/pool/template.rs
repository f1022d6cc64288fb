//! Templates: `{path}` placeholders that a slot's attributes fill.

use std::borrow::Cow;

use crate::json::{Json, Object, number_text};

/// What placeholders can name: a slot's own attributes, its id and its kind, and nothing that is only inherited in
/// other programs.
pub(super) struct Scope<'a> {
    id: &'a Json,
    kind: Json,
    attrs: &'a Object,
}

impl<'a> Scope<'a> {
    pub(super) fn new(id: &'a Json, kind: &str, attrs: &'a Object) -> Self {
        Self { id, kind: Json::from(kind), attrs }
    }

    /// Fills a template. One that is exactly a placeholder becomes the value itself, any other becomes text; what is no
    /// text is no template and stays as it is.
    ///
    /// # Errors
    /// The path of the first placeholder that names nothing.
    pub(super) fn render(&self, template: &Json) -> Result<Json, String> {
        let Some(template) = template.as_str() else {
            return Ok(template.clone());
        };
        let pieces = pieces(template);
        if let [Piece::Path(path)] = pieces[..] {
            return self.resolve(path).map(Cow::into_owned);
        }
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Path(path) => text.push_str(&value_text(&*self.resolve(path)?)),
            }
        }
        Ok(Json::String(text))
    }

    fn resolve(&self, path: &str) -> Result<Cow<'_, Json>, String> {
        self.lookup(path).ok_or_else(|| path.to_owned())
    }

    fn lookup(&self, path: &str) -> Option<Cow<'_, Json>> {
        let mut parts = path.split('.');
        let mut value = match parts.next()? {
            "id" => self.id,
            "kind" => &self.kind,
            name => self.attrs.get(name)?,
        };
        while let Some(part) = parts.next() {
            value = match value {
                Json::Object(members) => members.get(part)?,
                Json::Array(items) if part == "length" && parts.clone().next().is_none() => {
                    return Some(Cow::Owned(Json::from(items.len())));
                }
                Json::Array(items) => items.get(index(part)?)?,
                _ => return None,
            };
        }
        Some(Cow::Borrowed(value))
    }
}

/// The text of a value inside a longer text, and in an environment.
pub(super) fn value_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => number_text(*number),
        other => other.to_text(),
    }
}

/// The item that a part of a path names: decimal digits without leading zeros.
fn index(part: &str) -> Option<usize> {
    let index: usize = part.parse().ok()?;
    (index.to_string() == part).then_some(index)
}

#[derive(Clone, Copy)]
enum Piece<'a> {
    Text(&'a str),
    Path(&'a str),
}

fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut text_start = 0;
    let mut at = 0;
    while let Some(brace) = template[at..].find('{').map(|offset| at + offset) {
        at = brace + 1;
        if let Some(path) = placeholder(&template[at..]) {
            if text_start < brace {
                pieces.push(Piece::Text(&template[text_start..brace]));
            }
            pieces.push(Piece::Path(path));
            at += path.len() + 1;
            text_start = at;
        }
    }
    if text_start < template.len() {
        pieces.push(Piece::Text(&template[text_start..]));
    }
    pieces
}

/// The path at the beginning of what follows an opening brace, if the brace opens a placeholder.
fn placeholder(rest: &str) -> Option<&str> {
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let len = rest.bytes().position(|byte| !is_path(byte))?;
    (0 < len && rest.as_bytes()[len] == b'}').then(|| &rest[..len])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, rendered: Result<&str, &str>) {
        let attrs = Json::parse(r#"{"a":{"b":[7,{"c":null}]},"s":"{id}","list":[[1]],"n":1e21}"#).unwrap();
        let id = Json::from("x");
        let scope = Scope::new(&id, "slot-x", attrs.as_object().unwrap());
        let result = scope.render(&Json::from(template)).map(|value| value.to_text());
        assert_eq!(result, rendered.map(str::to_owned).map_err(str::to_owned), "{template}");
    }

    #[test]
    fn a_lone_placeholder_gives_the_value() {
        check("{a.b}", Ok(r#"[7,{"c":null}]"#));
        check("{a.b.1.c}", Ok("null"));
        check("{list.0.0}", Ok("1"));
        check("{list.length}", Ok("1"));
        check("{n}", Ok("1e+21"));
        check("{id}", Ok(r#""x""#));
        check("{kind}", Ok(r#""slot-x""#));
    }

    #[test]
    fn other_templates_give_text() {
        check("{s}{s}", Ok(r#""{id}{id}""#));
        check("{{a.b.0}}", Ok(r#""{7}""#));
        check("{ {a.b.0} {", Ok(r#""{ 7 {""#));
        check("", Ok(r#""""#));
        check("{}{é}{a b}{a", Ok(r#""{}{é}{a b}{a""#));
        check("n={n}", Ok(r#""n=1e+21""#));
    }

    #[test]
    fn only_own_attributes_are_seen() {
        for path in
            ["constructor", "__proto__", "a.toString", "list.map", "list.00", "list.1", "list.length.x", "s.0", "s.length"]
        {
            check(&format!("<{{{path}}}>"), Err(path));
        }
    }
}
