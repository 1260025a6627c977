//! Patterns of names.

/// A name in which `*` stands for any characters.
#[derive(Clone, Debug)]
pub(super) struct Pattern(String);

impl Pattern {
    pub(super) fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// Returns `true` if the whole name matches.
    pub(super) fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(rest) = parts.next().and_then(|start| name.strip_prefix(start)) else {
            return false;
        };
        let Some(end) = parts.next_back() else { return rest.is_empty() };
        let Some(mut rest) = rest.strip_suffix(end) else { return false };
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else { return false };
            rest = after;
        }
        true
    }
}

/// Returns `true` if a pattern matches the name.
pub(super) fn any_matches(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_any_characters() {
        for (pattern, name, expected) in [
            ("read", "read", true),
            ("read", "reads", false),
            ("*", "", true),
            ("read_*", "read_file", true),
            ("read_*", "spread_file", false),
            ("*_file", "read_file", true),
            ("r*d_*e", "read_file", true),
            ("a*a", "a", false),
            ("a**b", "ab", true),
            ("a*bc*d", "aXbcYd", true),
            ("a*bc*d", "abd", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }
}
