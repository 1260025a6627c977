//! Reads a trait, one attribute at a time. Rules for several attributes are in `check`.

use super::model::{
    Budget, Guardrails, Method, MethodTools, Moderation, Prompts, Retrieval, Service,
};
use super::{budget, guardrails, prompts, roles, stages};
use crate::arguments::Arguments;
use crate::attribute::{self, Helper};
use crate::diagnostics::Diagnostics;
use crate::errors;
use crate::keyword::{self, Keyword, Place};
use crate::recovery::Recovered;
use crate::runtime_path::RuntimePath;
use crate::template::{self, Template};
use crate::tool::parse_service_method;
use proc_macro2::TokenStream;
use quote::format_ident;
use syn::{Attribute, Ident, ItemTrait, TraitItem, TraitItemFn};

/// Attributes that are allowed on a trait.
const ON_SERVICE: [Keyword; 6] = [
    Keyword::SystemMessage,
    Keyword::UserMessage,
    Keyword::Moderate,
    Keyword::InputGuardrails,
    Keyword::OutputGuardrails,
    Keyword::Budget,
];

/// Attributes that are allowed on a method.
const ON_METHOD: [Keyword; 9] = [
    Keyword::SystemMessage,
    Keyword::UserMessage,
    Keyword::Moderate,
    Keyword::InputGuardrails,
    Keyword::OutputGuardrails,
    Keyword::Budget,
    Keyword::MethodTools,
    Keyword::Retrieval,
    Keyword::Tool,
];

/// The parsed attributes of a trait or a method.
#[derive(Default)]
struct ServiceAttributes<'a> {
    system: Option<Template>,
    user: Option<Template>,
    moderation: Moderation,
    guardrails: Guardrails,
    budget: Budget,
    tools: MethodTools,
    retrieval: Retrieval,
    tool: Option<Helper<'a>>,
    /// `true` if an attribute is wrong and was left out.
    incomplete: bool,
}

/// Reads the arguments of `#[ai_service]`.
pub(crate) fn arguments(cx: &mut Diagnostics, tokens: TokenStream) -> Arguments {
    let keys = [keyword::NAME, keyword::CRATE];
    let arguments = Arguments::parse(cx, tokens, Keyword::AiService, &keys);
    arguments.no_values(cx, Keyword::AiService);
    arguments
}

pub(crate) fn service<'a>(
    cx: &mut Diagnostics,
    (arguments, runtime): (&Arguments, RuntimePath),
    recovered: &'a Recovered<ItemTrait>,
) -> Service<'a> {
    let item = &recovered.item;
    let name = name(cx, arguments, item);
    let ServiceAttributes { system, user, moderation, guardrails, budget, incomplete, .. } =
        service_attributes(cx, &item.attrs, (&ON_SERVICE, "a trait"));
    let mut methods = Vec::new();
    for (index, item) in item.items.iter().enumerate() {
        let TraitItem::Fn(item) = item else { continue };
        // rustc reported the missing parts, so nothing else is reported about the method.
        let mut silent = Diagnostics::new();
        let has_syntax_error = recovered.is_incomplete(index);
        let cx = if has_syntax_error { &mut silent } else { &mut *cx };
        let Some(mut method) = method(cx, item) else { continue };
        method.inherits_user = user.is_some() && method.lacks_user_message();
        method.incomplete |= incomplete;
        method.has_syntax_error = has_syntax_error;
        methods.push(method);
    }
    let mut service =
        Service { item, name, runtime, system, user, moderation, guardrails, budget, methods };
    let resolved = service.methods.iter().map(|method| prompts::resolve(&service, method));
    let resolved: Vec<Prompts> = resolved.collect();
    for (method, prompts) in service.methods.iter_mut().zip(resolved) {
        method.prompts = prompts;
    }
    service
}

/// Returns `name = "…"`, or the name of the trait followed by `Service`.
fn name(cx: &mut Diagnostics, arguments: &Arguments, item: &ItemTrait) -> Ident {
    if let Some(literal) = arguments.string(cx, keyword::NAME) {
        if let Ok(name) = literal.parse::<Ident>() {
            return name;
        }
        let expected = (keyword::NAME, "the name of a struct");
        errors::wrong_argument_value(cx, &literal, expected, None);
    }
    let unquoted = arguments.unquoted(keyword::NAME).cloned();
    unquoted.unwrap_or_else(|| format_ident!("{}Service", item.ident))
}

fn method<'a>(cx: &mut Diagnostics, item: &'a TraitItemFn) -> Option<Method<'a>> {
    if item.default.is_some() {
        attribute::reject_all(cx, &item.attrs, &item.sig, "a method with a body");
        return None;
    }
    let found = service_attributes(cx, &item.attrs, (&ON_METHOD, "a method"));
    let mut method = Method {
        item,
        system: found.system,
        user: found.user,
        inherits_user: false,
        moderation: found.moderation,
        guardrails: found.guardrails,
        budget: found.budget,
        tools: found.tools,
        retrieval: found.retrieval,
        tool: found.tool.map(|at| parse_service_method(cx, at, &item.attrs, &item.sig)),
        parameters: Vec::new(),
        prompts: Prompts::default(),
        incomplete: found.incomplete,
        has_syntax_error: false,
    };
    roles::parameters(cx, &mut method);
    Some(method)
}

fn service_attributes<'a>(
    cx: &mut Diagnostics,
    attributes: &'a [Attribute],
    (allowed, place): (&[Keyword], &str),
) -> ServiceAttributes<'a> {
    let mut found = ServiceAttributes::default();
    let helpers = attribute::helpers(cx, attributes, allowed, (Place::Item, place));
    found.incomplete = helpers.incomplete;
    for helper in helpers.found {
        match helper.0 {
            Keyword::SystemMessage => found.system = Some(template::parse(cx, helper)),
            Keyword::UserMessage => found.user = Some(template::parse(cx, helper)),
            Keyword::InputGuardrails => found.guardrails.input = guardrails::input(cx, helper),
            Keyword::OutputGuardrails => {
                let (output, max_retries) = guardrails::output(cx, helper);
                (found.guardrails.output, found.guardrails.max_retries) = (output, max_retries);
            }
            Keyword::Budget => found.budget = budget::limits(cx, helper),
            Keyword::MethodTools => found.tools = stages::tools(cx, helper),
            Keyword::Tool => found.tool = Some(helper),
            Keyword::Retrieval => found.retrieval = stages::retrieval(cx, helper),
            _ => found.moderation = guardrails::moderation(cx, helper),
        }
    }
    found
}
