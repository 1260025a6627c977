//! The attributes `#[tools]` and `#[retrieval]` of a method, which switch parts of a call off.

use super::model::{MethodTools, Retrieval};
use crate::arguments::{self, Arguments};
use crate::attribute::Helper;
use crate::diagnostics::Diagnostics;
use crate::{errors, keyword, tool_name};
use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

/// Returns the tools of `#[tools("name", …)]` or `#[tools(none)]`.
pub(crate) fn tools(cx: &mut Diagnostics, (keyword, attribute): Helper<'_>) -> MethodTools {
    let arguments = Arguments::of(cx, attribute, keyword, &[keyword::NONE]);
    let has_none = arguments.flag(cx, keyword::NONE);
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
    if has_none && !names.is_empty() {
        errors::tools_and_none(cx, attribute);
    } else if !has_none && arguments.values.is_empty() && !arguments.broken {
        errors::empty_tools(cx, attribute);
    }
    MethodTools::Only(names)
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
    match tools {
        MethodTools::All => quote!(__rt::DeclaredTools::All),
        MethodTools::Only(names) => quote!(__rt::DeclaredTools::Only(&[#(#names),*])),
    }
}
