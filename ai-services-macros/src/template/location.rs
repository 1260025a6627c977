//! A location in a template, for error messages.
//!
//! The compiler can only underline a whole literal. For a file, or a literal with several lines, the message
//! also shows the line with carets.

use super::{Origin, Template};
use crate::diagnostics::{Diagnostics, Report};
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use std::ops::Range;
use syn::LitStr;

/// Number of characters of a long line that are shown on each side of the carets.
const CONTEXT: usize = 50;

/// A byte range of a template.
pub(crate) struct TemplateLocation<'a> {
    template: &'a Template,
    span: Range<usize>,
}

impl<'a> TemplateLocation<'a> {
    pub(crate) fn new(template: &'a Template, span: Range<usize>) -> Self {
        Self { template, span }
    }

    /// Reports a mistake at this location. `name` is the placeholder for the note, or empty.
    pub(crate) fn report<'r>(
        &self,
        cx: &'r mut Diagnostics,
        message: String,
        name: &str,
    ) -> &'r mut Report {
        let (start, literal) = match self.literal() {
            Some((start, literal)) => (start, literal.to_token_stream()),
            None => (0, empty()),
        };
        let report = cx.error(&literal, message);
        let from_file = self.template.origin != Origin::Inline;
        let text =
            if from_file { self.template.text.as_str() } else { self.text_of_literal(start) };
        if from_file || text.contains('\n') {
            let place = LineExcerpt::find(text, self.span.start - start..self.span.end - start);
            let subject = match name {
                "" => "the mistake".to_owned(),
                name => format!("`{{{{{name}}}}}`"),
            };
            let whole = match self.template.literals.first() {
                Some((_, path)) if from_file => format!("`{}`", path.value()),
                _ => "this template".to_owned(),
            };
            report
                .excerpt(&place.excerpt)
                .note(format!("{subject} is on line {} of {whole}", place.line));
        }
        report
    }

    /// Returns the literal in which the location starts.
    fn literal(&self) -> Option<(usize, &LitStr)> {
        let before = |(start, _): &&(usize, LitStr)| *start <= self.span.start;
        let (start, literal) = self.template.literals.iter().take_while(before).last()?;
        Some((*start, literal))
    }

    /// Returns the text of the literal at `start`, up to the next literal.
    fn text_of_literal(&self, start: usize) -> &str {
        let next = self.template.literals.iter().map(|(next, _)| *next).find(|next| *next > start);
        let end = next.unwrap_or(self.template.text.len());
        self.template.text.get(start..end).unwrap_or_default().trim_end_matches('\n')
    }
}

/// A line of text with carets under a part of it.
struct LineExcerpt {
    line: usize,
    excerpt: String,
}

impl LineExcerpt {
    fn find(text: &str, span: Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let rest = text.get(line_start..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default();
        let column = before.get(line_start..).unwrap_or_default().chars().count();
        let width = text.get(span).unwrap_or_default().lines().next().unwrap_or_default();
        let width = width.chars().count().max(1);
        Self { line: before.matches('\n').count() + 1, excerpt: excerpt(line, column, width) }
    }
}

fn excerpt(line: &str, column: usize, width: usize) -> String {
    let indent = line.chars().take_while(|letter| letter.is_whitespace()).count();
    let start = column.saturating_sub(CONTEXT).max(indent.min(column));
    let end = column + width + CONTEXT;
    let left = if start > indent { "…" } else { "" };
    let right = if line.chars().count() > end { "…" } else { "" };
    let shown = line.chars().skip(start).take(end - start);
    let shown: String = shown.map(|letter| if letter == '\t' { ' ' } else { letter }).collect();
    let padding = " ".repeat(column - start + left.chars().count());
    format!("{left}{shown}{right}\n{padding}{}", "^".repeat(width))
}

/// Returns a token for the span of a template without literals.
fn empty() -> TokenStream {
    proc_macro2::Ident::new("_template", Span::call_site()).to_token_stream()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_puts_carets_under_the_location() {
        let place = LineExcerpt::find("a\n  Reply in {{tongue}}.\nb", 13..23);
        assert_eq!(place.line, 2);
        assert_eq!(place.excerpt, "Reply in {{tongue}}.\n         ^^^^^^^^^^");
    }

    #[test]
    fn excerpt_counts_characters() {
        let place = LineExcerpt::find("ü {{x}}", 3..8);
        assert_eq!(place.excerpt, "ü {{x}}\n  ^^^^^");
    }

    #[test]
    fn excerpt_of_a_long_line_is_truncated() {
        let text = format!("{}{{{{x}}}}{}", "a".repeat(80), "b".repeat(80));
        let place = LineExcerpt::find(&text, 80..85);
        let expected =
            format!("…{}{{{{x}}}}{}…\n{}^^^^^", "a".repeat(50), "b".repeat(50), " ".repeat(51));
        assert_eq!(place.excerpt, expected);
    }
}
