//! Templates: their text, its origin, and its placeholders.

mod location;
mod source;

pub(crate) use location::TemplateLocation;
pub(crate) use source::{parse, parse_literal};

use proc_macro2::TokenStream;
use quote::quote;
use std::ops::Range;
use syn::LitStr;

/// The variables that need no parameter, with their variants of `Piece`.
pub(crate) const BUILTINS: [(&str, &str); 3] = [
    ("current_date", "CurrentDate"),
    ("current_time", "CurrentTime"),
    ("current_date_time", "CurrentDateTime"),
];

/// The placeholder of the only parameter without an attribute.
pub(crate) const IT: &str = "it";

/// The template of a `#[system_message]` or `#[user_message]`.
pub(crate) struct Template {
    /// The literals of the text, each with its byte offset. For a file, the literal with its path.
    pub(crate) literals: Vec<(usize, LitStr)>,
    pub(crate) origin: Origin,
    pub(crate) text: String,
    /// The readable segments.
    pub(crate) segments: Vec<Segment>,
    /// `false` if a part of the text is missing or invalid, which was reported.
    pub(crate) is_complete: bool,
    /// The placeholders that are not valid, each with the rest of the text if it is not closed.
    pub(crate) invalid: Vec<Range<usize>>,
}

/// The origin of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Inline,
    /// A file that rustc can include.
    File,
    /// A file that was reported as missing.
    MissingFile,
}

/// An owned segment of the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Text(String),
    Placeholder { name: String, span: Range<usize> },
}

impl Template {
    /// Returns names and spans of the readable placeholders.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Placeholder { name, span } => Some((name.as_str(), span.clone())),
            Segment::Text(_) => None,
        })
    }

    /// Returns whether the text contains `{name}`, a placeholder with too few braces.
    pub(crate) fn has_single_braces(&self, name: &str) -> bool {
        let texts = self.segments.iter().filter_map(|segment| match segment {
            Segment::Text(text) => Some(text),
            Segment::Placeholder { .. } => None,
        });
        let placeholder = format!("{{{name}}}");
        texts.into_iter().any(|text| text.contains(&placeholder))
    }

    /// Returns whether an invalid part of the template may be a placeholder with this name.
    pub(crate) fn may_contain(&self, name: &str) -> bool {
        let is_unreadable = !self.is_complete && self.text.trim().is_empty();
        let mut parts = self.invalid.iter().filter_map(|range| self.text.get(range.clone()));
        let is_empty = |part: &str| part.trim_matches(['{', '}', ' ']).is_empty();
        is_unreadable || parts.any(|part| is_empty(part) || part.contains(name))
    }

    /// Returns code that makes rustc rebuild when the file changes.
    pub(crate) fn tracking(&self) -> Option<TokenStream> {
        let (_, path) = self.literals.first().filter(|_| self.origin == Origin::File)?;
        Some(quote!(
            const _: &str = ::core::include_str!(#path);
        ))
    }
}

/// Returns the variant of `Piece` for the built-in variable of this name.
pub(crate) fn builtin(name: &str) -> Option<&'static str> {
    BUILTINS.into_iter().find(|(builtin, _)| *builtin == name).map(|(_, piece)| piece)
}

/// Returns whether a placeholder with this name is valid.
pub(crate) fn is_variable_name(name: &str) -> bool {
    let is_forbidden = |letter| matches!(letter, '{' | '}' | '\n' | '\r');
    !name.is_empty() && name.trim() == name && !name.contains(is_forbidden)
}

#[cfg(test)]
mod tests;
