//! Mistakes in the declaration of an AI service.

use super::list;
use crate::diagnostics::{Diagnostics, Report};
use crate::keyword::Keyword;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::Attribute;
use syn::ext::IdentExt as _;

/// A trait with type, lifetime or constant parameters.
pub(crate) fn generic_trait(cx: &mut Diagnostics, at: &dyn ToTokens, service: &Ident) {
    cx.error(at, format!("AI service `{service}` must not have generic parameters"))
        .note("an AI service can be used as a trait object, and its prompts and schemas are fixed at compile time")
        .help("declare one trait for each type");
}

/// An associated type, an associated constant or a macro call in the trait.
pub(crate) fn unsupported_trait_item(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    item: &str,
    service: &Ident,
) {
    cx.error(at, format!("AI service `{service}` must not have {item}"))
        .help("move it to another trait; an AI service consists of methods");
}

/// `unsafe`, `auto`, `const` or `extern` on the trait or a method.
pub(crate) fn unsupported_modifier(cx: &mut Diagnostics, at: &dyn ToTokens, name: &Ident) {
    cx.error(at, format!("`{name}` must not be {}", at.to_token_stream())).help("remove it");
}

/// A method with type, lifetime or constant parameters, or a `where` clause.
pub(crate) fn generic_method(cx: &mut Diagnostics, at: &dyn ToTokens, method: &Ident) {
    cx.error(at, format!("method `{method}` must not have generic parameters or a `where` clause"))
        .help("use concrete types, and leave out lifetimes");
}

/// A method without a receiver, or with one that is not `&self`.
pub(crate) fn method_without_self(cx: &mut Diagnostics, at: &dyn ToTokens, method: &Ident) {
    cx.error(at, format!("method `{method}` must take `&self`"))
        .note("one service is shared by all of its calls");
}

/// An `async` method without a return type.
pub(crate) fn missing_return_type(cx: &mut Diagnostics, at: &dyn ToTokens, method: &Ident) {
    cx.error(at, format!("method `{method}` must return a `Result`"))
        .note("every call can fail: the model, a tool, or the output parser may return an error")
        .help("add `-> ai_services::Result<String>`, or `-> ai_services::Result<()>` to ignore the answer");
}

/// A method that is not `async` and has neither a body nor a return type.
pub(crate) fn method_without_stream(cx: &mut Diagnostics, at: &dyn ToTokens, method: &Ident) {
    cx.error(at, format!("method `{method}` must be `async` or return an `AnswerStream`"))
        .note("each call of an AI service waits for a model")
        .help("write `async fn`, add `-> ai_services::AnswerStream`, or give the method a body to leave it out of the AI service");
}

/// A parameter that is a pattern, `&mut` or `impl Trait`, or has references that a tool cannot lend.
pub(crate) fn unsupported_parameter(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    form: &str,
    method: &Ident,
) {
    let help = match form {
        "a pattern" => "give the parameter a name",
        "`impl Trait`" => "use a concrete type",
        "a reference with a named lifetime" => "leave out the lifetime, or use an owned type",
        "a type with several references" => "use `Vec<&T>`, `Option<&T>`, or an owned type",
        _ => "use `&`, or a type without a reference",
    };
    cx.error(at, format!("a parameter of `{method}` must not be {form}")).help(help);
}

/// `#[memory_id]` on a second parameter.
pub(crate) fn duplicate_memory_id(
    cx: &mut Diagnostics,
    at: &Attribute,
    method: &Ident,
    first: &Ident,
) {
    cx.error(at, format!("method `{method}` has more than one `#[memory_id]` parameter"))
        .note(format!("the first one is `{first}`"))
        .help("a call belongs to exactly one chat memory; combine the two into one key type");
}

/// `#[user_name]`, `#[parameters]` or `#[context]` on a second parameter.
pub(crate) fn duplicate_role(
    cx: &mut Diagnostics,
    at: &Attribute,
    keyword: Keyword,
    method: &Ident,
    first: &Ident,
) {
    let name = keyword.name();
    cx.error(at, format!("method `{method}` has more than one `#[{name}]` parameter"))
        .note(format!("the first one is `{first}`"));
}

/// Two roles on one parameter, neither of them `#[v]`.
pub(crate) fn conflicting_roles(
    cx: &mut Diagnostics,
    at: &Attribute,
    parameter: &Ident,
    roles: (Keyword, Keyword),
) {
    let (first, second) = (roles.0.name(), roles.1.name());
    cx.error(at, format!("parameter `{parameter}` cannot be both `#[{first}]` and `#[{second}]`"))
        .help("remove one, or use two parameters");
}

