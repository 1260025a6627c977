//! The body of a request, put together from parts that are mostly encoded already.

use super::message::{self, Form};
use super::parameters::Frame;
use crate::ThinkingReplay;
use ai_services_core::Result;
use ai_services_core::message::ChatMessage;
use ai_services_core::model::{ChatRequest, ToolSpecification};
use ai_services_core::schema::{Schema, in_order};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The body, in one allocation of the right size.
///
/// # Errors
///
/// A message that the protocol cannot carry.
pub(super) fn body(
    request: &ChatRequest,
    frame: &Frame,
    replay: ThinkingReplay,
) -> Result<Vec<u8>> {
    let messages = match frame.own_messages {
        true => 0,
        false => messages_len(request, replay)?,
    };
    let tools = match frame.own_tools {
        true => None,
        false => request.tools().encoded("ollama", list),
    };
    // The names, brackets and the comma after every message.
    let size = frame.head.len() + messages + 32;
    let mut body = Vec::with_capacity(size + tools.as_ref().map_or(0, |tools| tools.len()));
    body.extend_from_slice(&frame.head);
    if !frame.own_messages {
        body.extend_from_slice(br#","messages":["#);
        for (index, (_, encoded)) in encoded(request, replay).enumerate() {
            if index > 0 {
                body.push(b',');
            }
            body.extend_from_slice(&encoded);
        }
        body.push(b']');
    }
    if let Some(tools) = &tools {
        body.extend_from_slice(br#","tools":"#);
        body.extend_from_slice(tools);
    }
    body.push(b'}');
    Ok(body)
}

/// How long the messages are with a comma behind each. Encodes those that are new.
fn messages_len(request: &ChatRequest, replay: ThinkingReplay) -> Result<usize> {
    encoded(request, replay).try_fold(0, |len, (message, encoded)| match encoded.len() {
        0 => Err(message::unsupported(message)),
        own => Ok(len + own + 1),
    })
}

fn encoded(
    request: &ChatRequest,
    replay: ThinkingReplay,
) -> impl Iterator<Item = (&ChatMessage, Cow<'_, [u8]>)> {
    let plain = replay.messages_without(request);
    request.messages().enumerate().map(move |(index, message)| {
        let form = if index < plain { Form::Plain } else { Form::Thinking.of(message) };
        (message, message.encoded(form.dialect(), || message::encode(message, form)))
    })
}

#[derive(Serialize)]
struct Tool<'a, S> {
    r#type: &'static str,
    function: Function<'a, S>,
}

#[derive(Serialize)]
struct Function<'a, S> {
    name: &'a str,
    description: &'a str,
    parameters: S,
}

fn list(tools: &[ToolSpecification]) -> Vec<u8> {
    let schemas: Vec<_> = tools.iter().map(|tool| parameters(tool.parameters.as_ref())).collect();
    let list: Vec<_> = tools
        .iter()
        .zip(&schemas)
        .map(|(tool, schema)| Tool {
            r#type: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: in_order(schema),
            },
        })
        .collect();
    // Texts and JSON values can always be written.
    serde_json::to_vec(&list).unwrap_or_else(|_| b"[]".to_vec())
}

/// The schema of a tool's arguments, in a form that the server can read.
fn parameters(schema: Option<&Schema>) -> Cow<'_, Schema> {
    let Some(schema) = schema else {
        let nothing = json!({ "type": "object", "properties": {} });
        return Cow::Owned(Schema::try_from(nothing).unwrap_or_default());
    };
    let mut value = Cow::Borrowed(schema.as_value());
    if has_bare(&value) {
        open_up(value.to_mut());
        if let Ok(schema) = Schema::try_from(value.into_owned()) {
            return Cow::Owned(schema);
        }
    }
    Cow::Borrowed(schema)
}

/// Whether an argument may be anything and says so with `true`, where the server demands an object.
fn has_bare(schema: &Value) -> bool {
    properties(schema).is_some_and(|properties| {
        properties.values().any(|schema| schema.is_boolean() || has_bare(schema))
    })
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn open_up(schema: &mut Value) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for schema in properties.into_iter().flat_map(Map::values_mut) {
        match schema {
            Value::Bool(_) => *schema = json!({}),
            schema => open_up(schema),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_of_any_form_is_an_object() {
        let inner = json!({ "type": "object", "properties": { "b": true } });
        let schema = json!({ "type": "object", "properties": { "a": inner, "c": true } });
        let tool = ToolSpecification::new("t", "d").with_parameters(schema.try_into().unwrap());
        let written: Value = serde_json::from_slice(&list(&[tool])).unwrap();
        let properties = &written[0]["function"]["parameters"]["properties"];
        assert_eq!(properties["c"], json!({}));
        assert_eq!(properties["a"]["properties"]["b"], json!({}));
    }
}
