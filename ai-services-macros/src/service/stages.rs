//! The attributes `#[tools]` and `#[retrieval]` of a method, which switch parts of a call off.

use super::model::{MethodToolChoice, MethodTools, Retrieval};
use crate::arguments::{self, Arguments};
use crate::attribute::Helper;
use crate::diagnostics::Diagnostics;
use crate::keyword::{self, Keyword};
use crate::{errors, suggest, tool_name};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::LitStr;

/// Returns the tools of `#[tools("name", …, choice = …)]` or `#[tools(none)]`.
pub(crate) fn tools(cx: &mut Diagnostics, (keyword, attribute): Helper<'_>) -> MethodTools {
    let arguments = Arguments::of(cx, attribute, keyword, &[keyword::NONE, keyword::CHOICE]);
    let has_none = arguments.flag(cx, keyword::NONE);
    let names = names(cx, &arguments, keyword);
    let choice = choice(cx, &arguments, (keyword, &names));
    let chosen = arguments.key(keyword::CHOICE);
    let selects_nothing = !has_none && arguments.values.is_empty();
    if has_none && !names.is_empty() {
        errors::tools_and_none(cx, attribute);
    } else if let (true, Some(key)) = (has_none, chosen) {
        errors::choice_and_none(cx, key);
    } else if selects_nothing && chosen.is_none() && !arguments.broken {
        errors::empty_tools(cx, attribute);
    }
    let uses_all = selects_nothing && chosen.is_some();
    MethodTools { names: (!uses_all).then_some(names), choice }
}

fn names(cx: &mut Diagnostics, arguments: &Arguments, keyword: Keyword) -> Vec<LitStr> {
    let mut names: Vec<LitStr> = Vec::new();
    for value in &arguments.values {
        let Some(name) = arguments::string(value) else {
            let reason = arguments::missing_quotes(value);
            errors::malformed_attribute(cx, value, keyword, reason.as_deref());
            continue;
        };
        let text = name.value();
        if !tool_name::is_valid(&text) {
            errors::invalid_tool_name(cx, name, &text, keyword);
        } else if names.iter().any(|other| other.value() == text) {
            errors::repeated_tool(cx, name, &text);
        }
        names.push(name.clone());
    }
    names
}

/// Returns the value of `choice = auto`, `choice = required` or `choice = "name"`.
fn choice(
    cx: &mut Diagnostics,
    arguments: &Arguments,
    (keyword, names): (Keyword, &[LitStr]),
) -> MethodToolChoice {
    if arguments.key(keyword::CHOICE).is_none() {
        return MethodToolChoice::Inherited;
    }
    let Some(value) = arguments.expression(cx, keyword::CHOICE) else {
        return MethodToolChoice::Inherited;
    };
    let word = arguments.unquoted(keyword::CHOICE).map(Ident::to_string);
    match (word.as_deref(), arguments::string(&value)) {
        (Some(keyword::AUTO), _) => return MethodToolChoice::Auto,
        (Some(keyword::REQUIRED), _) => return MethodToolChoice::Required,
        (_, Some(name)) => return chosen_tool(cx, name, (keyword, names)),
        (word, None) => errors::invalid_tool_choice(cx, &value, word),
    }
    MethodToolChoice::Inherited
}

fn chosen_tool(
    cx: &mut Diagnostics,
    name: &LitStr,
    (keyword, names): (Keyword, &[LitStr]),
) -> MethodToolChoice {
    let text = name.value();
    let listed: Vec<String> = names.iter().map(LitStr::value).collect();
    let is_listed = listed.contains(&text);
    if !tool_name::is_valid(&text) {
        errors::invalid_tool_name(cx, name, &text, keyword);
    } else if !is_listed && [keyword::AUTO, keyword::REQUIRED].contains(&text.as_str()) {
        errors::quoted_tool_choice(cx, name, &text);
    } else if !is_listed && !listed.is_empty() {
        let similar = suggest::nearest(&text, listed.iter().map(String::as_str));
        errors::choice_of_other_tool(cx, name, &text, similar);
    }
    MethodToolChoice::Tool(name.clone())
}

/// Returns the retrieval of `#[retrieval(none)]`.
pub(crate) fn retrieval(cx: &mut Diagnostics, (keyword, attribute): Helper<'_>) -> Retrieval {
    let arguments = Arguments::of(cx, attribute, keyword, &[keyword::NONE]);
    let has_none = arguments.flag(cx, keyword::NONE);
    let is_complete = has_none && arguments.values.is_empty();
    if !is_complete && !arguments.broken {
        errors::malformed_attribute(cx, attribute, keyword, None);
    }
    Retrieval::None
}

// Output:
//     DeclaredTools::All
// or
//     DeclaredTools::Only(&["search"])
pub(crate) fn declared(tools: &MethodTools) -> TokenStream {
    match &tools.names {
        None => quote!(__rt::DeclaredTools::All),
        Some(names) => quote!(__rt::DeclaredTools::Only(&[#(#names),*])),
    }
}

// Output:
//     DeclaredToolChoice::Inherited
// or
//     DeclaredToolChoice::Tool("search")
pub(crate) fn declared_choice(tools: &MethodTools) -> TokenStream {
    match &tools.choice {
        MethodToolChoice::Inherited => quote!(__rt::DeclaredToolChoice::Inherited),
        MethodToolChoice::Auto => quote!(__rt::DeclaredToolChoice::Auto),
        MethodToolChoice::Required => quote!(__rt::DeclaredToolChoice::Required),
        MethodToolChoice::Tool(name) => quote!(__rt::DeclaredToolChoice::Tool(#name)),
    }
}
