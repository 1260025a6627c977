//! The rules for several attributes, one function each. All rules are checked, even after a mistake.

use super::model::{Function, Tool, ToolSet};
use crate::diagnostics::Diagnostics;
use crate::keyword::Keyword;
use crate::{errors, tool_name};
use syn::ReceiverKind;

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

fn tool(cx: &mut Diagnostics, tool: &Tool<'_>) {
    name_is_valid(cx, tool);
    tool_is_not_generic(cx, tool);
    if tool.description.is_none() && !tool.incomplete {
        errors::missing_tool_description(cx, tool.ident());
    }
}

// Tools of two blocks can still have the same name; that is an error when the service is built.
fn names_are_unique(cx: &mut Diagnostics, set: &ToolSet<'_>) {
    for (index, tool) in set.tools.iter().enumerate() {
        let first = set.tools.iter().take(index).find(|other| other.name == tool.name);
        // Methods with the same name have different `#[cfg]` conditions and never coexist.
        if let Some(first) = first
            && first.ident() != tool.ident()
        {
            errors::duplicate_tool_name(cx, &tool.name_at, &tool.name, first.ident());
        }
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
