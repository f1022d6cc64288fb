//! The owner fence: which owners a store accepts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::error::{StoreError, StoreResult};
use crate::json::Json;

mod engine;

use engine::Pattern;

const DEFAULT_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$";

/// How long one match may take. ECMAScript patterns backtrack, and some do so for longer than anybody lives. A host under
/// load must not turn a slow match into a refusal, so this is far beyond what a sane pattern needs.
const MATCH_LIMIT: Duration = Duration::from_secs(10);

/// An anchored ECMAScript pattern that every owner must match.
#[derive(Clone, Debug)]
pub struct OwnerFence {
    pattern: String,
    is_default: bool,
    /// `None` is the default, which is matched by hand: it is on every path and needs no engine.
    regex: Option<Arc<Pattern>>,
    limit: Duration,
    /// The last owner that was found inside; a store mostly sees one.
    known: Arc<Mutex<Option<String>>>,
}

impl OwnerFence {
    /// The fence of a pattern; an empty one means the default.
    ///
    /// # Errors
    /// A usage error when the pattern is not anchored (`^…$`, the `$` not escaped) or is no ECMAScript pattern, and for every one
    /// but the default without the feature `owner-patterns`: an owner is not let in unseen.
    pub fn new(pattern: &str) -> StoreResult<Self> {
        if pattern.is_empty() || pattern == DEFAULT_PATTERN {
            return Ok(Self { is_default: pattern.is_empty(), ..Self::with(DEFAULT_PATTERN, None) });
        }
        if !pattern.starts_with('^') || !pattern.ends_with('$') || pattern.ends_with("\\$") {
            let message = format!("invalid owner pattern {} — must be anchored (start with ^ and end with $)", quoted(pattern));
            return Err(StoreError::usage(message));
        }
        let regex = Pattern::new(pattern).map_err(StoreError::usage)?;
        Ok(Self::with(pattern, Some(Arc::new(regex))))
    }

    fn with(pattern: &str, regex: Option<Arc<Pattern>>) -> Self {
        Self { pattern: pattern.to_owned(), is_default: false, regex, limit: MATCH_LIMIT, known: Arc::default() }
    }

    /// Whether no pattern was given, so that the format's default counts.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.is_default
    }

    /// The pattern as messages show it, `/^…$/`.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(&self.pattern)
    }

    /// What is doubtful about the pattern although it works as the format says.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let alternation = self.regex.is_some() && has_bare_alternation(&self.pattern);
        alternation.then(|| {
            format!(
                "owner pattern {} has an alternation outside a group, so each anchor binds one side only and the fence lets more in than \
                 it seems; write ^(…|…)$",
                quoted(&self.pattern)
            )
        })
    }

    /// Whether an owner is inside the fence.
    ///
    /// # Errors
    /// A usage error when the pattern needs longer than ten seconds for this owner.
    pub fn contains(&self, owner: &str) -> StoreResult<bool> {
        let Some(regex) = &self.regex else { return Ok(matches_default(owner)) };
        if self.known.lock().is_ok_and(|known| known.as_deref() == Some(owner)) {
            return Ok(true);
        }
        let inside = regex.matches_within(owner, self.limit).ok_or_else(|| {
            let message = format!(
                "owner pattern {} takes too long to match owner {}; write one that does not backtrack",
                quoted(&self.pattern),
                quoted(owner)
            );
            StoreError::usage(message)
        })?;
        if inside && let Ok(mut known) = self.known.lock() {
            *known = Some(owner.to_owned());
        }
        Ok(inside)
    }

    pub(crate) fn check(&self, owner: &str) -> StoreResult<()> {
        if self.contains(owner)? {
            return Ok(());
        }
        Err(StoreError::usage(format!("invalid owner {} — must match the owner pattern {}", quoted(owner), self.shown())))
    }
}

/// A text as JSON shows it, which is how messages quote values.
pub(crate) fn quoted(text: &str) -> String {
    Json::from(text).to_text()
}

fn matches_default(owner: &str) -> bool {
    let bytes = owner.as_bytes();
    let rest = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:@-".contains(byte);
    bytes.len() <= 128 && bytes.first().is_some_and(u8::is_ascii_alphanumeric) && bytes.iter().all(rest)
}

/// ECMAScript's `RegExp.prototype.toString`: a slash outside a class is escaped, and so is a line end.
fn shown(pattern: &str) -> String {
    let mut text = String::from("/");
    let (mut escaped, mut in_class) = (false, false);
    for c in pattern.chars() {
        match c {
            '/' if !escaped && !in_class => text.push_str("\\/"),
            '\n' if escaped => text.push('n'),
            '\n' => text.push_str("\\n"),
            '\r' if escaped => text.push('r'),
            '\r' => text.push_str("\\r"),
            '\u{2028}' if escaped => text.push_str("u2028"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' if escaped => text.push_str("u2029"),
            '\u{2029}' => text.push_str("\\u2029"),
            c => text.push(c),
        }
        in_class = !escaped && c == '[' || in_class && (escaped || c != ']');
        escaped = !escaped && c == '\\';
    }
    text.push('/');
    text
}

/// Whether a `|` stands outside every group and class.
fn has_bare_alternation(pattern: &str) -> bool {
    let (mut depth, mut escaped, mut in_class) = (0_i32, false, false);
    for c in pattern.chars() {
        match c {
            _ if escaped => {}
            ']' => in_class = false,
            _ if in_class => {}
            '[' => in_class = true,
            '(' => depth += 1,
            ')' => depth -= 1,
            '|' if depth == 0 => return true,
            _ => {}
        }
        escaped = !escaped && c == '\\';
    }
    false
}

#[cfg(test)]
mod tests {
    use super::OwnerFence;

    #[test]
    #[cfg(feature = "owner-patterns")]
    fn a_pattern_that_backtracks_for_ever_is_a_usage_error() {
        let limit = std::time::Duration::from_millis(20);
        let fence = OwnerFence { limit, ..OwnerFence::new("^(a+)+$").unwrap() };
        assert!(fence.contains("aaaa").unwrap());
        let error = fence.contains(&format!("{}!", "a".repeat(200))).unwrap_err();
        assert!(error.to_string().contains("takes too long"), "{error}");
    }

    #[test]
    #[cfg(feature = "owner-patterns")]
    fn an_alternation_outside_a_group_is_warned_about() {
        for (pattern, warned) in [("^a|b$", true), ("^(a|b)$", false), ("^[a|b]$", false), ("^a\\|b$", false), ("^(a)|b$", true)]
        {
            assert_eq!(OwnerFence::new(pattern).unwrap().warning().is_some(), warned, "{pattern}");
        }
    }

    #[test]
    #[cfg(not(feature = "owner-patterns"))]
    fn without_the_feature_only_the_default_is_known() {
        for default in ["", super::DEFAULT_PATTERN] {
            assert!(OwnerFence::new(default).unwrap().contains("me@here").unwrap());
        }
        let error = OwnerFence::new("^ci-.*$").unwrap_err().to_string();
        assert!(error.contains("owner-patterns") && error.contains("^ci-.*$"), "{error}");
    }
}
