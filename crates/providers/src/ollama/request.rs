//! The body of a request.

use super::message::{self, MessageForm};
use crate::ThinkingReplay;
use crate::protocol::encoded::Encoded;
use crate::protocol::request_body::{ListPrefix, list_len, write_list};
use crate::protocol::tools::{self, encode};
use ai_services_core::Result;
use ai_services_core::message::ChatMessage;
use ai_services_core::model::{ChatRequest, ToolSpecification};
use ai_services_core::schema::Ordered;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Returns the body of a request, in one allocation.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`](ai_services_core::ErrorKind::Unsupported) for a message that the API cannot
/// carry.
pub(super) fn body(
    request: &ChatRequest,
    prefix: &ListPrefix,
    replay: ThinkingReplay,
) -> Result<Vec<u8>> {
    let messages = || encoded(request, replay);
    let len = if prefix.has_messages { 0 } else { list_len(messages(), message::unsupported)? };
    let tools = if prefix.has_tools { None } else { request.tools().encoded("ollama", list) };
    Ok(prefix.body(len, tools, |body| write_list(messages(), body)))
}

fn encoded(
    request: &ChatRequest,
    replay: ThinkingReplay,
) -> impl Iterator<Item = (&ChatMessage, Encoded<'_>)> {
    let plain = replay.messages_without(request);
    request.messages().enumerate().map(move |(index, message)| {
        let form = if index < plain { MessageForm::Plain } else { MessageForm::Thinking };
        (message, message::encoded(message, form))
    })
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Ordered<'a>,
}

fn list(tools: &[ToolSpecification]) -> Vec<u8> {
    let schemas: Vec<_> = tools.iter().map(parameters).collect();
    let list = tools.iter().zip(&schemas).map(|(tool, schema)| Tool {
        r#type: "function",
        function: Function {
            name: &tool.name,
            description: &tool.description,
            parameters: Ordered(schema),
        },
    });
    encode(&list.collect::<Vec<_>>())
}

/// Returns the schema of a tool's arguments in a form that the server accepts.
fn parameters(tool: &ToolSpecification) -> Cow<'_, Value> {
    let mut schema = tools::parameters(tool);
    if has_boolean(&schema) {
        replace_booleans(schema.to_mut());
    }
    schema
}

/// Returns whether a member has the schema `true`, where the server requires an object.
fn has_boolean(schema: &Value) -> bool {
    properties(schema).is_some_and(|properties| {
        properties.values().any(|schema| schema.is_boolean() || has_boolean(schema))
    })
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn replace_booleans(schema: &mut Value) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for schema in properties.into_iter().flat_map(Map::values_mut) {
        match schema {
            Value::Bool(_) => *schema = json!({}),
            schema => replace_booleans(schema),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_that_allows_any_value_is_an_object() {
        let inner = json!({ "type": "object", "properties": { "b": true } });
        let schema = json!({ "type": "object", "properties": { "a": inner, "c": true } });
        let tool = ToolSpecification::new("t", "d").with_parameters(schema.try_into().unwrap());
        let written: Value = serde_json::from_slice(&list(&[tool])).unwrap();
        let properties = &written[0]["function"]["parameters"]["properties"];
        assert_eq!(properties["c"], json!({}));
        assert_eq!(properties["a"]["properties"]["b"], json!({}));
    }
}
