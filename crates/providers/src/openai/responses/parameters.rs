//! The members of a request beside items and tools.

use super::options::{EncryptedReasoning, Options, ResponseStorage};
use crate::openai::options::SchemaMode;
use crate::openai::parameters::Named;
use crate::protocol::json_object::JsonObject;
use crate::protocol::parallel_tool_calls::ParallelToolCalls;
use crate::protocol::request_body::ListPrefix;
use crate::protocol::request_prefix::Delivery;
use ai_services_core::model::{ChatRequestParameters, ResponseFormat, ToolChoice};
use ai_services_core::{Error, ErrorKind, Result};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Encodes parameters. Members of `extra` replace the members with their names; the members of its
/// objects `text` and `reasoning` do so one by one.
pub(super) fn prefix(
    parameters: &ChatRequestParameters,
    default_model: &str,
    options: &Options,
    delivery: Delivery,
) -> ListPrefix {
    let extra = parameters.extra.as_deref();
    let model = parameters.model.as_deref().unwrap_or(default_model);
    let inner = |name| extra.and_then(|extra| extra.get(name)).and_then(Value::as_object);
    let text = object(inner("text"), |text| {
        let format = parameters.response_format.as_ref();
        text.add("format", format.map(|format| Format(format, options.answers)));
    });
    let reasoning = object(inner("reasoning"), |reasoning| {
        let effort = parameters.reasoning_effort.as_ref();
        reasoning.add("effort", effort.map(|effort| effort.as_str()));
        reasoning.add("summary", options.summary.map(|summary| summary.as_str()));
    });
    // Merged members are not written again.
    let rest = extra.map(|extra| {
        let is_merged = |name: &str| matches!(name, "text" | "reasoning");
        let members = extra.iter().filter(|(name, value)| !is_merged(name) || !value.is_object());
        members.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>()
    });
    let encrypted = options
        .encrypted_reasoning
        .unwrap_or_else(|| EncryptedReasoning::of(model, options.storage));
    let mut head = JsonObject::new(rest.as_ref(), b'{');
    head.add("model", Some(model));
    head.add("store", Some(options.storage == ResponseStorage::Stored));
    let asks = encrypted == EncryptedReasoning::Requested;
    head.add("include", asks.then_some(["reasoning.encrypted_content"]));
    head.add("temperature", parameters.temperature);
    head.add("top_p", parameters.top_p);
    head.add("max_output_tokens", parameters.max_output_tokens);
    head.add("reasoning", reasoning);
    head.add("text", text);
    options.cache.add_to(&mut head);
    head.add("stream", (delivery == Delivery::Stream).then_some(true));
    head.add_extra();
    let mut choice = JsonObject::new(extra, b',');
    choice.add("tool_choice", parameters.tool_choice.as_ref().map(tool_choice));
    let parallel =
        options.parallel_tool_calls.map(|parallel| parallel == ParallelToolCalls::Allowed);
    choice.add("parallel_tool_calls", parallel);
    ListPrefix::new(head, choice, "input", extra)
}

/// Fails for parameters that the API lacks.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`], naming the parameter.
pub(super) fn check(parameters: &ChatRequestParameters) -> Result<()> {
    let unsupported = [
        (parameters.top_k.is_some(), "top_k"),
        (parameters.frequency_penalty.is_some(), "frequency_penalty"),
        (parameters.presence_penalty.is_some(), "presence_penalty"),
        (!parameters.stop.is_empty(), "stop"),
        (parameters.seed.is_some(), "seed"),
    ];
    match unsupported.into_iter().find(|(is_set, _)| *is_set) {
        None => Ok(()),
        Some((_, name)) => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the responses API has no `{name}`; use chat completions, or `extra` for a server that has it"
            ),
        )),
    }
}

/// Returns an object of the added members and those of `extra`, which win. `None` if it would be empty.
fn object<'a>(
    extra: Option<&'a Map<String, Value>>,
    add: impl FnOnce(&mut JsonObject<'a>),
) -> Option<Box<RawValue>> {
    let mut members = JsonObject::new(extra, b'{');
    add(&mut members);
    members.add_extra();
    let mut object = String::from_utf8(members.into_bytes()).ok()?;
    if object.is_empty() {
        return None;
    }
    object.push('}');
    RawValue::from_string(object).ok()
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => json!({ "type": "function", "name": name }),
    }
}

/// The member `text.format`, with the members of its schema in their declared order.
struct Format<'a>(&'a ResponseFormat, SchemaMode);

impl Serialize for Format<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let kind = match self.0 {
            ResponseFormat::Text => "text",
            ResponseFormat::JsonObject => "json_object",
            ResponseFormat::JsonSchema { .. } => "json_schema",
        };
        let mut format = serializer.serialize_struct("Format", 4)?;
        format.serialize_field("type", kind)?;
        if let ResponseFormat::JsonSchema { name, schema } = self.0 {
            let closed = Named::closed(schema.as_value(), self.1);
            let named = Named::of(name, schema.as_value(), closed.as_ref());
            format.serialize_field("name", named.name)?;
            format.serialize_field("strict", &named.strict)?;
            format.serialize_field("schema", &named.schema)?;
        }
        format.end()
    }
}
