//! Names of resources.

use std::fmt;

use super::path::ClaimPath;
use crate::json::trimmed;

/// The old name of a workspace that is only read.
const OLD_WORKSPACE: &str = "workspace-read:";

/// A resource's name in its normal form: without white space around it, and with today's name for a workspace.
///
/// A name that nobody gave a meaning overlaps only itself. These have one:
///
/// | key | overlaps |
/// | --- | --- |
/// | `release:…` | every other key, of whatever kind |
/// | `repo-content:*` | every path, workspace and git key |
/// | `workspace:C` | paths of the checkout `C` or of none, `git-index:C`, `git-head:C` |
/// | `path:C:P`, `path:P` | paths that are the same, or of which one holds the other, unless of different checkouts |
/// | `git-ref:…`, `git-refs:…` | each other |
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey(String);

/// What a key is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Release,
    RepoContent,
    Workspace(&'a str),
    Path(ClaimPath<'a>),
    /// `git-ref:` or `git-refs:`.
    Refs,
    Index(&'a str),
    Head(&'a str),
    Other,
}

impl ResourceKey {
    /// The normal form of a name; `None` for a blank one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = trimmed(text);
        let text = match text.strip_prefix(OLD_WORKSPACE) {
            Some(rest) => format!("workspace:{rest}"),
            None => text.to_owned(),
        };
        (!text.is_empty()).then_some(Self(text))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn kind(&self) -> Kind<'_> {
        Kind::of(&self.0)
    }

    /// Whether two names mean something in common. The same in both directions.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        overlap(&self.0, &other.0)
    }

    /// Whether whoever has `other` to himself has this one to himself as well: there is nothing that overlaps this one, and not
    /// that.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self == other
            || match (other.kind(), self.kind()) {
                (Kind::Workspace(_), Kind::Path(path)) if path.checkout().is_none_or(str::is_empty) => false,
                (Kind::Path(outer), Kind::Path(inner)) => outer.holds(&inner),
                (outer, inner) => covers(&outer, &inner),
            }
    }
}

impl<'a> Kind<'a> {
    /// What a key in its normal form is about.
    pub(super) fn of(key: &'a str) -> Self {
        if key == "repo-content:*" {
            return Self::RepoContent;
        }
        let Some((prefix, rest)) = key.split_once(':') else { return Self::Other };
        match prefix {
            "release" => Self::Release,
            "workspace" => Self::Workspace(rest),
            "path" => Self::Path(ClaimPath::of_key(rest)),
            "git-ref" | "git-refs" => Self::Refs,
            "git-index" => Self::Index(rest),
            "git-head" => Self::Head(rest),
            _ => Self::Other,
        }
    }
}

/// [`ResourceKey::overlaps`] for keys in their normal form.
pub(super) fn overlap(left: &str, right: &str) -> bool {
    if left == right {
        return true;
    }
    let (left, right) = (Kind::of(left), Kind::of(right));
    covers(&left, &right) || covers(&right, &left)
}

/// Whether a key reaches what another one of a different name is about.
fn covers(left: &Kind<'_>, right: &Kind<'_>) -> bool {
    match (left, right) {
        (Kind::RepoContent, Kind::Path(_) | Kind::Workspace(_) | Kind::Refs | Kind::Index(_) | Kind::Head(_))
        | (Kind::Refs, Kind::Refs) => true,
        // An unnamed workspace is only itself.
        (Kind::Workspace(""), _) => false,
        (Kind::Workspace(checkout), Kind::Path(path)) => path.checkout().is_none_or(|of| of == *checkout),
        (Kind::Workspace(checkout), Kind::Index(other) | Kind::Head(other)) => checkout == other,
        (Kind::Path(left), Kind::Path(right)) => left.overlaps(right),
        _ => false,
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
