//! Conversion of doc comments to descriptions.

use crate::arguments::string;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Meta};

/// The text of doc comments.
pub(crate) enum Description {
    Text(String),
    /// A constant expression, if a macro such as `include_str!` is a part of it.
    Expression(TokenStream),
}

/// Returns the text of the doc comments among `attributes`, without the common indentation.
pub(crate) fn description(attributes: &[Attribute]) -> Option<Description> {
    let values: Vec<&Expr> = attributes.iter().filter_map(value).collect();
    let texts: Vec<Option<String>> = values.iter().map(|value| text(value)).collect();
    if let Some(lines) = texts.iter().cloned().collect::<Option<Vec<String>>>() {
        return Description::of(&lines.join("\n"));
    }
    let parts = values.iter().zip(texts).map(|(value, text)| match text {
        Some(text) => text.into_token_stream(),
        None => value.to_token_stream(),
    });
    Some(Description::Expression(quote!(::core::concat!(#(#parts, "\n"),*))))
}

pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

/// Returns the value of `#[doc = value]`.
fn value(attribute: &Attribute) -> Option<&Expr> {
    match &attribute.meta {
        Meta::NameValue(meta) if is_doc(attribute) => Some(&meta.value),
        _ => None,
    }
}

/// Returns the text of one doc comment; `None` if it is a macro.
fn text(value: &Expr) -> Option<String> {
    let text = string(value)?.value();
    let source = value.span().source_text();
    // Only a block comment has lines of its own. Unit tests have no source.
    let is_block = source.map_or(text.contains('\n'), |source| source.starts_with("/*"));
    Some(if is_block { block(&text) } else { without_one_space(&text) })
}

/// Removes the single space after `///`, and trailing white space. Deeper indentation is content.
fn without_one_space(text: &str) -> String {
    let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

/// Removes the column of stars of a block comment, as rustdoc does, or else the common indentation.
fn block(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default().trim();
    let rest: Vec<&str> = text.lines().skip(1).collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let filled = || rest.iter().filter(|line| !line.trim().is_empty());
    let column = filled().map(|line| indent(line)).min().unwrap_or(0);
    let has_stars = filled().count() > 0
        && filled().all(|line| indent(line) == column && line.trim_start().starts_with('*'));
    let rest = rest.iter().map(|line| {
        let line = line.get(column..).unwrap_or_default();
        let line = if has_stars { line.strip_prefix('*').unwrap_or(line) } else { line };
        let line = if has_stars { line.strip_prefix(' ').unwrap_or(line) } else { line };
        line.trim_end()
    });
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n")
}

impl Description {
    /// Returns a text; `None` if it is blank.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self::Text(text.to_owned()))
    }
}

impl ToTokens for Description {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Text(text) => text.to_tokens(tokens),
            Self::Expression(expression) => expression.to_tokens(tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn read(item: &syn::ItemFn) -> Option<String> {
        description(&item.attrs).map(|description| match description {
            Description::Text(text) => text,
            Description::Expression(expression) => expression.to_string(),
        })
    }

    #[test]
    fn doc_comment_is_the_description() {
        let item: syn::ItemFn = parse_quote! {
            /// Cancels a booking.
            ///
            /// - only once
            ///   per booking
            #[inline]
            fn f() {}
        };
        let expected = "Cancels a booking.\n\n- only once\n  per booking";
        assert_eq!(read(&item).as_deref(), Some(expected));
    }

    #[test]
    fn block_comment_is_read_without_its_stars() {
        let expected = Some("Cancels a booking.\n\n* only once\n  per booking");
        let stars =
            "\n     * Cancels a booking.\n     *\n     * * only once\n     *   per booking\n     ";
        assert_eq!(read(&parse_quote!(#[doc = #stars] fn f() {})).as_deref(), expected);
        let plain = "\n    Cancels a booking.\n\n    * only once\n      per booking\n";
        assert_eq!(read(&parse_quote!(#[doc = #plain] fn f() {})).as_deref(), expected);
        let one = " Cancels a booking. ";
        let expected = Some("Cancels a booking.");
        assert_eq!(read(&parse_quote!(#[doc = #one] fn f() {})).as_deref(), expected);
    }

    #[test]
    fn macro_is_a_part_of_the_description() {
        let item: syn::ItemFn = parse_quote! {
            /// Cancels a booking.
            #[doc = include_str!("rules.md")]
            fn f() {}
        };
        let expected = r#":: core :: concat ! ("Cancels a booking." , "\n" , include_str ! ("rules.md") , "\n")"#;
        assert_eq!(read(&item).as_deref(), Some(expected));
    }

    #[test]
    fn blank_doc_comment_is_not_a_description() {
        let item: syn::ItemFn = parse_quote! {
            ///
            fn f() {}
        };
        assert!(read(&item).is_none());
    }
}
