//! Patterns of paths.

/// A pattern of a path with `/` between its parts: `*` is any text within a part, `?` one character of
/// it, `**` as a part any number of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// `**`.
    Any,
    Name(Vec<char>),
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        let parts = pattern.trim_start_matches("./").split('/').filter(|part| !part.is_empty());
        Self(parts.map(Part::new).collect())
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        wildcard(&self.0, &parts, |part| *part == Part::Any, Part::matches)
    }
}

impl Part {
    fn new(part: &str) -> Self {
        if part == "**" { Self::Any } else { Self::Name(part.chars().collect()) }
    }

    fn matches(&self, name: &&str) -> bool {
        let Self::Name(pattern) = self else { return true };
        let name: Vec<char> = name.chars().collect();
        let same = |pattern: &char, character: &char| *pattern == '?' || pattern == character;
        wildcard(pattern, &name, |pattern| *pattern == '*', same)
    }
}

/// Whether a pattern fits, in which one item stands for any number of others. Takes time proportional
/// to the product of both lengths at most, because only the last such item is tried again.
fn wildcard<P, T>(
    pattern: &[P],
    text: &[T],
    is_any: impl Fn(&P) -> bool,
    is_same: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut next) = (0, 0);
    // Behind the last wildcard, and what of the text it has taken.
    let mut again: Option<(usize, usize)> = None;
    while let Some(item) = text.get(next) {
        match pattern.get(at) {
            Some(part) if is_any(part) => {
                at += 1;
                again = Some((at, next));
            }
            Some(part) if is_same(part, item) => (at, next) = (at + 1, next + 1),
            _ => {
                let Some((behind, taken)) = again else { return false };
                again = Some((behind, taken + 1));
                (at, next) = (behind, taken + 1);
            }
        }
    }
    pattern.iter().skip(at).all(is_any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_of_the_whole_path() {
        let cases = [
            ("*.md", "a.md", true),
            ("*.md", "x/a.md", false),
            ("**/*.md", "a.md", true),
            ("**/*.md", "x/y/a.md", true),
            ("docs/**", "docs/x/y.txt", true),
            ("docs/**", "other/x", false),
            ("docs/**/old/*.t?t", "docs/a/b/old/x.txt", true),
            ("docs/**/old/*.t?t", "docs/a/b/old/y/x.txt", false),
            ("./a/b", "a/b", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXb", false),
            ("[x].md", "[x].md", true),
            ("ä?", "äö", true),
            ("", "a", false),
        ];
        for (pattern, path, fits) in cases {
            assert_eq!(Glob::new(pattern).matches(path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn hostile_pattern_takes_no_exponential_time() {
        let pattern = "a*".repeat(40) + "b";
        assert!(!Glob::new(&pattern).matches(&"a".repeat(4000)));
        let pattern = "**/a/".repeat(30) + "b";
        assert!(!Glob::new(&pattern).matches(&"a/".repeat(500)));
    }
}
