//! The `{{name}}` template grammar, shared by the macros (at compile time) and the runtime.
//!
//! ```text
//! template    = { text | escape | placeholder }
//! escape      = "{{{{"                 renders {{
//!             | "}}}}"                 renders }}, only after a matching {{{{
//! placeholder = "{{" blanks name blanks "}}"
//! name        = one or more characters without { and } and without line breaks
//! text        = anything else; a single brace and an unmatched }} are literal
//! ```
//!
//! An escape `}}}}` closes the innermost open brace, which must be a `{{{{`. Elsewhere, four closing braces are a
//! mistake, because they could be the end of compact JSON: write `}} }}` there.
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
    /// `}}}}` that does not close a `{{{{`.
    UnmatchedEscape,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match self.kind {
            ParseErrorKind::Unclosed => "`{{` is never closed",
            ParseErrorKind::EmptyName => "a placeholder has no name",
            ParseErrorKind::InvalidName => "a placeholder name contains a brace or a line break",
            ParseErrorKind::UnmatchedEscape => {
                "`}}}}` without `{{{{`; write `}} }}` for four braces"
            }
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
    let Scan { segments, errors } = scan(source);
    match errors.into_iter().next() {
        None => Ok(segments),
        Some(first) => Err(first),
    }
}

/// The result of [`scan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan<'a> {
    /// Text and placeholders. Mistakes are left out, or read as text.
    pub segments: Vec<Segment<'a>>,
    /// All mistakes, in source order.
    pub errors: Vec<ParseError>,
}

/// Splits `source` into text and placeholders, and continues after mistakes.
///
/// ```
/// use ai_services_template::scan;
///
/// let scan = scan("{{}} {{name}} {{");
/// assert_eq!(scan.errors.len(), 2);
/// assert_eq!(scan.segments.len(), 3, "a space, a placeholder and a space");
/// ```
#[must_use]
pub fn scan(source: &str) -> Scan<'_> {
    let mut scan = Scan { segments: Vec::new(), errors: Vec::new() };
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(brace) = source[at..].find(['{', '}']) {
        let start = at + brace;
        push_text(&mut scan.segments, source, at..start);
        let (printed, end) = match token(&source[start..], open.last()) {
            Token::OpenEscape => {
                open.push(Open::Escape);
                (2, start + 4)
            }
            Token::CloseEscape => {
                open.pop();
                (2, start + 4)
            }
            Token::UnmatchedEscape => {
                let kind = ParseErrorKind::UnmatchedEscape;
                scan.errors.push(ParseError { kind, span: start..start + 4 });
                close(&mut open, 4);
                (4, start + 4)
            }
            Token::Open => {
                open.push(Open::Brace);
                (1, start + 1)
            }
            Token::Close(count) => {
                close(&mut open, count);
                (count, start + count)
            }
            Token::Placeholder => (0, push_placeholder(&mut scan, source, start)),
        };
        push_text(&mut scan.segments, source, start..start + printed);
        at = end;
    }
    push_text(&mut scan.segments, source, at..source.len());
    scan
}

/// The braces at one place of the text.
enum Token {
    OpenEscape,
    CloseEscape,
    UnmatchedEscape,
    Placeholder,
    /// A single `{`.
    Open,
    /// One or two `}`.
    Close(usize),
}

/// An opening brace in the text that is not closed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// `{`.
    Brace,
    /// `{{{{`.
    Escape,
}

fn token(from: &str, innermost: Option<&Open>) -> Token {
    let closing = from.len() - from.trim_start_matches('}').len();
    match (closing, innermost) {
        (0, _) if from.starts_with("{{{{") => Token::OpenEscape,
        (0, _) if from.starts_with("{{") => Token::Placeholder,
        (0, _) => Token::Open,
        (1, _) => Token::Close(1),
        (2 | 3, _) => Token::Close(2),
        (_, Some(Open::Escape)) => Token::CloseEscape,
        // `{{{{ {x}}}}}`: the first of five braces closes the single one.
        (5.., Some(Open::Brace)) => Token::Close(1),
        _ => Token::UnmatchedEscape,
    }
}

/// Closes up to `count` single braces. A brace without an opening one is text, too.
fn close(open: &mut Vec<Open>, count: usize) {
    for _ in 0..count {
        if open.last() == Some(&Open::Brace) {
            open.pop();
        }
    }
}

/// Adds the placeholder at the `{{` at `at`, or a mistake. Returns its end.
fn push_placeholder<'a>(scan: &mut Scan<'a>, source: &'a str, at: usize) -> usize {
    match placeholder(source, at) {
        Ok((segment, end)) => {
            scan.segments.push(segment);
            end
        }
        Err(error) => {
            let end = error.span.end;
            scan.errors.push(error);
            end
        }
    }
}

/// Reads the placeholder at the `{{` at `at`. Returns it with its end.
fn placeholder(source: &str, at: usize) -> Result<(Segment<'_>, usize), ParseError> {
    let unclosed = || ParseError { kind: ParseErrorKind::Unclosed, span: at..at + 2 };
    let (name, after) = source[at + 2..].split_once("}}").ok_or_else(unclosed)?;
    let span = at..source.len() - after.len();
    let name = name.trim();
    if name.contains("{{") {
        return Err(unclosed());
    }
    if name.is_empty() {
        return Err(ParseError { kind: ParseErrorKind::EmptyName, span });
    }
    if name.contains(['{', '}', '\n', '\r']) {
        return Err(ParseError { kind: ParseErrorKind::InvalidName, span });
    }
    let end = span.end;
    Ok((Segment::Placeholder { name, span }, end))
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

    #[test]
    fn end_of_compact_json_is_not_an_escape() {
        let json = r#"{"a":{"b":{"c":{"d":1}}}}"#;
        let error = ParseError { kind: ParseErrorKind::UnmatchedEscape, span: 21..25 };
        assert_eq!(parse(json), Err(error));
        for source in ["}}}}", "{{{{ {\"a\":{\"b\":{\"c\":{}}}}", "{{x}}}}}}", "{{{{x}}}} }}}}"] {
            assert_eq!(
                parse(source).unwrap_err().kind,
                ParseErrorKind::UnmatchedEscape,
                "{source}"
            );
        }
        assert_eq!(rendered(r#"{"a":{"b":{"c":{"d":1}} }}"#), r#"{"a":{"b":{"c":{"d":1}} }}"#);
        assert_eq!(rendered("{{{{{{{{x}}}}}}}} {{{{{y}}}}}"), "{{{{x}}}} {{{y}}}");
    }

    #[test]
    fn scan_continues_after_a_mistake() {
        let Scan { segments, errors } = scan("{{}} {{x {{y}} }}}} {{a{b}} {{z}} {{");
        let kinds: Vec<_> = errors.iter().map(|error| error.kind).collect();
        assert_eq!(
            kinds,
            [
                ParseErrorKind::EmptyName,
                ParseErrorKind::Unclosed,
                ParseErrorKind::UnmatchedEscape,
                ParseErrorKind::InvalidName,
                ParseErrorKind::Unclosed,
            ]
        );
        let names = segments.iter().filter_map(|segment| match segment {
            Segment::Placeholder { name, .. } => Some(*name),
            Segment::Text(_) => None,
        });
        assert_eq!(names.collect::<Vec<_>>(), ["y", "z"]);
    }
}
