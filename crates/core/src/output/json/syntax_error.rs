//! The error of a text that is not JSON.

use std::fmt;

/// Maximum nesting depth of lists and objects, the same as in `serde_json`.
pub(super) const MAX_DEPTH: usize = 128;

/// The error of a text that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::output) enum SyntaxError {
    /// The text ends too early.
    UnexpectedEnd,
    /// The byte at this position is not allowed.
    Unexpected(usize),
    /// Lists and objects are nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// The object at this path contains this key twice.
    DuplicateKey { path: String, key: String },
}

impl SyntaxError {
    /// Adds the member of the surrounding object to the path.
    pub(super) fn in_member(self, name: &str) -> Self {
        self.inside(|path| {
            let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            format!("{name}{separator}{path}")
        })
    }

    /// Adds the item of the surrounding list to the path.
    pub(super) fn in_item(self, index: usize) -> Self {
        self.inside(|path| {
            let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            format!("[{index}]{separator}{path}")
        })
    }

    fn inside(self, outer: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::DuplicateKey { path, key } => Self::DuplicateKey { path: outer(&path), key },
            other => other,
        }
    }

    /// Returns the error message, with line and column in the text.
    pub(in crate::output) fn explain(&self, text: &str) -> String {
        match self {
            Self::Unexpected(at) => {
                let before = text.get(..*at).unwrap_or(text);
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                match text.get(*at..).and_then(|rest| rest.chars().next()) {
                    Some(c) => {
                        format!("not JSON: unexpected {c:?} at line {line}, column {column}")
                    }
                    None => "not JSON: unexpected end".to_owned(),
                }
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedEnd => f.write_str("the JSON is truncated"),
            Self::Unexpected(_) => f.write_str("not JSON"),
            Self::TooDeep => write!(f, "the JSON is nested more than {MAX_DEPTH} levels deep"),
            Self::DuplicateKey { key, .. } => write!(f, "duplicate key `{key}`"),
        }
    }
}
