//! The body of a request, put together from parts that are mostly encoded already.

use super::super::strict;
use super::item::{self, Form};
use super::options::{Options, ResponseStorage};
use super::parameters::Frame;
use crate::openai::options::SchemaMode;
use ai_services_core::Result;
use ai_services_core::message::ChatMessage;
use ai_services_core::model::{ChatRequest, ToolSpecification};
use ai_services_core::schema::Ordered;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The body, in one allocation of the right size.
///
/// # Errors
///
/// A message that the protocol cannot carry.
pub(super) fn body(request: &ChatRequest, frame: &Frame, options: &Options) -> Result<Vec<u8>> {
    let items = if frame.own_input { 0 } else { items_len(request, options)? };
    let tools = if frame.own_tools { None } else { tools(request, options) };
    let tool_choice = match frame.own_tools || tools.is_some() {
        true => frame.tool_choice.as_slice(),
        false => &[],
    };
    // The names, brackets and the comma after every item.
    let size = frame.head.len() + items + tool_choice.len() + 32;
    let mut body = Vec::with_capacity(size + tools.as_ref().map_or(0, |tools| tools.len()));
    body.extend_from_slice(&frame.head);
    if !frame.own_input {
        body.extend_from_slice(br#","input":["#);
        for (index, (_, encoded)) in encoded(request, options).enumerate() {
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
    body.extend_from_slice(tool_choice);
    body.push(b'}');
    Ok(body)
}

/// How long the items are with a comma behind each message. Encodes those that are new.
fn items_len(request: &ChatRequest, options: &Options) -> Result<usize> {
    encoded(request, options).try_fold(0, |len, (message, encoded)| match encoded.len() {
        0 => Err(item::unsupported(message)),
        own => Ok(len + own + 1),
    })
}

/// The messages, each as one or several items with commas in between.
fn encoded<'a>(
    request: &'a ChatRequest,
    options: &Options,
) -> impl Iterator<Item = (&'a ChatMessage, Cow<'a, [u8]>)> {
    let wanted = match options.storage {
        ResponseStorage::NotStored => Form::Complete,
        ResponseStorage::Stored => Form::Stored,
    };
    request.messages().map(move |message| {
        let form = wanted.of(message);
        (message, message.encoded(form.dialect(), || item::encode(message, form)))
    })
}

fn tools<'a>(request: &'a ChatRequest, options: &Options) -> Option<Cow<'a, [u8]>> {
    match options.tools {
        SchemaMode::Loose => {
            request.tools().encoded("openai-responses", |tools| list(tools, false))
        }
        SchemaMode::Strict => {
            request.tools().encoded("openai-responses-strict", |tools| list(tools, true))
        }
    }
}

fn list(tools: &[ToolSpecification], strict: bool) -> Vec<u8> {
    let list: Vec<_> = tools
        .iter()
        .map(|tool| {
            let parameters = match &tool.parameters {
                Some(schema) => schema.as_value().clone(),
                None => json!({ "type": "object", "properties": {} }),
            };
            // A schema that cannot be strict is sent as it is, and the provider is told so.
            let closed = if strict { strict::closed(&parameters) } else { None };
            let strict = closed.is_some();
            let parameters = closed.unwrap_or(parameters);
            let (name, description) = (&*tool.name, &*tool.description);
            Tool { r#type: "function", name, description, parameters, strict }
        })
        .collect();
    // Texts and JSON values can always be written.
    serde_json::to_vec(&list).unwrap_or_else(|_| b"[]".to_vec())
}

fn in_order<S: Serializer>(schema: &Value, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    Ordered(schema).serialize(serializer)
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    #[serde(serialize_with = "in_order")]
    parameters: Value,
    /// Always written: without it the API makes schemas strict by itself.
    strict: bool,
}
