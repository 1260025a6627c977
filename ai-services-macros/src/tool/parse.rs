//! Reads tools, one attribute at a time. Rules for several attributes are in `check`.

use super::description;
use super::model::{Effect, Function, Parameter, Tool, ToolSet};
use crate::arguments::{Arguments, string};
use crate::attribute::{self, Helper};
use crate::diagnostics::Diagnostics;
use crate::doc::{self, Description};
use crate::errors;
use crate::keyword::{self, Keyword, Place};
use crate::recovery::Recovered;
use crate::runtime_path::RuntimePath;
use crate::service::supported;
use crate::template::{self, Template};
use crate::ty;
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::{Attribute, FnArg, ImplItem, ItemFn, ItemImpl, LitStr, PatType, Signature};

/// Arguments of `#[tool]` inside a `#[tools]` block.
const KEYS: [&str; 10] = [
    keyword::NAME,
    keyword::DESCRIPTION,
    keyword::TIMEOUT,
    keyword::SEQUENTIAL,
    keyword::RETURN_IMMEDIATELY,
    keyword::REQUIRES_APPROVAL,
    keyword::READ_ONLY,
    keyword::IDEMPOTENT,
    keyword::VERIFY,
    keyword::KEY,
];

/// Arguments of `#[tool]` on a method of an AI service. The other effect classes follow from the service.
const SERVICE_KEYS: [&str; 7] = [
    keyword::NAME,
    keyword::DESCRIPTION,
    keyword::TIMEOUT,
    keyword::SEQUENTIAL,
    keyword::RETURN_IMMEDIATELY,
    keyword::REQUIRES_APPROVAL,
    keyword::READ_ONLY,
];

/// Attributes that are allowed on a parameter.
const ON_PARAMETER: [Keyword; 3] = [Keyword::P, Keyword::MemoryId, Keyword::Context];

/// Reads the arguments of `#[tools]`.
pub(crate) fn runtime(cx: &mut Diagnostics, arguments: TokenStream) -> RuntimePath {
    let arguments = Arguments::parse(cx, arguments, Keyword::Tools, &[keyword::CRATE]);
    arguments.no_values(cx, Keyword::Tools);
    RuntimePath::new(arguments.runtime(cx))
}

pub(crate) fn set<'a>(
    cx: &mut Diagnostics,
    runtime: RuntimePath,
    recovered: &'a Recovered<ItemImpl>,
) -> ToolSet<'a> {
    let item = &recovered.item;
    attribute::helpers(cx, &item.attrs, &[], (Place::Item, "an `impl` block"));
    let mut set =
        ToolSet { item, runtime, tools: Vec::new(), incomplete: recovered.has_syntax_error() };
    for (index, item) in item.items.iter().enumerate() {
        // rustc reported the syntax error of an incomplete method.
        if let ImplItem::Fn(method) = item
            && !recovered.is_incomplete(index)
        {
            self::method(cx, &mut set, &method.attrs, &method.sig);
        }
    }
    set
}

fn method<'a>(
    cx: &mut Diagnostics,
    set: &mut ToolSet<'a>,
    attributes: &'a [Attribute],
    signature: &'a Signature,
) {
    let place = (Place::Item, "a method in an `impl` block");
    let helpers = attribute::helpers(cx, attributes, &[Keyword::Tool], place);
    set.incomplete |= helpers.incomplete;
    if let Some((keyword, at)) = helpers.found.first() {
        let arguments = Arguments::of(cx, at, *keyword, &KEYS);
        set.tools.push(tool(cx, &arguments, attributes, signature));
    } else if !helpers.incomplete {
        attribute::reject_all(cx, &[], signature, "a method without `#[tool]`");
    }
}

/// Reads the arguments of `#[tool]` on a function.
pub(crate) fn function_arguments(cx: &mut Diagnostics, tokens: TokenStream) -> Arguments {
    let keys = [&KEYS[..], &[keyword::CRATE]].concat();
    Arguments::parse(cx, tokens, Keyword::Tool, &keys)
}

pub(crate) fn function<'a>(
    cx: &mut Diagnostics,
    (arguments, runtime): (&Arguments, RuntimePath),
    item: &'a ItemFn,
) -> Function<'a> {
    attribute::helpers(cx, &item.attrs, &[], (Place::Item, "a function with `#[tool]`"));
    let tool = tool(cx, arguments, &item.attrs, &item.sig);
    Function { item, runtime, tool }
}

