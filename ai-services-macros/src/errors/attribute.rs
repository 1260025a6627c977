//! Mistakes in an attribute itself, or in its place.

use super::list;
use crate::diagnostics::Diagnostics;
use crate::keyword::Keyword;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::Attribute;

/// An attribute that cannot be read.
pub(crate) fn malformed_attribute(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    keyword: Keyword,
    reason: Option<&str>,
) {
    let report = cx.error(at, format!("malformed `#[{}]`", keyword.name()));
    if let Some(reason) = reason {
        report.note(reason);
    }
    report.help(format!("write it as `{}`", keyword.usage()));
}

/// `key = …` with a key that the attribute does not have.
pub(crate) fn unknown_argument(
    cx: &mut Diagnostics,
    key: &Ident,
    keyword: Keyword,
    keys: &[&str],
    similar: Option<&str>,
) {
    let report = cx.error(key, format!("`#[{}]` has no argument `{key}`", keyword.name()));
    match (similar, keys) {
        (Some(similar), _) => {
            report.help(format!("an argument with a similar name exists: `{similar}`"))
        }
        (None, []) => report.help("remove it"),
        (None, keys) => report.help(format!("it takes {}", list(keys.iter().copied()))),
    };
}

/// The same key twice in one attribute.
pub(crate) fn repeated_argument(cx: &mut Diagnostics, key: &Ident, keyword: Keyword) {
    cx.error(key, format!("argument `{key}` is repeated in `#[{}]`", keyword.name()))
        .help("remove one");
}

/// A value of the wrong kind, or no value where one is needed.
pub(crate) fn wrong_argument_value(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    (key, expected): (&str, &str),
    correct: Option<String>,
) {
    let report = cx.error(at, format!("argument `{key}` takes {expected}"));
    if let Some(correct) = correct {
        report.help(format!("write `{correct}`"));
    }
}

/// An attribute that is similar to one of this crate.
pub(crate) fn unknown_attribute(cx: &mut Diagnostics, at: &Attribute, similar: Keyword) {
    let name = at.path().to_token_stream();
    cx.error(at, format!("unknown attribute `#[{name}]`"))
        .help(format!("an attribute with a similar name exists: `#[{}]`", similar.name()));
}

/// An attribute on an item where it is not allowed.
pub(crate) fn misplaced_attribute(
    cx: &mut Diagnostics,
    at: &Attribute,
    keyword: Keyword,
    place: &str,
) {
    cx.error(at, format!("`#[{}]` is not allowed on {place}", keyword.name()))
        .note(format!("it belongs on {}", keyword.place()))
        .help("remove it");
}

/// An attribute that is repeated on the same item.
pub(crate) fn repeated_attribute(cx: &mut Diagnostics, at: &Attribute, keyword: Keyword) {
    cx.error(at, format!("`#[{}]` is repeated", keyword.name())).help("remove one");
}

/// `#[ai_service]`, `#[tools]` or `#[tool]` on an item of the wrong kind.
pub(crate) fn wrong_item(cx: &mut Diagnostics, at: &dyn ToTokens, keyword: Keyword) {
    cx.error(at, format!("`#[{}]` belongs on {}", keyword.name(), keyword.place()));
}
