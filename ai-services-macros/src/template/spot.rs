//! A place inside a template, as a user can find it.
//!
//! The compiler can only underline a whole literal. Where that is too coarse, in a file or in a
//! literal of several lines, the message shows the line with carets.

use super::{Origin, Template};
use crate::diagnostics::{Diagnostics, Report};
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use std::ops::Range;
use syn::LitStr;

/// How many characters of a long line are shown on each side of the carets.
const CONTEXT: usize = 50;

/// Some bytes of a template.
pub(crate) struct Spot<'a> {
    template: &'a Template,
    span: Range<usize>,
}

impl<'a> Spot<'a> {
    pub(crate) fn new(template: &'a Template, span: Range<usize>) -> Self {
        Self { template, span }
    }

    /// Reports a mistake here. `name` is the placeholder that the note mentions, if there is one.
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
        let text = match from_file {
            true => self.template.text.as_str(),
            false => self.own_text(start),
        };
        if from_file || text.contains('\n') {
            let place = Place::find(text, self.span.start - start..self.span.end - start);
            let what = match name {
                "" => "the mistake".to_owned(),
                name => format!("`{{{{{name}}}}}`"),
            };
            let whole = match self.template.literals.first() {
                Some((_, path)) if from_file => format!("`{}`", path.value()),
                _ => "this template".to_owned(),
            };
            report
                .excerpt(&place.excerpt)
                .note(format!("{what} is on line {} of {whole}", place.line));
        }
        report
    }

    /// The literal in which the place begins.
    fn literal(&self) -> Option<(usize, &LitStr)> {
        let before = |(start, _): &&(usize, LitStr)| *start <= self.span.start;
        let (start, literal) = self.template.literals.iter().take_while(before).last()?;
        Some((*start, literal))
    }

    /// The text from the beginning of the literal at `start` up to the next literal.
    fn own_text(&self, start: usize) -> &str {
        let next = self.template.literals.iter().map(|(next, _)| *next).find(|next| *next > start);
        let end = next.unwrap_or(self.template.text.len());
        self.template.text.get(start..end).unwrap_or_default().trim_end_matches('\n')
    }
}

/// A line of text with carets under a part of it.
struct Place {
    line: usize,
    excerpt: String,
}

impl Place {
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
    let blanks = " ".repeat(column - start + left.chars().count());
    format!("{left}{shown}{right}\n{blanks}{}", "^".repeat(width))
}

/// Something to point at when a template has no literal.
fn empty() -> TokenStream {
    proc_macro2::Ident::new("_template", Span::call_site()).to_token_stream()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_puts_carets_under_the_place() {
        let place = Place::find("a\n  Reply in {{tongue}}.\nb", 13..23);
        assert_eq!(place.line, 2);
        assert_eq!(place.excerpt, "Reply in {{tongue}}.\n         ^^^^^^^^^^");
    }

    #[test]
    fn excerpt_counts_characters() {
        let place = Place::find("ü {{x}}", 3..8);
        assert_eq!(place.excerpt, "ü {{x}}\n  ^^^^^");
    }

    #[test]
    fn excerpt_of_a_long_line_is_cut() {
        let text = format!("{}{{{{x}}}}{}", "a".repeat(80), "b".repeat(80));
        let place = Place::find(&text, 80..85);
        let expected =
            format!("…{}{{{{x}}}}{}…\n{}^^^^^", "a".repeat(50), "b".repeat(50), " ".repeat(51));
        assert_eq!(place.excerpt, expected);
    }
}