/// Reads `#[tool]` on a method of an AI service. The service adds the parameters.
pub(crate) fn service_method<'a>(
    cx: &mut Diagnostics,
    (keyword, at): Helper<'_>,
    attributes: &'a [Attribute],
    signature: &'a Signature,
) -> Tool<'a> {
    let arguments = Arguments::of(cx, at, keyword, &SERVICE_KEYS);
    declaration(cx, &arguments, attributes, signature)
}

fn tool<'a>(
    cx: &mut Diagnostics,
    arguments: &Arguments,
    attributes: &'a [Attribute],
    signature: &'a Signature,
) -> Tool<'a> {
    let parameters = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Receiver(_) => None,
        FnArg::Typed(typed) => parameter(cx, typed, &signature.ident),
    });
    let parameters = parameters.collect();
    Tool { parameters, ..declaration(cx, arguments, attributes, signature) }
}

/// Reads everything but the parameters.
fn declaration<'a>(
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
    let (explicit, incomplete) = explicit_description(cx, arguments);
    Tool {
        signature,
        attributes,
        name,
        name_at,
        description: match explicit {
            Some(text) => Description::of(&text.value()),
            None => doc::description(attributes),
        },
        incomplete,
        timeout: arguments.duration(cx, keyword::TIMEOUT),
        sequential: arguments.flag(cx, keyword::SEQUENTIAL),
        return_immediately: arguments.flag(cx, keyword::RETURN_IMMEDIATELY),
        requires_approval: arguments.flag(cx, keyword::REQUIRES_APPROVAL),
        effects: effects(cx, arguments),
        key: key(cx, arguments),
        parameters: Vec::new(),
    }
}

fn effects(cx: &mut Diagnostics, arguments: &Arguments) -> Vec<(Ident, Effect)> {
    let read_only = arguments.flag(cx, keyword::READ_ONLY).then_some(Effect::ReadOnly);
    let idempotent = arguments.flag(cx, keyword::IDEMPOTENT).then_some(Effect::Idempotent);
    let verifiable = arguments.path(cx, keyword::VERIFY).map(Effect::Verifiable);
    let found = [
        (keyword::READ_ONLY, read_only),
        (keyword::IDEMPOTENT, idempotent),
        (keyword::VERIFY, verifiable),
    ];
    let found =
        found.into_iter().filter_map(|(key, effect)| arguments.key(key).cloned().zip(effect));
    found.collect()
}

fn key(cx: &mut Diagnostics, arguments: &Arguments) -> Option<(Ident, Template)> {
    let literal = arguments.string(cx, keyword::KEY)?;
    let template = template::parse_literal(cx, literal);
    arguments.key(keyword::KEY).cloned().zip(Some(template))
}

/// Returns the text of `#[tool("…")]` or `#[tool(description = "…")]`, and whether it is wrong.
fn explicit_description(cx: &mut Diagnostics, arguments: &Arguments) -> (Option<LitStr>, bool) {
    let key = arguments.key(keyword::DESCRIPTION);
    let named = arguments.string(cx, keyword::DESCRIPTION);
    match (arguments.values.as_slice(), key) {
        ([], None) => (None, arguments.broken),
        ([], Some(_)) => (named.clone(), named.is_none()),
        ([value], key) if string(value).is_some() => {
            if let Some(key) = key {
                errors::repeated_argument(cx, key, Keyword::Tool);
            }
            (string(value).cloned(), false)
        }
        ([value, ..], _) => {
            errors::malformed_attribute(cx, value, Keyword::Tool, None);
            (named, true)
        }
    }
}

fn parameter<'a>(cx: &mut Diagnostics, typed: &'a PatType, tool: &Ident) -> Option<Parameter<'a>> {
    let place = (Place::Parameter, "a parameter of a tool");
    let helpers = attribute::helpers(cx, &typed.attrs, &ON_PARAMETER, place);
    let ident = supported(cx, typed, tool)?;
    if let Some(form) = ty::unsupported_references(&typed.ty) {
        errors::unsupported_parameter(cx, &typed.ty, form, tool);
        return None;
    }
    let (described, roles): (Vec<Helper<'_>>, Vec<Helper<'_>>) =
        helpers.found.into_iter().partition(|(keyword, _)| *keyword == Keyword::P);
    for role in &roles {
        attribute::no_arguments(cx, *role);
    }
    if let [(first, _), (second, at), ..] = roles.as_slice() {
        errors::conflicting_roles(cx, at, ident, (*first, *second));
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
            Some((role, _)) => errors::described_injected_parameter(cx, at, ident, *role),
            None => description::read(cx, at, &mut parameter),
        }
    }
    Some(parameter)
}
