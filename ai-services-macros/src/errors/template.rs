//! Mistakes in a template.

use super::list;
use crate::diagnostics::Diagnostics;
use crate::keyword::Keyword;
use crate::template::TemplateLocation;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::LitStr;

/// The known names that an unknown placeholder could refer to.
pub(crate) struct KnownNames<'a> {
    /// The available template variables.
    pub(crate) variables: Vec<&'a str>,
    /// The variable with the most similar name.
    pub(crate) similar: Option<&'a str>,
    /// `true` if a parameter with this name exists, but is not a template variable.
    pub(crate) not_a_variable: bool,
}

/// `{{name}}` in a template where no parameter has that name. `place` is a method, or the trait.
pub(crate) fn unknown_placeholder(
    cx: &mut Diagnostics,
    location: &TemplateLocation<'_>,
    name: &str,
    place: &str,
    known: &KnownNames<'_>,
) {
    let help = match (known.similar, known.variables.as_slice()) {
        _ if known.not_a_variable => {
            format!("add `#[v]` to parameter `{name}` to use it in a template")
        }
        _ if name.contains(['"', ':', '\'']) => {
            "single braces are text: write `{` and `}`, or `{{{{` and `}}}}` to print double braces"
                .to_owned()
        }
        (Some(similar), _) => format!("a parameter with a similar name exists: `{similar}`"),
        (None, []) => {
            format!("add a parameter `#[v] {name}`, or write `{{{{{{{{` for literal braces")
        }
        (None, names) => {
            format!("available template variables: {}", list(names.iter().copied()))
        }
    };
    let message = if known.not_a_variable {
        format!("parameter `{name}` of {place} is not a template variable")
    } else {
        format!("no parameter named `{name}` in {place}")
    };
    location.report(cx, message, name).help(help);
}

/// `{{name}}` in the template of a trait, where some methods have no parameter with that name.
pub(crate) fn unknown_inherited_placeholder(
    cx: &mut Diagnostics,
    method: &Ident,
    name: &str,
    service: &Ident,
) {
    cx.error(method, format!("no parameter named `{name}` in method `{method}`"))
        .note(format!("the `#[system_message]` of `{service}` contains `{{{{{name}}}}}` and applies to this method"))
        .help(format!("add a parameter `#[v] {name}`, or put a separate `#[system_message]` on the method"));
}

/// `{{it}}` in a method without exactly one parameter without an attribute.
pub(crate) fn it_without_single_parameter(
    cx: &mut Diagnostics,
    location: &TemplateLocation<'_>,
    place: &str,
) {
    location.report(cx, format!("`{{{{it}}}}` cannot be used in {place}"), "it").help(
        "`{{it}}` stands for the only parameter without an attribute; use the name of a parameter instead",
    );
}

/// A template without any text.
pub(crate) fn empty_template(cx: &mut Diagnostics, at: &dyn ToTokens, keyword: Keyword) {
    cx.error(at, format!("the template of `#[{}]` is empty", keyword.name()))
        .help("write the text to send, or remove the attribute");
}

/// A template that is not a string literal.
pub(crate) fn template_not_a_literal(cx: &mut Diagnostics, at: &dyn ToTokens, keyword: Keyword) {
    let report = cx.error(at, format!("`#[{}]` takes string literals", keyword.name()));
    let text = at.to_token_stream().to_string();
    let is_variable = |letter: char| letter == '_' || letter.is_ascii_lowercase();
    if text.chars().all(|letter| is_variable(letter) || letter.is_ascii_digit()) {
        report
            .note("a template refers to the parameters of the method by their names")
            .help(format!("write `{{{{{text}}}}}` in the text"));
        return;
    }
    report
        .note("templates are checked before constants and macros such as `concat!` are evaluated")
        .help(
            "write the text itself, several lines as `\"...\", \"...\"`, or use `file = \"...\"`",
        );
}

/// `file = "…"` together with text in the attribute.
pub(crate) fn template_file_with_text(cx: &mut Diagnostics, at: &dyn ToTokens, keyword: Keyword) {
    let name = keyword.name();
    cx.error(
        at,
        format!("`#[{name}]` takes its text from a file or from the attribute, not from both"),
    )
    .help("remove `file`, or everything else");
}

/// A template file that is missing or unreadable.
pub(crate) fn template_file_not_found(
    cx: &mut Diagnostics,
    at: &LitStr,
    path: &std::path::Path,
    reason: &str,
) {
    cx.error(at, format!("cannot read template file `{}`: {reason}", at.value()))
        .note(format!("looked for `{}`", path.display()))
        .help("the path is relative to the file that contains the attribute, as in `include_str!`");
}

/// `{{` without a matching `}}`.
pub(crate) fn unclosed_placeholder(cx: &mut Diagnostics, location: &TemplateLocation<'_>) {
    location
        .report(cx, "`{{` is never closed".to_owned(), "")
        .help("close it with `}}`, or write `{{{{` to print two braces");
}

/// `{{}}`.
pub(crate) fn empty_placeholder(cx: &mut Diagnostics, location: &TemplateLocation<'_>) {
    location
        .report(cx, "a placeholder has no name".to_owned(), "")
        .help("write `{{name}}`, or `{{{{` and `}}}}` to print double braces");
}

/// A brace or a line break in the name of a placeholder.
pub(crate) fn invalid_placeholder(cx: &mut Diagnostics, location: &TemplateLocation<'_>) {
    location
        .report(cx, "a placeholder name contains a brace or a line break".to_owned(), "")
        .help("write `{{name}}`; single braces are text, `{{{{` and `}}}}` print double braces");
}

/// `}}}}` that does not close a `{{{{`.
pub(crate) fn unmatched_escape(cx: &mut Diagnostics, location: &TemplateLocation<'_>) {
    location
        .report(cx, "`}}}}` has no matching `{{{{`".to_owned(), "")
        .note("`{{{{` and `}}}}` print double braces, so two of these four would be lost")
        .help("for the end of JSON, separate the braces: `}} }}`");
}
