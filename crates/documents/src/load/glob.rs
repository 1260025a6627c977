//! Glob patterns of paths.
//!
//! Written here because no crate matches `?` with one character in linear time: `globset` and `fast-glob`
//! match a byte, so `?` does not match `ö`; `glob` takes exponential time for `a*a*a*/b`.

/// A pattern of a path with `/` as the separator: `*` matches any text within a component, `?` one character,
/// the component `**` any number of components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob(Vec<Component>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Component {
    /// `**`.
    Any,
    Name(Vec<char>),
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        let components =
            pattern.trim_start_matches("./").split('/').filter(|component| !component.is_empty());
        Self(components.map(Component::new).collect())
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let components: Vec<&str> = path.split('/').collect();
        wildcard(&self.0, &components, |item| *item == Component::Any, Component::matches)
    }
}

impl Component {
    fn new(component: &str) -> Self {
        if component == "**" { Self::Any } else { Self::Name(component.chars().collect()) }
    }

    fn matches(&self, name: &&str) -> bool {
        let Self::Name(pattern) = self else { return true };
        let name: Vec<char> = name.chars().collect();
        let same = |pattern: &char, character: &char| *pattern == '?' || pattern == character;
        wildcard(pattern, &name, |pattern| *pattern == '*', same)
    }
}

/// Returns whether a pattern with wildcards for any number of items matches. Takes at most time proportional
/// to the product of both lengths, because only the last wildcard is tried again.
fn wildcard<P, T>(
    pattern: &[P],
    text: &[T],
    is_any: impl Fn(&P) -> bool,
    is_same: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut next) = (0, 0);
    // The position after the last wildcard, and the end of the text that it matched.
    let mut retry: Option<(usize, usize)> = None;
    while let Some(item) = text.get(next) {
        match pattern.get(at) {
            Some(part) if is_any(part) => {
                at += 1;
                retry = Some((at, next));
            }
            Some(part) if is_same(part, item) => (at, next) = (at + 1, next + 1),
            _ => {
                let Some((after, matched)) = retry else { return false };
                retry = Some((after, matched + 1));
                (at, next) = (after, matched + 1);
            }
        }
    }
    pattern.iter().skip(at).all(is_any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_the_whole_path() {
        let cases = [
            ("*.md", "a.md", true),
            ("*.md", "x/a.md", false),
            ("**/*.md", "a.md", true),
            ("**/*.md", "x/y/a.md", true),
            ("docs/**", "docs/x/y.txt", true),
            ("docs/**", "docs", true),
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
    fn hostile_pattern_is_not_exponential() {
        let pattern = "a*".repeat(40) + "b";
        assert!(!Glob::new(&pattern).matches(&"a".repeat(4000)));
        let pattern = "a*".repeat(40) + "/b";
        assert!(!Glob::new(&pattern).matches(&("a".repeat(4000) + "/c")));
        let pattern = "**/a/".repeat(30) + "b";
        assert!(!Glob::new(&pattern).matches(&"a/".repeat(500)));
    }
}
