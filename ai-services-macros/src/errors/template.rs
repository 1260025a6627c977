//! Mistakes in a template.

use super::list;
use crate::diagnostics::Diagnostics;
use crate::template::Spot;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::LitStr;

/// What an unknown placeholder could have been.
pub(crate) struct Known<'a> {
    /// The template variables there are.
    pub(crate) variables: Vec<&'a str>,
    /// The variable whose name is nearly the placeholder.
    pub(crate) similar: Option<&'a str>,
    /// The parameter of that name exists, but is not a template variable.
    pub(crate) not_a_variable: bool,
}

/// `{{name}}` in a template where no parameter has that name. `place` is a method, or the trait.
pub(crate) fn unknown_placeholder(
    cx: &mut Diagnostics,
    spot: &Spot<'_>,
    name: &str,
    place: &str,
    known: &Known<'_>,
) {
    let help = match (known.similar, known.variables.as_slice()) {
        _ if known.not_a_variable => {
            format!("add `#[v]` to parameter `{name}` to use it in a template")
        }
        (Some(similar), _) => format!("a parameter with a similar name exists: `{similar}`"),
        (None, []) => {
            format!("add a parameter `#[v] {name}`, or write `{{{{{{{{` for literal braces")
        }
        (None, names) => {
            format!("there are these template variables: {}", list(names.iter().copied()))
        }
    };
    let message = match known.not_a_variable {
        true => format!("parameter `{name}` of {place} is not a template variable"),
        false => format!("no parameter named `{name}` in {place}"),
    };
    spot.report(cx, message, name).help(help);
}

/// `{{name}}` in the template of a trait that some method cannot fill.
pub(crate) fn unknown_inherited_placeholder(
    cx: &mut Diagnostics,
    method: &Ident,
    name: &str,
    service: &Ident,
) {
    cx.error(method, format!("no parameter named `{name}` in method `{method}`"))
        .note(format!("the `#[system_message]` of `{service}` contains `{{{{{name}}}}}` and applies to this method"))
        .help(format!("add a parameter `#[v] {name}`, or give the method a `#[system_message]` of its own"));
}

/// `{{it}}` where it is not clear which parameter is meant.
pub(crate) fn it_without_single_parameter(cx: &mut Diagnostics, spot: &Spot<'_>, place: &str) {
    spot.report(cx, format!("`{{{{it}}}}` has no meaning in {place}"), "it").help(
        "`{{it}}` is the only parameter without an attribute; here, use the name of a parameter",
    );
}

/// A template without any text.
pub(crate) fn empty_template(cx: &mut Diagnostics, at: &dyn ToTokens, name: &str) {
    cx.error(at, format!("the template of `#[{name}]` is empty"))
        .help("write the text to send, or remove the attribute");
}

/// A template that is not a string literal.
pub(crate) fn template_not_a_literal(cx: &mut Diagnostics, at: &dyn ToTokens, name: &str) {
    cx.error(at, format!("`#[{name}]` takes string literals"))
        .note("templates are checked before constants and macros such as `concat!` have a value")
        .help(
            "write the text itself, several lines as `\"...\", \"...\"`, or use `file = \"...\"`",
        );
}

/// `file = "…"` together with text in the attribute.
pub(crate) fn template_file_with_text(cx: &mut Diagnostics, at: &dyn ToTokens, name: &str) {
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

/// `{{` that no `}}` closes.
pub(crate) fn unclosed_placeholder(cx: &mut Diagnostics, spot: &Spot<'_>) {
    spot.report(cx, "`{{` is never closed".to_owned(), "")
        .help("close it with `}}`, or write `{{{{` to print two braces");
}

/// `{{}}`.
pub(crate) fn empty_placeholder(cx: &mut Diagnostics, spot: &Spot<'_>) {
    spot.report(cx, "a placeholder has no name".to_owned(), "")
        .help("write `{{name}}`, or `{{{{` and `}}}}` to print braces");
}

/// A brace or a line break in the name of a placeholder.
pub(crate) fn invalid_placeholder(cx: &mut Diagnostics, spot: &Spot<'_>) {
    spot.report(cx, "the name of a placeholder has a brace or a line break in it".to_owned(), "")
        .help("write `{{name}}`, or `{{{{` and `}}}}` to print braces");
}
