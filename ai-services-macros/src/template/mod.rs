//! Templates: their text, where it comes from, and the placeholders in it.

mod source;
mod spot;

pub(crate) use source::parse;
pub(crate) use spot::Spot;

use proc_macro2::TokenStream;
use quote::quote;
use std::ops::Range;
use syn::LitStr;

/// The variables that need no parameter, and the `Piece` that stands for each.
pub(crate) const BUILTINS: [(&str, &str); 3] = [
    ("current_date", "CurrentDate"),
    ("current_time", "CurrentTime"),
    ("current_date_time", "CurrentDateTime"),
];

/// The name that stands for the only parameter without an attribute.
pub(crate) const IT: &str = "it";

/// One `#[system_message]` or `#[user_message]`.
pub(crate) struct Template {
    /// The literals that the text consists of, each with the byte at which it starts.
    /// For a file the one with its path.
    pub(crate) literals: Vec<(usize, LitStr)>,
    pub(crate) origin: Origin,
    pub(crate) text: String,
    /// `None` when the text is missing or is not a template, which has been reported.
    pub(crate) segments: Option<Vec<Segment>>,
}

/// Where the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Inline,
    /// In a file that rustc can include.
    File,
    /// In a file that was reported as missing.
    MissingFile,
}

/// A piece of the text, independent of what it was cut from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Text(String),
    Placeholder { name: String, span: Range<usize> },
}

impl Template {
    /// Names and places of the placeholders; none when the template could not be read.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.segments.iter().flatten().filter_map(|segment| match segment {
            Segment::Placeholder { name, span } => Some((name.as_str(), span.clone())),
            Segment::Text(_) => None,
        })
    }

    /// Makes rustc rebuild when the file changes.
    pub(crate) fn tracking(&self) -> Option<TokenStream> {
        let (_, path) = self.literals.first().filter(|_| self.origin == Origin::File)?;
        Some(quote!(
            const _: &str = ::core::include_str!(#path);
        ))
    }
}

/// The built-in variable of this name, as a `Piece`.
pub(crate) fn builtin(name: &str) -> Option<&'static str> {
    BUILTINS.into_iter().find(|(builtin, _)| *builtin == name).map(|(_, piece)| piece)
}

/// Whether a placeholder of this name would parse.
pub(crate) fn is_variable_name(name: &str) -> bool {
    let bad = |letter| matches!(letter, '{' | '}' | '\n' | '\r');
    !name.is_empty() && name.trim() == name && !name.contains(bad)
}

#[cfg(test)]
mod tests;
