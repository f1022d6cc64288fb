//! Names: patterns with `*` and `?`, as cargo's `-p` and nextest's binary ids know them, and names that are nearly those.

use strsim::osa_distance;

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

/// The end of a message on a name that is not known: the one that was probably meant, else all, if they are few.
pub(super) fn or_nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const N_TOLD: usize = 8;
    let mut known: Vec<_> = known.into_iter().map(|known| (osa_distance(name, known), known)).collect();
    known.sort_unstable();
    known.dedup();
    match known.first() {
        Some((edits, nearest)) if *edits <= 2.max(name.len() / 4) => format!("; did you mean {nearest}?"),
        Some(_) if known.len() <= N_TOLD => {
            format!("; there are {}", known.iter().map(|(_, known)| *known).collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
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

    #[test]
    fn nearest_names() {
        let many: Vec<String> = (0..9).map(|n| format!("package-{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (name, known, end) in [
            ("wrpa", &["hold", "pool", "wrap"][..], "; did you mean wrap?"),
            ("timeout", &["hold", "pool"], "; there are hold, pool"),
            ("api::intergation", &["api", "api::integration"], "; did you mean api::integration?"),
            ("x", &[], ""),
            ("other", &many, ""),
        ] {
            assert_eq!(or_nearest(name, known.iter().copied()), end, "{name}");
        }
    }
}
