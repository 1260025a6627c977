//! Markdown: the front matter and the title.

use crate::outline::{fence, heading};
use ai_services_core::document::{Metadata, key};

/// Maximum number of keys in a front matter.
const MAX_KEYS: usize = 64;

/// Maximum length of a front matter value, in bytes.
const MAX_VALUE: usize = 1024;

/// Moves a simple front matter into the metadata, and sets the title. Returns the remaining text.
pub(super) fn read(text: String, mut metadata: Metadata) -> (String, Metadata) {
    let (rest, found) = front_matter(&text);
    for (name, value) in found {
        // A document cannot override the metadata that the loader sets.
        if !key::RESERVED.contains(&name) {
            metadata.set(name, value);
        }
    }
    if metadata.get(key::TITLE).is_none()
        && let Some(title) = title(rest)
    {
        metadata.set(key::TITLE, title);
    }
    let text = if rest.len() == text.len() { text } else { rest.to_owned() };
    (text, metadata)
}

/// Returns the text after a front matter of lines `key: value`, and its entries. Any other front matter is
/// part of the text.
fn front_matter(text: &str) -> (&str, Vec<(&str, &str)>) {
    simple_front_matter(text).unwrap_or((text, Vec::new()))
}

fn simple_front_matter(text: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut length = first.len();
    let mut found = Vec::new();
    for line in lines {
        length += line.len();
        let line = line.trim_end();
        if line == "---" {
            return Some((text.get(length..)?, found));
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        found.push(entry(line)?);
        if found.len() > MAX_KEYS {
            return None;
        }
    }
    None
}

/// Parses a line `key: value` with a plain or quoted value.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty()
        || !name.chars().all(is_name)
        || !(value.is_empty() || value.starts_with(' '))
    {
        return None;
    }
    let value = value.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        value
            .strip_prefix(quote)?
            .strip_suffix(quote)
            .filter(|inner| !inner.contains([quote, '\\']))
    });
    let is_plain =
        !value.is_empty() && !value.starts_with(['[', '{', '|', '>', '&', '*', '!', '"', '\'']);
    let value = quoted.or_else(|| is_plain.then_some(value))?;
    (value.len() <= MAX_VALUE).then_some((name, value))
}

/// Returns the text of the first level-one heading.
fn title(text: &str) -> Option<&str> {
    let mut open = None;
    for line in text.lines() {
        if fence(line, &mut open) {
            continue;
        }
        if let Some((1, title)) = heading(line) {
            return Some(title).filter(|title| !title.is_empty() && title.len() <= MAX_VALUE);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, String) {
        let (text, metadata) = read(text.to_owned(), Metadata::new().with("source", "a.md"));
        (text, serde_json::to_string(&metadata).unwrap())
    }

    #[test]
    fn simple_front_matter_becomes_metadata() {
        let (text, metadata) =
            parts("---\nauthor: \"Ann: B\"\n# note\nyear: 2026\n---\n# Hi\nText");
        assert_eq!(text, "# Hi\nText");
        assert_eq!(metadata, r#"{"source":"a.md","author":"Ann: B","year":"2026","title":"Hi"}"#);
    }

    #[test]
    fn other_front_matter_is_text() {
        for text in [
            "---\ntags:\n  - a\n---\nText",
            "---\ntags: [a, b]\n---\nText",
            "---\nauthor: ann\nText without an end",
            "---\nauthor: \"a\\\"b\"\n---\nText",
            "---\nhttp://example.org\n---\nText",
        ] {
            let (rest, metadata) = parts(text);
            assert_eq!((rest.as_str(), metadata.as_str()), (text, r#"{"source":"a.md"}"#));
        }
    }

    #[test]
    fn reserved_keys_cannot_be_overridden() {
        let (_, metadata) =
            parts("---\nsource: b.md\ndigest: 1\nsegments: 0\ntitle: T\n---\n# Other");
        assert_eq!(metadata, r#"{"source":"a.md","title":"T"}"#);
    }

    #[test]
    fn title_is_not_taken_from_code() {
        assert_eq!(title("```sh\n# a comment\n```\n## Two\n# One #\n"), Some("One"));
        assert_eq!(title("#hash\nno title"), None);
    }
}
