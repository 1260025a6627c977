//! Mistakes in the declaration of tools.

use super::{KnownNames, list};
use crate::diagnostics::Diagnostics;
use crate::keyword::Keyword;
use crate::template::TemplateLocation;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::LitStr;

/// A tool name that an earlier tool of the block already has.
pub(crate) fn duplicate_tool_name(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    name: &str,
    first: &Ident,
) {
    cx.error(at, format!("tool name `{name}` is already taken"))
        .note(format!("method `{first}` in this block has the same tool name"))
        .help("tool names must be unique within one AI service; set another with `#[tool(name = \"...\")]`");
}

/// A tool name that models do not accept.
pub(crate) fn invalid_tool_name(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    name: &str,
    keyword: Keyword,
) {
    let report = cx.error(at, format!("invalid tool name `{name}`"));
    report.note("models accept 1 to 64 letters, digits, `_` and `-`");
    if keyword == Keyword::Tool {
        report.help("set another with `#[tool(name = \"...\")]`");
    }
}

/// A tool without a doc comment and without `description`.
pub(crate) fn missing_tool_description(cx: &mut Diagnostics, tool: &Ident) {
    cx.error(tool, format!("tool `{tool}` has no description"))
        .note("the model uses the description to decide when to call the tool")
        .help("add a doc comment, or `#[tool(description = \"...\")]`");
}

/// A `#[tools]` block in which no method is a tool.
pub(crate) fn tools_without_tool(cx: &mut Diagnostics, at: &dyn ToTokens) {
    cx.error(at, "this `#[tools]` block has no tool".to_owned())
        .help("mark the methods that the model may call with `#[tool]`");
}

/// A tool with a receiver that is not `&self`.
pub(crate) fn unsupported_receiver(cx: &mut Diagnostics, at: &dyn ToTokens, tool: &Ident) {
    cx.error(at, format!("tool `{tool}` must take `&self`"))
        .note("tools are shared, and may be called several times concurrently")
        .help("put mutable state into a lock or an atomic");
}

/// A tool with type, lifetime or constant parameters.
pub(crate) fn generic_tool(cx: &mut Diagnostics, at: &dyn ToTokens, tool: &Ident) {
    cx.error(at, format!("tool `{tool}` must not have generic parameters or a `where` clause"))
        .note("the schema of its arguments is fixed at compile time")
        .help("use concrete types, and leave out lifetimes");
}

/// A `timeout` that is not a number with a unit.
pub(crate) fn invalid_timeout(cx: &mut Diagnostics, at: &LitStr) {
    cx.error(at, format!("invalid timeout `{}`", at.value())).help(
        "write a positive whole number and a unit, for example `\"500ms\"`, `\"30s\"` or `\"2m\"`",
    );
}

/// `#[p]` on a parameter that the model does not fill.
pub(crate) fn described_injected_parameter(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    parameter: &Ident,
    role: Keyword,
) {
    let role = role.name();
    cx.error(at, format!("`#[p]` is not allowed on injected parameter `{parameter}`"))
        .note(format!(
            "`#[{role}]` takes the value from the call; the model does not see the parameter"
        ))
        .help("remove it");
}

/// `#[tool]` on a method of an `impl` block without `#[tools]`.
pub(crate) fn tool_outside_tools(cx: &mut Diagnostics, tool: &Ident) {
    cx.error(tool, format!("tool `{tool}` is a method outside of a `#[tools]` block"))
        .help("add `#[tools]` to the `impl` block; inside, write `#[tool]` without a path");
}

/// More than one of `read_only`, `idempotent` and `verify`.
pub(crate) fn conflicting_effects(
    cx: &mut Diagnostics,
    second: &Ident,
    tool: &Ident,
    first: &Ident,
) {
    cx.error(second, format!("tool `{tool}` cannot be both `{first}` and `{second}`"))
        .note("the effect class decides if a call is repeated after a crash")
        .help("remove one");
}

/// `key` on a tool with `read_only`.
pub(crate) fn key_of_read_only_tool(cx: &mut Diagnostics, at: &Ident, tool: &Ident) {
    cx.error(at, format!("tool `{tool}` is read-only, but has a key"))
        .note("a call without an effect is repeated without an idempotency key")
        .help("remove `key`, or `read_only` if the tool has an effect");
}

/// A `key` without a placeholder.
pub(crate) fn constant_key(
    cx: &mut Diagnostics,
    at: &LitStr,
    tool: &Ident,
    parameter: Option<&str>,
) {
    let report = cx.error(at, format!("all calls of tool `{tool}` would share this key"));
    report.note("a receiver executes the first call with an idempotency key, and ignores others");
    match parameter {
        Some(name) => report.help(format!("add a parameter of the tool, such as `{{{{{name}}}}}`")),
        None => report.help("remove it: each call then has a key of its own"),
    };
}

/// `{{name}}` in a `key`, where the model fills in no parameter with that name.
pub(crate) fn unknown_key_parameter(
    cx: &mut Diagnostics,
    location: &TemplateLocation<'_>,
    name: &str,
    tool: &Ident,
    known: &KnownNames<'_>,
) {
    let message = if known.not_a_variable {
        format!("parameter `{name}` of tool `{tool}` cannot be part of its key")
    } else {
        format!("no parameter named `{name}` in tool `{tool}`")
    };
    let help = match (known.similar, known.variables.as_slice()) {
        (Some(similar), _) if !known.not_a_variable => {
            format!("a parameter with a similar name exists: `{similar}`")
        }
        (_, []) => "remove `key`: each call then has a key of its own".to_owned(),
        (_, names) => {
            format!("parameters that the model fills in: {}", list(names.iter().copied()))
        }
    };
    let report = location.report(cx, message, name);
    report.help(help);
}
