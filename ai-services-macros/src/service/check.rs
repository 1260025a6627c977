//! The rules for several attributes, one function each. All rules are checked, even after a mistake.

use super::model::{Method, Parameter, Role, Service};
use super::{placeholders, tools};
use crate::diagnostics::Diagnostics;
use crate::errors::{self, PossibleUses};
use crate::{template, ty};
use syn::{LifetimeParam, ReceiverKind, ReturnType, Safety, Signature, TraitItem};

pub(crate) fn service(cx: &mut Diagnostics, service: &Service<'_>) {
    if is_boxed_already(service) {
        errors::async_trait_above(cx, &service.item.ident);
        return;
    }
    trait_is_supported(cx, service);
    tools::check(cx, service);
    placeholders::inherited_are_known(cx, service);
    for method in service.methods.iter().filter(|method| !method.has_syntax_error) {
        method_is_supported(cx, method);
        roles_are_unique(cx, method);
        variables_are_distinct(cx, method);
        placeholders::own_are_known(cx, method);
        if method.incomplete {
            continue;
        }
        user_message_exists(cx, method);
        variables_are_used(cx, service, method);
        parameters_have_a_role(cx, service, method);
    }
}

// `#[async_trait]` above `#[ai_service]` runs first and names its lifetime. Below, it has nothing left to do.
fn is_boxed_already(service: &Service<'_>) -> bool {
    let is_async_trait = |lifetime: &LifetimeParam| lifetime.lifetime.ident == "async_trait";
    service.methods.iter().any(|method| method.item.sig.generics.lifetimes().any(is_async_trait))
}

// A service can be a trait object: it has no generics, and only methods.
fn trait_is_supported(cx: &mut Diagnostics, service: &Service<'_>) {
    let item = service.item;
    if !item.generics.params.is_empty() {
        errors::generic_trait(cx, &item.generics.params, &item.ident);
    }
    if let Some(token) = &item.unsafety {
        errors::unsupported_modifier(cx, token, &item.ident);
    }
    if let Some(token) = &item.modifiers.auto_token {
        errors::unsupported_modifier(cx, token, &item.ident);
    }
    for item in &service.item.items {
        let form = match item {
            TraitItem::Fn(_) => continue,
            TraitItem::Const(_) => "an associated constant",
            TraitItem::Type(_) => "an associated type",
            // A method that rustc reports, for example one with `pub`.
            TraitItem::Verbatim(_) => continue,
            _ => "items other than methods",
        };
        errors::unsupported_trait_item(cx, item, form, &service.item.ident);
    }
}

// The signature is `async fn name(&self, …) -> …`, or `fn` for a stream, without generics.
fn method_is_supported(cx: &mut Diagnostics, method: &Method<'_>) {
    let signature = &method.item.sig;
    let name = &signature.ident;
    modifiers_are_supported(cx, signature);
    match signature.receiver() {
        None => errors::method_without_self(cx, name, name),
        Some(receiver) => match &receiver.kind {
            ReceiverKind::Reference(_, _, None) => {}
            _ => errors::method_without_self(cx, receiver, name),
        },
    }
    if !signature.generics.params.is_empty() {
        errors::generic_method(cx, &signature.generics.params, name);
    } else if let Some(clause) = &signature.generics.where_clause {
        errors::generic_method(cx, clause, name);
    }
    match &signature.output {
        ReturnType::Default if signature.asyncness.is_some() => {
            errors::missing_return_type(cx, name, name);
        }
        ReturnType::Default => errors::method_without_stream(cx, name, name),
        ReturnType::Type(_, ty) if ty::mentions(ty, "impl") => {
            errors::opaque_return_type(cx, ty, name);
        }
        ReturnType::Type(_, ty) if ty::references(ty) > 0 => {
            errors::borrowed_return_type(cx, ty, name);
        }
        ReturnType::Type(..) => {}
    }
}

fn modifiers_are_supported(cx: &mut Diagnostics, signature: &Signature) {
    let name = &signature.ident;
    if let Some(token) = &signature.constness {
        errors::unsupported_modifier(cx, token, name);
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors::unsupported_modifier(cx, token, name);
    }
    if let Some(abi) = &signature.abi {
        errors::unsupported_modifier(cx, abi, name);
    }
}

// At most one parameter has each role. User messages have a separate rule.
fn roles_are_unique(cx: &mut Diagnostics, method: &Method<'_>) {
    let mut seen: Vec<(Role, &Parameter<'_>)> = Vec::new();
    for parameter in &method.parameters {
        let Some((role, at)) = parameter.role else { continue };
        match seen.iter().find(|(other, _)| *other == role) {
            None => seen.push((role, parameter)),
            Some((Role::MemoryId, first)) => {
                errors::duplicate_memory_id(cx, at, method.ident(), first.ident);
            }
            Some((Role::UserMessage, _)) => {}
            Some((_, first)) => {
                errors::duplicate_role(cx, at, role.keyword(), method.ident(), first.ident);
            }
        }
    }
}

// Template variables have distinct names.
fn variables_are_distinct(cx: &mut Diagnostics, method: &Method<'_>) {
    for (index, parameter) in method.parameters.iter().enumerate() {
        let Some(name) = parameter.variable_name() else { continue };
        let same = |other: &&Parameter<'_>| other.variable_name().as_ref() == Some(&name);
        if template::builtin(&name).is_some() {
            errors::shadowed_builtin(cx, parameter.ident, &name);
        } else if let Some(first) = method.parameters.iter().take(index).find(same) {
            errors::duplicate_variable(cx, parameter.ident, &name, first.ident);
        }
    }
}

// The user message comes from the template on the method, from parameters, or from both. rustc checks that
// only one of them is text.
fn user_message_exists(cx: &mut Diagnostics, method: &Method<'_>) {
    let unmarked = method.unmarked().count();
    // With several unmarked parameters the mistake is that they have no role.
    let has_one = method.has_user_template() || !method.user_parts().is_empty();
    if !has_one && unmarked == 0 {
        errors::missing_user_message(cx, method.ident());
    }
}

// A parameter with `#[v]` is expected to be used in a prompt.
fn variables_are_used(cx: &mut Diagnostics, service: &Service<'_>, method: &Method<'_>) {
    for parameter in &method.parameters {
        let Some(variable) = &parameter.variable else { continue };
        let name = &variable.name;
        let is_used = service.names(method).any(|used| used == name);
        if !is_used && !placeholders::may_use(service, method, name) {
            let uses = possible_uses(service, method, name);
            errors::unused_variable(cx, variable.attribute, name, method.ident(), uses);
        }
    }
}

// A parameter without an attribute is the user message, `{{it}}`, or a variable with its name.
fn parameters_have_a_role(cx: &mut Diagnostics, service: &Service<'_>, method: &Method<'_>) {
    for (index, parameter) in method.unmarked() {
        let name = parameter.name();
        let is_used = method.sends(parameter) || method.uses(index);
        if !is_used && !placeholders::may_use(service, method, &name) {
            let uses = possible_uses(service, method, &name);
            errors::parameter_without_role(cx, parameter.ident, method.ident(), uses);
        }
    }
}

fn possible_uses(service: &Service<'_>, method: &Method<'_>, name: &str) -> PossibleUses {
    PossibleUses {
        only: method.it().is_some(),
        in_single_braces: service.templates(method).any(|it| it.has_single_braces(name)),
    }
}
