//! Mistakes in the declaration of tools.

use crate::diagnostics::Diagnostics;
use crate::keyword::Keyword;
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
