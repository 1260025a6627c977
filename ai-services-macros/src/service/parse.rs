//! Reads a trait, one attribute at a time. Rules for several attributes are in `check`.

use super::model::{Guardrails, Method, Moderation, Service};
use super::{guardrails, roles};
use crate::arguments::Arguments;
use crate::attribute;
use crate::diagnostics::Diagnostics;
use crate::runtime_path::RuntimePath;
use crate::template::{self, Template};
use crate::{errors, keyword};
use proc_macro2::TokenStream;
use quote::format_ident;
use syn::{Attribute, Ident, ItemTrait, TraitItem, TraitItemFn};

/// Attributes that are allowed on a trait and its methods.
const ON_SERVICE: [&str; 5] = [
    keyword::SYSTEM_MESSAGE,
    keyword::USER_MESSAGE,
    keyword::MODERATE,
    keyword::INPUT_GUARDRAILS,
    keyword::OUTPUT_GUARDRAILS,
];

/// The parsed attributes of a trait or a method.
#[derive(Default)]
struct ServiceAttributes {
    system: Option<Template>,
    user: Option<Template>,
    moderation: Moderation,
    guardrails: Guardrails,
}

pub(crate) fn service<'a>(
    cx: &mut Diagnostics,
    arguments: TokenStream,
    item: &'a ItemTrait,
) -> Service<'a> {
    let keys = [keyword::NAME, keyword::CRATE];
    let arguments = Arguments::parse(cx, arguments, keyword::AI_SERVICE, &keys);
    arguments.no_values(cx, keyword::AI_SERVICE);

    let name = name(cx, &arguments, item);
    let runtime = RuntimePath::new(arguments.runtime(cx));
    let ServiceAttributes { system, user, moderation, guardrails } =
        service_attributes(cx, &item.attrs, "a trait");
    let methods = Vec::new();
    let mut service =
        Service { item, name, runtime, system, user, moderation, guardrails, methods };
    for item in &item.items {
        if let TraitItem::Fn(item) = item {
            let method = method(cx, item).map(|method| Method {
                inherits_user: service.user.is_some() && method.lacks_user_message(),
                ..method
            });
            service.methods.extend(method);
        }
    }
    service
}

/// Returns `name = "…"`, or the name of the trait followed by `Service`.
fn name(cx: &mut Diagnostics, arguments: &Arguments, item: &ItemTrait) -> Ident {
    if let Some(literal) = arguments.string(cx, keyword::NAME) {
        if let Ok(name) = literal.parse::<Ident>() {
            return name;
        }
        errors::wrong_argument_value(cx, &literal, keyword::NAME, "the name of a struct");
    }
    format_ident!("{}Service", item.ident)
}

fn method<'a>(cx: &mut Diagnostics, item: &'a TraitItemFn) -> Option<Method<'a>> {
    if item.default.is_some() {
        attribute::reject_all(cx, &item.attrs, &item.sig, "a method with a body");
        return None;
    }
    let ServiceAttributes { system, user, moderation, guardrails } =
        service_attributes(cx, &item.attrs, "a method");
    let mut method = Method {
        item,
        system,
        user,
        inherits_user: false,
        moderation,
        guardrails,
        parameters: Vec::new(),
        incomplete: false,
    };
    roles::parameters(cx, &mut method);
    Some(method)
}

fn service_attributes(
    cx: &mut Diagnostics,
    attributes: &[Attribute],
    place: &str,
) -> ServiceAttributes {
    let mut found = ServiceAttributes::default();
    for helper in attribute::helpers(cx, attributes, &ON_SERVICE, place) {
        match helper {
            (keyword::SYSTEM_MESSAGE, at) => {
                found.system = Some(template::parse(cx, at, keyword::SYSTEM_MESSAGE));
            }
            (keyword::USER_MESSAGE, at) => {
                found.user = Some(template::parse(cx, at, keyword::USER_MESSAGE));
            }
            (keyword::INPUT_GUARDRAILS, _) => {
                found.guardrails.input = guardrails::input(cx, helper);
            }
            (keyword::OUTPUT_GUARDRAILS, _) => {
                let (output, max_retries) = guardrails::output(cx, helper);
                (found.guardrails.output, found.guardrails.max_retries) = (output, max_retries);
            }
            _ => found.moderation = guardrails::moderation(cx, helper),
        }
    }
    found
}
