//! Tools as both of OpenAI's chat protocols write them.

use super::options::SchemaMode;
use super::strict;
use crate::protocol::tools::{encode, parameters};
use ai_services_core::model::{ToolLoading, ToolSpecification};
use ai_services_core::schema::Ordered;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The protocol that a list of tools is written for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ToolForm {
    ChatCompletions,
    Responses,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Tool<'a> {
    Nested {
        r#type: &'static str,
        function: Function<'a>,
    },
    Flat {
        r#type: &'static str,
        #[serde(flatten)]
        function: Function<'a>,
    },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Ordered<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    defer_loading: bool,
}

/// Encodes tools without the deferred ones. In strict mode a schema that cannot be strict is sent unchanged and
/// marked as not strict.
pub(super) fn list(tools: &[ToolSpecification], mode: SchemaMode, form: ToolForm) -> Vec<u8> {
    let tools: Vec<_> =
        tools.iter().filter(|tool| tool.loading == ToolLoading::Immediate).collect();
    definitions(&tools, mode, form)
}

/// Encodes tools whose definitions are loaded after a search.
pub(super) fn loaded(tools: &[&ToolSpecification], mode: SchemaMode) -> Vec<u8> {
    definitions(tools, mode, ToolForm::Responses)
}

fn definitions(tools: &[&ToolSpecification], mode: SchemaMode, form: ToolForm) -> Vec<u8> {
    let schemas: Vec<_> = tools.iter().map(|tool| schema(tool, mode)).collect();
    let tools = tools.iter().zip(&schemas).map(|(tool, (schema, is_strict))| {
        let function = Function {
            name: &tool.name,
            description: &tool.description,
            parameters: Ordered(schema),
            // Without this member the responses API makes schemas strict by itself.
            strict: (*is_strict || form == ToolForm::Responses).then_some(*is_strict),
            defer_loading: tool.loading == ToolLoading::Deferred,
        };
        match form {
            ToolForm::ChatCompletions => Tool::Nested { r#type: "function", function },
            ToolForm::Responses => Tool::Flat { r#type: "function", function },
        }
    });
    encode(&tools.collect::<Vec<_>>())
}

/// Returns the schema of a tool's arguments, and whether it is strict.
fn schema(tool: &ToolSpecification, mode: SchemaMode) -> (Cow<'_, Value>, bool) {
    let parameters = parameters(tool);
    let closed = if mode == SchemaMode::Strict { strict::closed(&parameters) } else { None };
    match closed {
        Some(closed) => (Cow::Owned(closed), true),
        None => (parameters, false),
    }
}
