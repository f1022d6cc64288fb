//! Paths in keys.

use std::borrow::Cow;

/// What a `path:` key names: a path relative to a checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPath<'a> {
    checkout: Option<&'a str>,
    path: &'a str,
}

impl<'a> ClaimPath<'a> {
    /// Reads what follows `path:`. The text before the first `:` is a checkout, unless it has a `/` or a `.`.
    pub(super) fn of_key(text: &'a str) -> Self {
        match split_checkout(text) {
            Some((checkout, path)) => Self { checkout: Some(checkout), path },
            None => Self { checkout: None, path: text },
        }
    }

    /// The checkout, if the key names one.
    #[must_use]
    pub fn checkout(&self) -> Option<&'a str> {
        self.checkout
    }

    /// Two paths of different checkouts are two places; a path without a checkout is in every one.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        match (self.checkout, other.checkout) {
            // An empty name is none.
            (Some(left), Some(right)) if left != right && !left.is_empty() && !right.is_empty() => false,
            _ => paths_overlap(self.path, other.path),
        }
    }

    /// Whether everything of the other is in this one.
    pub(super) fn holds(&self, other: &Self) -> bool {
        let checkout = self.checkout.filter(|name| !name.is_empty());
        let (Some(outer), Some(inner)) = (normal(self.path), normal(other.path)) else { return false };
        checkout.is_none_or(|name| other.checkout == Some(name))
            && holds(&reach(without_checkout(&outer)), &reach(without_checkout(&inner)))
    }
}

fn split_checkout(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').filter(|(checkout, _)| !checkout.contains(['/', '.']))
}

/// A path that can be compared with others: `\` is `/`, and a leading `./`, empty and `.` segments are gone.
///
/// `None` for what cannot be compared: an empty or absolute path, `~/`, a NUL, a segment `..` or `*`, or one with `->`.
#[must_use]
pub fn normal_path(path: &str) -> Option<String> {
    normal(path).map(Cow::into_owned)
}

/// The same. Most paths are normal as they are, and each is compared with all others.
fn normal(path: &str) -> Option<Cow<'_, str>> {
    let is_plain = |segment| !matches!(segment, "" | "." | ".." | "*");
    if path.split('/').all(is_plain) && !path.contains(['\\', '\0']) && !path.starts_with("~/") && !path.contains("->") {
        return Some(path.into());
    }
    made_normal(path).map(Cow::Owned)
}

fn made_normal(path: &str) -> Option<String> {
    let path = path.replace('\\', "/");
    let path = path.strip_prefix("./").unwrap_or(&path);
    if path.starts_with('/') || path.starts_with("~/") || path.contains('\0') {
        return None;
    }
    let segments: Vec<_> = path.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
    let is_plain = |segment: &&str| !matches!(*segment, ".." | "*") && !segment.contains("->");
    (!segments.is_empty() && segments.iter().all(is_plain)).then(|| segments.join("/"))
}

/// Whether two paths are the same, or one holds the other as a folder. What cannot be compared overlaps everything.
///
/// A path with `*` or `?` in it reaches all of the folder before that: `src/*.rs` and `src/a.txt` overlap, which is more
/// than the sign says, never less.
#[must_use]
pub fn paths_overlap(left: &str, right: &str) -> bool {
    let (Some(left), Some(right)) = (normal(left), normal(right)) else { return true };
    let (left, right) = (reach(without_checkout(&left)), reach(without_checkout(&right)));
    holds(&left, &right) || holds(&right, &left)
}

/// `./a:b` hides a checkout until its `./` is gone; it then counts as a path of every checkout.
fn without_checkout(path: &str) -> &str {
    split_checkout(path).map_or(path, |(_, path)| path)
}

/// The folder before the first segment with a wildcard, else the path; the root is the empty path.
fn reach(path: &str) -> Cow<'_, str> {
    let Some(wildcard) = path.find(['*', '?']) else { return path.into() };
    match path[..wildcard].rsplit_once('/') {
        Some((folder, _)) => folder.into(),
        None => "".into(),
    }
}

fn holds(folder: &str, path: &str) -> bool {
    let rest = if folder.is_empty() { Some("") } else { path.strip_prefix(folder) };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_normal_stays_as_it_is() {
        for path in ["a", "a/b", "a b/c.rs", "a/*.rs", "ä/~/b", "a:b", "~", "a-/>b"] {
            assert_eq!(normal(path).as_deref(), made_normal(path).as_deref(), "{path}");
            assert!(matches!(normal(path), Some(Cow::Borrowed(_))), "{path}");
        }
        for path in ["", "/a", "a/", "a//b", "./a", "a/./b", "..", "a/../b", "*", "a/*/b", "~/a", "a\\b", "..\\a", "a\0", "a->b"]
        {
            assert_eq!(normal(path).as_deref(), made_normal(path).as_deref(), "{path}");
            assert!(!matches!(normal(path), Some(Cow::Borrowed(_))), "{path}");
        }
    }

    #[test]
    fn a_wildcard_reaches_its_folder() {
        for (left, right) in
            [("src/*.rs", "src/a.txt"), ("src/a*", "src/abc"), ("**", "a"), ("a/**/b", "a/x/b"), ("*/a", "b"), ("a/b?", "a/c/d")]
        {
            assert!(paths_overlap(left, right) && paths_overlap(right, left), "{left} {right}");
        }
        for (left, right) in [("src/*.rs", "docs/a"), ("src/a/*x", "src/b"), ("a/**/b", "ab")] {
            assert!(!paths_overlap(left, right) && !paths_overlap(right, left), "{left} {right}");
        }
    }
}
