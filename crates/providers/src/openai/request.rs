//! The body of a request, put together from parts that are mostly encoded already.

use super::message::{self, Form};
use super::options::{Options, ProviderExtensions, SchemaMode};
use super::parameters::Frame;
use super::round::Round;
use super::strict;
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
    let messages = match frame.own_messages {
        true => 0,
        false => messages_len(request, options)?,
    };
    let tools = if frame.own_tools { None } else { tools(request, options) };
    let tool_choice = match frame.own_tools || tools.is_some() {
        true => frame.tool_choice.as_slice(),
        false => &[],
    };
    // The names, brackets and the comma after every message.
    let size = frame.head.len() + messages + tool_choice.len() + 32;
    let mut body = Vec::with_capacity(size + tools.as_ref().map_or(0, |tools| tools.len()));
    body.extend_from_slice(&frame.head);
    if !frame.own_messages {
        body.extend_from_slice(br#","messages":["#);
        write_messages(request, options, &mut body);
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

/// How long the messages are with a comma behind each. Encodes those that are new.
fn messages_len(request: &ChatRequest, options: &Options) -> Result<usize> {
    encoded(request, options).try_fold(0, |len, (message, encoded)| match encoded.len() {
        0 => Err(message::unsupported(message)),
        own => Ok(len + own + 1 + Round::extra_len(message, &encoded)),
    })
}

/// The messages with commas in between, and the media of tool results behind those of a round.
fn write_messages(request: &ChatRequest, options: &Options, body: &mut Vec<u8>) {
    let mut round = Round::default();
    for (index, (message, encoded)) in encoded(request, options).enumerate() {
        round.end_before(message, body);
        if index > 0 {
            body.push(b',');
        }
        round.write(message, encoded, body);
    }
    round.end(body);
}

fn encoded<'a>(
    request: &'a ChatRequest,
    options: &Options,
) -> impl Iterator<Item = (&'a ChatMessage, Cow<'a, [u8]>)> + use<'a> {
    let plain = options.thinking.messages_without(request);
    let provider_extensions = options.provider_extensions == ProviderExtensions::Send;
    request.messages().enumerate().map(move |(index, message)| {
        let form = Form { thinking: index >= plain, provider_extensions }.of(message);
        (message, message.encoded(form.dialect(), || message::encode(message, form)))
    })
}

fn tools<'a>(request: &'a ChatRequest, options: &Options) -> Option<Cow<'a, [u8]>> {
    match options.tools {
        SchemaMode::Loose => request.tools().encoded("openai-chat", |tools| list(tools, false)),
        SchemaMode::Strict => {
            request.tools().encoded("openai-chat-strict", |tools| list(tools, true))
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
            let function = Function { name, description, parameters, strict };
            Tool { r#type: "function", function }
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
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(serialize_with = "in_order")]
    parameters: Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}
