//! The rules for several attributes, one function each. All rules are checked, even after a mistake.

use super::model::{Effect, Function, Parameter, Tool, ToolSet};
use crate::diagnostics::Diagnostics;
use crate::errors::{self, KnownNames};
use crate::keyword::Keyword;
use crate::template::{Template, TemplateLocation};
use crate::{suggest, tool_name};
use syn::{FnArg, Ident, ReceiverKind};

pub(crate) fn set(cx: &mut Diagnostics, set: &ToolSet<'_>) {
    if set.tools.is_empty() && !set.incomplete {
        errors::tools_without_tool(cx, &set.item.self_ty);
    }
    names_are_unique(cx, set);
    for tool in &set.tools {
        receiver_is_shared(cx, tool);
        self::tool(cx, tool);
    }
}

pub(crate) fn function(cx: &mut Diagnostics, function: &Function<'_>) {
    tool(cx, &function.tool);
}

/// Checks a method of an AI service, after the tools of the methods before it. The service checks the signature.
pub(crate) fn service_method<'t>(
    cx: &mut Diagnostics,
    tool: &'t Tool<'_>,
    mut before: impl Iterator<Item = &'t Tool<'t>>,
) {
    name_is_unique(cx, tool, before.find(|other| other.name == tool.name));
    name_is_valid(cx, tool);
    has_description(cx, tool);
}

fn tool(cx: &mut Diagnostics, tool: &Tool<'_>) {
    name_is_valid(cx, tool);
    tool_is_not_generic(cx, tool);
    effect_is_unique(cx, tool);
    if let Some((at, template)) = &tool.key {
        key_has_an_effect(cx, tool, at);
        key_names_a_parameter(cx, tool, template);
        key_parameters_are_known(cx, tool, template);
    }
    has_description(cx, tool);
}

fn has_description(cx: &mut Diagnostics, tool: &Tool<'_>) {
    if tool.description.is_none() && !tool.incomplete {
        errors::missing_tool_description(cx, tool.ident());
    }
}

// Tools of two blocks can still have the same name; that is an error when the service is built.
fn names_are_unique(cx: &mut Diagnostics, set: &ToolSet<'_>) {
    for (index, tool) in set.tools.iter().enumerate() {
        let first = set.tools.iter().take(index).find(|other| other.name == tool.name);
        name_is_unique(cx, tool, first);
    }
}

fn name_is_unique(cx: &mut Diagnostics, tool: &Tool<'_>, first: Option<&Tool<'_>>) {
    // Methods with the same name have different `#[cfg]` conditions and never coexist.
    if let Some(first) = first
        && first.ident() != tool.ident()
    {
        errors::duplicate_tool_name(cx, &tool.name_at, &tool.name, first.ident());
    }
}

fn name_is_valid(cx: &mut Diagnostics, tool: &Tool<'_>) {
    if !tool_name::is_valid(&tool.name) {
        errors::invalid_tool_name(cx, &tool.name_at, &tool.name, Keyword::Tool);
    }
}

// Several calls of one tool may run at once.
fn receiver_is_shared(cx: &mut Diagnostics, tool: &Tool<'_>) {
    let Some(receiver) = tool.signature.receiver() else { return };
    if !matches!(receiver.kind, ReceiverKind::Reference(_, _, None)) {
        errors::unsupported_receiver(cx, receiver, tool.ident());
    }
}

fn tool_is_not_generic(cx: &mut Diagnostics, tool: &Tool<'_>) {
    let generics = &tool.signature.generics;
    if !generics.params.is_empty() {
        errors::generic_tool(cx, &generics.params, tool.ident());
    } else if let Some(clause) = &generics.where_clause {
        errors::generic_tool(cx, clause, tool.ident());
    }
}

fn effect_is_unique(cx: &mut Diagnostics, tool: &Tool<'_>) {
    if let [(first, _), (second, _), ..] = tool.effects.as_slice() {
        errors::conflicting_effects(cx, second, tool.ident(), first);
    }
}

fn key_has_an_effect(cx: &mut Diagnostics, tool: &Tool<'_>, at: &Ident) {
    if tool.effects.iter().any(|(_, effect)| matches!(effect, Effect::ReadOnly)) {
        errors::key_of_read_only_tool(cx, at, tool.ident());
    }
}

fn key_names_a_parameter(cx: &mut Diagnostics, tool: &Tool<'_>, template: &Template) {
    if template.is_complete
        && template.placeholders().next().is_none()
        && let Some((_, literal)) = template.literals.first()
    {
        let parameter = from_model(tool).next().map(|parameter| parameter.name.as_str());
        errors::constant_key(cx, literal, tool.ident(), parameter);
    }
}

fn key_parameters_are_known(cx: &mut Diagnostics, tool: &Tool<'_>, template: &Template) {
    let typed = tool.signature.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_)));
    // A parameter that was reported and left out may be the one that the template names.
    if typed.count() > tool.parameters.len() {
        return;
    }
    let names: Vec<&str> = from_model(tool).map(|parameter| parameter.name.as_str()).collect();
    for (name, span) in template.placeholders().filter(|(name, _)| !names.contains(name)) {
        let known = KnownNames {
            similar: suggest::nearest(name, names.iter().copied()),
            variables: names.clone(),
            not_a_variable: tool.parameters.iter().any(|parameter| parameter.name == name),
        };
        let location = TemplateLocation::new(template, span);
        errors::unknown_key_parameter(cx, &location, name, tool.ident(), &known);
    }
}

/// Returns the parameters that the model fills in.
fn from_model<'t>(tool: &'t Tool<'_>) -> impl Iterator<Item = &'t Parameter<'t>> {
    tool.parameters.iter().filter(|parameter| !parameter.injected)
}
