//! Tools in the form of a request.

use ai_services_core::model::ToolSpecification;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Returns the schema of a tool's arguments. A tool without parameters has that of an empty object,
/// because providers require a schema.
pub(crate) fn parameters(tool: &ToolSpecification) -> Cow<'_, Value> {
    match &tool.parameters {
        Some(schema) => Cow::Borrowed(schema.as_value()),
        None => Cow::Owned(json!({ "type": "object", "properties": {} })),
    }
}

/// Encodes a list of tools.
pub(crate) fn encode(tools: &[impl Serialize]) -> Vec<u8> {
    // Strings and JSON values always serialize.
    serde_json::to_vec(tools).unwrap_or_else(|_| b"[]".to_vec())
}
