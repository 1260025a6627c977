//! Reads tools, one attribute at a time. Rules for several attributes are in `check`.

use super::description;
use super::model::{Function, Parameter, Tool, ToolSet};
use crate::arguments::{Arguments, string};
use crate::attribute::{self, Helper};
use crate::diagnostics::Diagnostics;
use crate::doc::{self, Description};
use crate::runtime_path::RuntimePath;
use crate::service::supported;
use crate::{errors, keyword};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::{Attribute, FnArg, ImplItem, ItemFn, ItemImpl, LitStr, PatType, Signature};

/// Arguments of `#[tool]` inside a `#[tools]` block.
const KEYS: [&str; 5] = [
    keyword::NAME,
    keyword::DESCRIPTION,
    keyword::TIMEOUT,
    keyword::SEQUENTIAL,
    keyword::RETURN_IMMEDIATELY,
];

/// Attributes that are allowed on a parameter.
const ON_PARAMETER: [&str; 3] = [keyword::P, keyword::MEMORY_ID, keyword::CONTEXT];

pub(crate) fn set<'a>(
    cx: &mut Diagnostics,
    arguments: TokenStream,
    item: &'a ItemImpl,
) -> ToolSet<'a> {
    let arguments = Arguments::parse(cx, arguments, keyword::TOOLS, &[keyword::CRATE]);
    arguments.no_values(cx, keyword::TOOLS);
    let runtime = RuntimePath::new(arguments.runtime(cx));
    attribute::helpers(cx, &item.attrs, &[], "an `impl` block");
    let mut tools = Vec::new();
    for item in &item.items {
        if let ImplItem::Fn(method) = item {
            tools.extend(self::method(cx, &method.attrs, &method.sig));
        }
    }
    ToolSet { item, runtime, tools }
}

fn method<'a>(
    cx: &mut Diagnostics,
    attributes: &'a [Attribute],
    signature: &'a Signature,
) -> Option<Tool<'a>> {
    let helpers =
        attribute::helpers(cx, attributes, &[keyword::TOOL], "a method in an `impl` block");
    let Some((name, at)) = helpers.first() else {
        attribute::reject_all(cx, &[], signature, "a method without `#[tool]`");
        return None;
    };
    let arguments = Arguments::of(cx, at, name, &KEYS);
    Some(tool(cx, &arguments, attributes, signature))
}

pub(crate) fn function<'a>(
    cx: &mut Diagnostics,
    arguments: TokenStream,
    item: &'a ItemFn,
) -> Function<'a> {
    let keys = [&KEYS[..], &[keyword::CRATE]].concat();
    let arguments = Arguments::parse(cx, arguments, keyword::TOOL, &keys);
    attribute::helpers(cx, &item.attrs, &[], "a function with `#[tool]`");
    let runtime = RuntimePath::new(arguments.runtime(cx));
    let tool = tool(cx, &arguments, &item.attrs, &item.sig);
    Function { item, runtime, tool }
}

fn tool<'a>(
    cx: &mut Diagnostics,
    arguments: &Arguments,
    attributes: &'a [Attribute],
    signature: &'a Signature,
) -> Tool<'a> {
    let literal = arguments.string(cx, keyword::NAME);
    let (name, name_at) = match &literal {
        Some(literal) => (literal.value(), literal.to_token_stream()),
        None => (signature.ident.unraw().to_string(), signature.ident.to_token_stream()),
    };
    let description = explicit_description(cx, arguments);
    let parameters = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Receiver(_) => None,
        FnArg::Typed(typed) => parameter(cx, typed, &signature.ident),
    });
    let parameters = parameters.collect();
    Tool {
        signature,
        attributes,
        name,
        name_at,
        description: match description {
            Some(text) => Description::of(&text),
            None => doc::description(attributes),
        },
        timeout: arguments.duration(cx, keyword::TIMEOUT),
        sequential: arguments.flag(cx, keyword::SEQUENTIAL),
        return_immediately: arguments.flag(cx, keyword::RETURN_IMMEDIATELY),
        parameters,
    }
}

/// Returns the text of `#[tool("…")]` or `#[tool(description = "…")]`.
fn explicit_description(cx: &mut Diagnostics, arguments: &Arguments) -> Option<String> {
    let named = arguments.string(cx, keyword::DESCRIPTION).map(|literal| literal.value());
    match arguments.values.as_slice() {
        [] => named,
        [value] if string(value).is_some() => {
            if let Some(key) = arguments.key(keyword::DESCRIPTION) {
                errors::repeated_argument(cx, key, keyword::TOOL);
            }
            string(value).map(LitStr::value)
        }
        [value, ..] => {
            errors::malformed_attribute(cx, value, keyword::TOOL, None);
            named.or_else(|| Some(keyword::TOOL.to_owned()))
        }
    }
}

fn parameter<'a>(cx: &mut Diagnostics, typed: &'a PatType, tool: &Ident) -> Option<Parameter<'a>> {
    let helpers = attribute::helpers(cx, &typed.attrs, &ON_PARAMETER, "a parameter of a tool");
    let ident = supported(cx, typed, tool)?;
    let (described, roles): (Vec<Helper<'_>>, Vec<Helper<'_>>) =
        helpers.into_iter().partition(|(name, _)| *name == keyword::P);
    for role in &roles {
        attribute::no_arguments(cx, *role);
    }
    if let [(first, _), (second, at), ..] = roles.as_slice() {
        errors::conflicting_roles(cx, at, ident, (first, second));
    }
    let mut parameter = Parameter {
        name: ident.unraw().to_string(),
        ty: &typed.ty,
        description: doc::description(&typed.attrs),
        default: None,
        injected: !roles.is_empty(),
    };
    for (_, at) in described {
        match roles.first() {
            Some((role, _)) => errors::described_injected_parameter(cx, at, ident, role),
            None => description::read(cx, at, &mut parameter),
        }
    }
    Some(parameter)
}