/// `#[input_guardrails]` or `#[output_guardrails]` without a guardrail.
pub(crate) fn empty_guardrails(cx: &mut Diagnostics, at: &Attribute, keyword: Keyword) {
    cx.error(at, format!("`#[{}]` has no guardrail", keyword.name()))
        .help(format!("write it as `{}`, or remove it", keyword.usage()));
}

/// A `max_retries` that is not a whole number, 0 or more.
pub(crate) fn invalid_max_retries(cx: &mut Diagnostics, at: &dyn ToTokens) {
    cx.error(at, "argument `max_retries` takes a whole number, 0 or more".to_owned())
        .note("it is the maximum number of additional model calls after the first answer")
        .help("write the number itself, for example `max_retries = 2`");
}

/// `#[budget]` without a limit.
pub(crate) fn empty_budget(cx: &mut Diagnostics, at: &Attribute) {
    cx.error(at, "`#[budget]` has no limit".to_owned())
        .help(format!("write it as `{}`, or remove it", Keyword::Budget.usage()));
}

/// A limit in `#[budget]` that is zero, negative, or something other than a literal.
pub(crate) fn invalid_limit(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    (key, expected): (&str, &str),
) {
    cx.error(at, format!("argument `{key}` takes {expected}"))
        .help("write the value itself; `AiServiceBuilder::budget` takes computed values");
}

/// `#[tools]` on a method, without a name and without `none`.
pub(crate) fn empty_tools(cx: &mut Diagnostics, at: &Attribute) {
    cx.error(at, "`#[tools]` names no tool".to_owned())
        .note("without the attribute, a method uses all tools of the AI service")
        .help("write it as `#[tools(\"name\", ...)]` or `#[tools(none)]`, or remove it");
}

/// `#[tools]` with tool names and `none`.
pub(crate) fn tools_and_none(cx: &mut Diagnostics, at: &Attribute) {
    cx.error(at, "`#[tools]` must not have both tool names and `none`".to_owned())
        .help("remove `none`, or the names");
}

/// `#[tools(none)]` with a tool choice.
pub(crate) fn choice_and_none(cx: &mut Diagnostics, at: &Ident) {
    cx.error(at, "`#[tools]` must not have both `choice` and `none`".to_owned())
        .note("a method without tools has nothing to choose")
        .help("remove one");
}

/// A tool choice that is neither a word of the attribute nor the name of a tool.
pub(crate) fn invalid_tool_choice(cx: &mut Diagnostics, at: &dyn ToTokens, word: Option<&str>) {
    let report =
        cx.error(at, "argument `choice` takes `auto`, `required` or the name of a tool".to_owned());
    match word {
        Some("none") => report.help("write `#[tools(none)]` for a method without tools"),
        Some(word) => report.help(format!("write the name as a string literal: `\"{word}\"`")),
        None => report.help("write it as `choice = required` or `choice = \"name\"`"),
    };
}

/// `choice = "required"`: a word of the attribute in quotes.
pub(crate) fn quoted_tool_choice(cx: &mut Diagnostics, at: &dyn ToTokens, word: &str) {
    cx.error(at, format!("`{word}` in quotes is the name of a tool"))
        .help(format!("write `choice = {word}`, or add `\"{word}\"` to the tools of the method"));
}

/// A tool choice that names a tool which the method does not use.
pub(crate) fn choice_of_other_tool(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    name: &str,
    similar: Option<&str>,
) {
    let report = cx.error(at, format!("the method does not use the tool `{name}`"));
    match similar {
        Some(similar) => report.help(format!("a tool with a similar name exists: `{similar}`")),
        None => report.help(format!("add `\"{name}\"` to the tools of the method")),
    };
}

/// A tool name that is repeated in `#[tools]`.
pub(crate) fn repeated_tool(cx: &mut Diagnostics, at: &dyn ToTokens, name: &str) {
    cx.error(at, format!("tool `{name}` is repeated in `#[tools]`")).help("remove one");
}

/// More than one text in the user message. Whether a parameter is text depends on its type, so rustc
/// evaluates the condition and this function only returns the message.
pub(crate) fn two_user_messages(method: &Ident, second: &Ident, first: Option<&Ident>) -> String {
    let first = match first {
        Some(first) => format!("parameter `{first}`"),
        None => "the template on the method".to_owned(),
    };
    format!(
        "method `{method}` has more than one text in its user message\n\
         note: the first one is {first}, the second one parameter `{second}`\n\
         help: mark `{second}` with `#[v]` and use it in the template of the method"
    )
}

