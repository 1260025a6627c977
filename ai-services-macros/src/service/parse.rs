//! Reads a trait, one attribute at a time. Rules that need two of them are in `check`.

use super::model::{Method, Service};
use super::roles;
use crate::arguments::Arguments;
use crate::attribute::{self, Helper};
use crate::diagnostics::Diagnostics;
use crate::runtime_path::RuntimePath;
use crate::{errors, keyword, template};
use proc_macro2::TokenStream;
use quote::format_ident;
use syn::{Ident, ItemTrait, TraitItem, TraitItemFn};

/// What a trait may carry.
const ON_TRAIT: [&str; 3] = [keyword::SYSTEM_MESSAGE, keyword::USER_MESSAGE, keyword::MODERATE];
/// What a method may carry.
const ON_METHOD: [&str; 3] = [keyword::SYSTEM_MESSAGE, keyword::USER_MESSAGE, keyword::MODERATE];

pub(crate) fn service<'a>(
    cx: &mut Diagnostics,
    arguments: TokenStream,
    item: &'a ItemTrait,
) -> Service<'a> {
    let keys = [keyword::NAME, keyword::CRATE];
    let arguments = Arguments::parse(cx, arguments, keyword::AI_SERVICE, &keys);
    arguments.no_values(cx, keyword::AI_SERVICE);

    let mut service = Service {
        item,
        name: name(cx, &arguments, item),
        runtime: RuntimePath::new(arguments.runtime(cx)),
        system: None,
        user: None,
        moderate: false,
        methods: Vec::new(),
    };
    for helper in attribute::helpers(cx, &item.attrs, &ON_TRAIT, "a trait") {
        match helper {
            (keyword::SYSTEM_MESSAGE, at) => {
                service.system = Some(template::parse(cx, at, keyword::SYSTEM_MESSAGE));
            }
            (keyword::USER_MESSAGE, at) => {
                service.user = Some(template::parse(cx, at, keyword::USER_MESSAGE));
            }
            _ => service.moderate = moderate(cx, helper),
        }
    }
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

/// `name = "…"`, or the name of the trait with `Service` after it.
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
        attribute::none(cx, &item.attrs, &item.sig, "a method with a body");
        return None;
    }
    let mut method = Method {
        item,
        system: None,
        user: None,
        inherits_user: false,
        moderate: false,
        parameters: Vec::new(),
        incomplete: false,
    };
    for helper in attribute::helpers(cx, &item.attrs, &ON_METHOD, "a method") {
        match helper {
            (keyword::SYSTEM_MESSAGE, at) => {
                method.system = Some(template::parse(cx, at, keyword::SYSTEM_MESSAGE));
            }
            (keyword::USER_MESSAGE, at) => {
                method.user = Some(template::parse(cx, at, keyword::USER_MESSAGE));
            }
            _ => method.moderate = moderate(cx, helper),
        }
    }
    roles::parameters(cx, &mut method);
    Some(method)
}

fn moderate(cx: &mut Diagnostics, helper: Helper<'_>) -> bool {
    attribute::no_arguments(cx, helper);
    true
}
