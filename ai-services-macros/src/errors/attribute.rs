//! Mistakes in an attribute itself, or in its place.

use super::list;
use crate::diagnostics::Diagnostics;
use crate::keyword;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::Attribute;

/// An attribute that cannot be read.
pub(crate) fn malformed_attribute(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    name: &str,
    reason: Option<&str>,
) {
    let report = cx.error(at, format!("malformed `#[{name}]`"));
    if let Some(reason) = reason {
        report.note(reason);
    }
    report.help(format!("write it as `{}`", keyword::usage(name)));
}

/// `key = …` with a key that the attribute does not have.
pub(crate) fn unknown_argument(
    cx: &mut Diagnostics,
    key: &Ident,
    name: &str,
    keys: &[&str],
    similar: Option<&str>,
) {
    let report = cx.error(key, format!("`#[{name}]` has no argument `{key}`"));
    match (similar, keys) {
        (Some(similar), _) => {
            report.help(format!("an argument with a similar name exists: `{similar}`"))
        }
        (None, []) => report.help("remove it"),
        (None, keys) => report.help(format!("it takes {}", list(keys.iter().copied()))),
    };
}

/// The same key twice in one attribute.
pub(crate) fn repeated_argument(cx: &mut Diagnostics, key: &Ident, name: &str) {
    cx.error(key, format!("argument `{key}` is repeated in `#[{name}]`")).help("remove one");
}

/// A value of the wrong kind, or no value where one is needed.
pub(crate) fn wrong_argument_value(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    key: &str,
    expected: &str,
) {
    cx.error(at, format!("argument `{key}` takes {expected}"));
}

/// An attribute on an item where it is not allowed.
pub(crate) fn misplaced_attribute(cx: &mut Diagnostics, at: &Attribute, name: &str, place: &str) {
    cx.error(at, format!("`#[{name}]` is not allowed on {place}"))
        .note(format!("it belongs on {}", keyword::allowed_place(name)))
        .help("remove it");
}

/// An attribute that is repeated on the same item.
pub(crate) fn repeated_attribute(cx: &mut Diagnostics, at: &Attribute, name: &str) {
    cx.error(at, format!("`#[{name}]` is repeated")).help("remove one");
}

/// `#[ai_service]`, `#[tools]` or `#[tool]` on an item of the wrong kind.
pub(crate) fn wrong_item(cx: &mut Diagnostics, at: &dyn ToTokens, name: &str) {
    let expected = match name {
        keyword::AI_SERVICE => "a trait",
        keyword::TOOLS => "an `impl` block",
        _ => "a function, or a method in an `impl` block with `#[tools]`",
    };
    cx.error(at, format!("`#[{name}]` belongs on {expected}"));
}
