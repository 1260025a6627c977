//! Markdown: what stands before the text, and its title.

use crate::outline::{fence, heading};
use ai_services_core::document::{Metadata, key};

/// How many keys are taken from a front matter, and how long a value is, in bytes.
const MAX_KEYS: usize = 64;
const MAX_VALUE: usize = 1024;

/// Takes a simple front matter into the metadata, and finds the title. The rest is the text.
pub(super) fn read(text: String, mut metadata: Metadata) -> (String, Metadata) {
    let (rest, found) = front_matter(&text);
    for (name, value) in found {
        // What the loader says of a document, the document does not say otherwise.
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

/// What is behind a front matter of lines `key: value`, and those. If it is anything else, it is text.
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

/// A line `key: value` whose value is a plain or a quoted text.
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

/// The text of the first heading of the first level.
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
    fn simple_front_matter_is_metadata() {
        let (text, metadata) =
            parts("---\nauthor: \"Ann: B\"\n# note\nyear: 2026\n---\n# Hi\nText");
        assert_eq!(text, "# Hi\nText");
        assert_eq!(metadata, r#"{"source":"a.md","author":"Ann: B","year":"2026","title":"Hi"}"#);
    }

    #[test]
    fn any_other_front_matter_is_text() {
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
    fn document_does_not_say_where_it_comes_from() {
        let (_, metadata) =
            parts("---\nsource: b.md\ndigest: 1\nsegments: 0\ntitle: T\n---\n# Other");
        assert_eq!(metadata, r#"{"source":"a.md","title":"T"}"#);
    }

    #[test]
    fn title_is_not_looked_for_in_code() {
        assert_eq!(title("```sh\n# a comment\n```\n## Two\n# One #\n"), Some("One"));
        assert_eq!(title("#hash\nno title"), None);
    }
}
