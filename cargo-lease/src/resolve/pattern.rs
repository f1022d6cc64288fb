//! Patterns with `*` and `?`, as cargo's `-p` and nextest's binary ids know them.

/// Whether a name matches a pattern.
pub(super) fn matches_pattern(pattern: &str, name: &str) -> bool {
    let (mut pattern_chars, mut name_chars) = (pattern.chars(), name.chars());
    match (pattern_chars.next(), name_chars.next()) {
        (None, None) => true,
        (Some('*'), None) => matches_pattern(pattern_chars.as_str(), name),
        (Some('*'), Some(_)) => matches_pattern(pattern_chars.as_str(), name) || matches_pattern(pattern, name_chars.as_str()),
        (Some('?'), Some(_)) => matches_pattern(pattern_chars.as_str(), name_chars.as_str()),
        (Some(wanted), Some(found)) if wanted == found => matches_pattern(pattern_chars.as_str(), name_chars.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, matches) in [
            ("api", "api", true),
            ("api", "api2", false),
            ("*", "", true),
            ("a*i", "api", true),
            ("a*x", "api", false),
            ("?pi", "api", true),
            ("", "a", false),
            ("db::*", "db::bin/x", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), matches, "{pattern} {name}");
        }
    }
}
