//! Reads the text of a template: literals in the attribute, or a file relative to the `.rs` file.

use super::{Origin, Segment, Template, TemplateLocation};
use crate::arguments::{Arguments, string};
use crate::attribute::Helper;
use crate::diagnostics::Diagnostics;
use crate::{errors, keyword};
use ai_services_template::{ParseErrorKind, Scan, Segment as Parsed};
use std::io::ErrorKind;
use std::path::PathBuf;
use syn::LitStr;

/// Reads `#[name("…", "…", delimiter = "…")]` or `#[name(file = "…")]`.
pub(crate) fn parse(cx: &mut Diagnostics, (keyword, attribute): Helper<'_>) -> Template {
    let arguments = Arguments::of(cx, attribute, keyword, &[keyword::FILE, keyword::DELIMITER]);
    let template = match arguments.key(keyword::FILE) {
        Some(_) => from_file(cx, (keyword, attribute), &arguments),
        None => inline(cx, (keyword, attribute), &arguments),
    };
    let mut template = template.unwrap_or_else(Template::unreadable);
    if template.is_complete {
        read_segments(cx, &mut template);
    }
    template
}

/// Reads the template in a single literal.
pub(crate) fn parse_literal(cx: &mut Diagnostics, literal: LitStr) -> Template {
    let mut template = Template::readable(Origin::Inline);
    template.text = literal.value();
    template.literals.push((0, literal));
    read_segments(cx, &mut template);
    template
}

fn inline(
    cx: &mut Diagnostics,
    (keyword, attribute): Helper<'_>,
    arguments: &Arguments,
) -> Option<Template> {
    let delimiter = arguments.string(cx, keyword::DELIMITER);
    let delimiter = delimiter.map_or_else(|| "\n".to_owned(), |literal| literal.value());
    let mut template = Template::readable(Origin::Inline);
    let mut complete = !arguments.broken;
    for value in &arguments.values {
        let Some(literal) = string(value) else {
            errors::template_not_a_literal(cx, value, keyword);
            complete = false;
            continue;
        };
        if !template.literals.is_empty() {
            template.text.push_str(&delimiter);
        }
        template.literals.push((template.text.len(), literal.clone()));
        template.text.push_str(&literal.value());
    }
    if complete && template.text.trim().is_empty() {
        errors::empty_template(cx, attribute, keyword);
        complete = false;
    }
    complete.then_some(template)
}

fn from_file(
    cx: &mut Diagnostics,
    (keyword, attribute): Helper<'_>,
    arguments: &Arguments,
) -> Option<Template> {
    let literal = arguments.string(cx, keyword::FILE)?;
    if !arguments.values.is_empty() || arguments.key(keyword::DELIMITER).is_some() {
        errors::template_file_with_text(cx, attribute, keyword);
        return None;
    }
    let mut template = Template::readable(Origin::File);
    template.literals.push((0, literal.clone()));
    let Some(path) = path_of_file(&literal) else {
        // An editor that does not provide the path of the source file. rustc does, and checks the text.
        template.is_complete = false;
        return Some(template);
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => template.text = normalized(&text),
        Err(error) => {
            let reason = match error.kind() {
                ErrorKind::NotFound => "no such file".to_owned(),
                _ => error.to_string(),
            };
            errors::template_file_not_found(cx, &literal, &path, &reason);
            template.origin = Origin::MissingFile;
            template.is_complete = false;
            return Some(template);
        }
    }
    if template.text.trim().is_empty() {
        errors::empty_template(cx, &literal, keyword);
        template.is_complete = false;
    }
    Some(template)
}

/// Returns the path of the template file, relative to the source file that contains the literal.
fn path_of_file(literal: &LitStr) -> Option<PathBuf> {
    if !proc_macro::is_available() {
        return None;
    }
    let file = literal.span().unwrap().local_file()?;
    Some(file.parent()?.join(literal.value()))
}

/// Returns the text without traces of the editor: the byte order mark, `\r` in line breaks, and the last line
/// break.
fn normalized(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    text.strip_suffix('\n').map(str::to_owned).unwrap_or(text)
}

/// Reads the segments and reports all mistakes.
fn read_segments(cx: &mut Diagnostics, template: &mut Template) {
    let Scan { segments, errors } = ai_services_template::scan(&template.text);
    for error in &errors {
        let location = TemplateLocation::new(template, error.span.clone());
        match error.kind {
            ParseErrorKind::Unclosed => errors::unclosed_placeholder(cx, &location),
            ParseErrorKind::EmptyName => errors::empty_placeholder(cx, &location),
            ParseErrorKind::UnmatchedEscape => errors::unmatched_escape(cx, &location),
            _ => errors::invalid_placeholder(cx, &location),
        }
    }
    let length = template.text.len();
    let invalid = errors.iter().filter_map(|error| match error.kind {
        ParseErrorKind::UnmatchedEscape => None,
        ParseErrorKind::Unclosed => Some(error.span.start..length),
        _ => Some(error.span.clone()),
    });
    template.invalid = invalid.collect();
    template.segments = segments.into_iter().map(Segment::from).collect();
    template.is_complete = errors.is_empty();
}

impl From<Parsed<'_>> for Segment {
    fn from(parsed: Parsed<'_>) -> Self {
        match parsed {
            Parsed::Text(text) => Self::Text(text.to_owned()),
            Parsed::Placeholder { name, span } => Self::Placeholder { name: name.to_owned(), span },
        }
    }
}

impl Template {
    fn readable(origin: Origin) -> Self {
        Self {
            literals: Vec::new(),
            origin,
            text: String::new(),
            segments: Vec::new(),
            is_complete: true,
            invalid: Vec::new(),
        }
    }

    fn unreadable() -> Self {
        Self { is_complete: false, ..Self::readable(Origin::Inline) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_file_is_sent_without_traces_of_the_editor() {
        assert_eq!(normalized("\u{feff}Be brief.\r\n\r\nBe kind.\r\n"), "Be brief.\n\nBe kind.");
        assert_eq!(normalized("a\n\n"), "a\n");
        assert_eq!(normalized("a\rb\u{feff}"), "a\rb\u{feff}");
    }
}