/// A method without a user message.
pub(crate) fn missing_user_message(cx: &mut Diagnostics, method: &Ident) {
    cx.error(method, format!("method `{method}` has no user message")).help(
        "put `#[user_message(\"...\")]` on the method, or mark one parameter with `#[user_message]`",
    );
}

/// A parameter without a role.
pub(crate) fn parameter_without_role(
    cx: &mut Diagnostics,
    at: &Ident,
    method: &Ident,
    uses: PossibleUses,
) {
    let (note, names) = if uses.only {
        ("the method has another user message, and no template uses this parameter", "`{{it}}` or ")
    } else {
        (
            "with more than one parameter, each must be a template variable or have a role attribute",
            "",
        )
    };
    let report = cx.error(at, format!("parameter `{at}` of method `{method}` has no role"));
    if uses.in_single_braces {
        single_braces(report, &at.unraw().to_string());
        return;
    }
    report.note(note).help(format!(
        "use it in a template as {names}`{{{{{at}}}}}`, or mark it with one of {}",
        "`#[user_message]`, `#[memory_id]`, `#[user_name]`, `#[parameters]`, `#[context]`"
    ));
}

/// The uses that were probably meant for an unused parameter.
#[derive(Clone, Copy)]
pub(crate) struct PossibleUses {
    /// `true` if it is the only parameter without an attribute, which `{{it}}` stands for.
    pub(crate) only: bool,
    /// `true` if a template contains `{name}`.
    pub(crate) in_single_braces: bool,
}

fn single_braces(report: &mut Report, name: &str) {
    report
        .note(format!("a template contains `{{{name}}}`, which is text"))
        .help(format!("write `{{{{{name}}}}}`"));
}

/// Two template variables with the same name.
pub(crate) fn duplicate_variable(
    cx: &mut Diagnostics,
    at: &dyn ToTokens,
    name: &str,
    first: &Ident,
) {
    cx.error(at, format!("template variable `{name}` is defined twice"))
        .note(format!("the first one is parameter `{first}`"));
}

/// A template variable with the name of a built-in variable.
pub(crate) fn shadowed_builtin(cx: &mut Diagnostics, at: &dyn ToTokens, name: &str) {
    cx.error(at, format!("template variable `{name}` shadows a built-in variable"))
        .note(format!(
            "{} need no parameter",
            list(crate::template::BUILTINS.map(|(name, _)| name))
        ))
        .help("choose another name with `#[v(\"...\")]`, or remove the parameter");
}

/// `#[v("…")]` with a name that no template can contain.
pub(crate) fn invalid_variable_name(cx: &mut Diagnostics, at: &dyn ToTokens) {
    cx.error(at, "invalid name of a template variable".to_owned()).note(
        "a name has at least one character, no braces, no line breaks, and no white space around it",
    );
}

/// A `#[v]` parameter that no template uses.
pub(crate) fn unused_variable(
    cx: &mut Diagnostics,
    at: &Attribute,
    name: &str,
    method: &Ident,
    uses: PossibleUses,
) {
    let report = cx.error(at, format!("template variable `{name}` is never used"));
    if uses.in_single_braces {
        single_braces(report, name);
        return;
    }
    report
        .note(format!("no template of method `{method}` contains `{{{{{name}}}}}`"))
        .help("use it in a template, or remove the parameter");
}

/// A method that returns `impl Trait`.
pub(crate) fn opaque_return_type(cx: &mut Diagnostics, at: &dyn ToTokens, method: &Ident) {
    cx.error(at, format!("method `{method}` must not return `impl Trait`"))
        .note("an AI service can be used as a trait object")
        .help(
            "write `async fn` and the type of the answer, or return an `ai_services::AnswerStream`",
        );
}

/// A method whose return type contains a reference.
pub(crate) fn borrowed_return_type(cx: &mut Diagnostics, at: &dyn ToTokens, method: &Ident) {
    cx.error(at, format!("the answer of method `{method}` cannot be a reference"))
        .note("the answer is created by the call, so there is nothing to borrow it from")
        .help("return an owned type, for example `String`");
}

/// A trait that `#[async_trait]` has already changed.
pub(crate) fn async_trait_above(cx: &mut Diagnostics, service: &Ident) {
    cx.error(service, format!("AI service `{service}` must not have `#[async_trait]`"))
        .note("`#[ai_service]` makes the trait usable as a trait object itself")
        .help("remove `#[async_trait]`");
}
