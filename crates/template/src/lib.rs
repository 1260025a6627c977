//! The `{{name}}` template grammar, shared by the macros (at compile time) and the runtime.
//!
//! ```text
//! template    = { text | escape | placeholder }
//! escape      = "{{{{"                 renders {{
//!             | "}}}}"                 renders }}
//! placeholder = "{{" blanks name blanks "}}"
//! name        = one or more characters without { and } and without line breaks
//! text        = anything else; a single brace and an unmatched }} are literal
//! ```
//!
//! White space around a name, including line breaks, is not part of the name. Segments borrow from the
//! source. Text without `{{` is always valid.
//!
//! ```
//! use ai_services_template::{Segment, parse};
//!
//! let segments = parse("Hello {{ name }}!").unwrap();
//! assert_eq!(segments[0], Segment::Text("Hello "));
//! assert!(matches!(segments[1], Segment::Placeholder { name: "name", .. }));
//! assert_eq!(segments[2], Segment::Text("!"));
//! ```

use std::fmt;
use std::ops::Range;

/// One piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Literal text.
    Text(&'a str),
    /// A variable to fill in.
    Placeholder {
        /// The name without surrounding white space.
        name: &'a str,
        /// Byte range of `{{ name }}` in the source, including the braces.
        span: Range<usize>,
    },
}

/// The error of a text that is not a valid template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The mistake.
    pub kind: ParseErrorKind,
    /// Byte range of the mistake in the source.
    pub span: Range<usize>,
}

/// The kinds of mistakes in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// `{{` without a matching `}}`.
    Unclosed,
    /// `{{}}`, with or without blanks inside.
    EmptyName,
    /// A brace or a line break inside a name.
    InvalidName,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match self.kind {
            ParseErrorKind::Unclosed => "`{{` is never closed",
            ParseErrorKind::EmptyName => "a placeholder has no name",
            ParseErrorKind::InvalidName => "a placeholder name contains a brace or a line break",
        };
        write!(f, "{message} (at byte {})", self.span.start)
    }
}

impl std::error::Error for ParseError {}

/// Splits `source` into text and placeholders.
///
/// # Errors
///
/// Returns the first mistake in the text.
pub fn parse(source: &str) -> Result<Vec<Segment<'_>>, ParseError> {
    let mut segments = Vec::new();
    let mut rest = source;
    while let Some(brace) = rest.find(['{', '}']) {
        let (text, from) = rest.split_at(brace);
        let at = source.len() - from.len();
        if from.starts_with("{{{{") || from.starts_with("}}}}") {
            push_text(&mut segments, source, at - text.len()..at + 2);
            rest = &source[at + 4..];
        } else if let Some(inside) = from.strip_prefix("{{") {
            push_text(&mut segments, source, at - text.len()..at);
            let (segment, after) = placeholder(source, inside, at)?;
            segments.push(segment);
            rest = after;
        } else {
            let end = at + literal_braces(from);
            push_text(&mut segments, source, at - text.len()..end);
            rest = &source[end..];
        }
    }
    push_text(&mut segments, source, source.len() - rest.len()..source.len());
    Ok(segments)
}

/// Returns the number of leading braces that are literal: one, or two for an unmatched `}}`.
fn literal_braces(from: &str) -> usize {
    if from.starts_with("}}") { 2 } else { 1 }
}

fn placeholder<'a>(
    source: &'a str,
    inside: &'a str,
    at: usize,
) -> Result<(Segment<'a>, &'a str), ParseError> {
    let Some((name, after)) = inside.split_once("}}") else {
        return Err(ParseError { kind: ParseErrorKind::Unclosed, span: at..at + 2 });
    };
    let span = at..source.len() - after.len();
    let name = name.trim();
    if name.is_empty() {
        return Err(ParseError { kind: ParseErrorKind::EmptyName, span });
    }
    if name.contains(['{', '}', '\n', '\r']) {
        // A second `{{` before the `}}` means that the first one was never closed.
        let kind = if name.contains("{{") {
            ParseErrorKind::Unclosed
        } else {
            ParseErrorKind::InvalidName
        };
        let span = if kind == ParseErrorKind::Unclosed { at..at + 2 } else { span };
        return Err(ParseError { kind, span });
    }
    Ok((Segment::Placeholder { name, span }, after))
}

/// Adds text; merges it with the previous segment if both are adjacent in the source.
fn push_text<'a>(segments: &mut Vec<Segment<'a>>, source: &'a str, range: Range<usize>) {
    if range.is_empty() {
        return;
    }
    if let Some(Segment::Text(last)) = segments.last_mut() {
        let start = last.as_ptr() as usize - source.as_ptr() as usize;
        if start + last.len() == range.start {
            *last = &source[start..range.end];
            return;
        }
    }
    segments.push(Segment::Text(&source[range]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(source: &str) -> String {
        let mut out = String::new();
        for segment in parse(source).unwrap() {
            match segment {
                Segment::Text(text) => out.push_str(text),
                Segment::Placeholder { name, .. } => out.push_str(&format!("<{name}>")),
            }
        }
        out
    }

    #[test]
    fn placeholder_is_trimmed() {
        assert_eq!(rendered("a {{\tx \n}} b"), "a <x> b");
    }

    #[test]
    fn doubled_braces_are_literal() {
        assert_eq!(rendered("{{{{name}}}} is {{name}}"), "{{name}} is <name>");
    }

    #[test]
    fn single_braces_and_lone_closing_braces_are_text() {
        assert_eq!(rendered("{ {x} } }} {{x}}}"), "{ {x} } }} <x>}");
        assert_eq!(rendered("{\"a\": {\"b\": 1}}"), "{\"a\": {\"b\": 1}}");
    }

    #[test]
    fn adjacent_text_is_one_segment() {
        assert_eq!(parse("a{b}c").unwrap(), [Segment::Text("a{b}c")]);
    }

    #[test]
    fn span_covers_the_braces() {
        let segments = parse("ü {{ x }}").unwrap();
        assert_eq!(segments[1], Segment::Placeholder { name: "x", span: 3..10 });
    }

    #[test]
    fn mistakes_are_located() {
        let error = |source| parse(source).unwrap_err();
        assert_eq!(error("a {{x"), ParseError { kind: ParseErrorKind::Unclosed, span: 2..4 });
        assert_eq!(error("{{x {{y}}").kind, ParseErrorKind::Unclosed);
        assert_eq!(error("{{ }}"), ParseError { kind: ParseErrorKind::EmptyName, span: 0..5 });
        assert_eq!(error("{{a{b}}").kind, ParseErrorKind::InvalidName);
        assert_eq!(error("{{a\nb}}").kind, ParseErrorKind::InvalidName);
    }
}
