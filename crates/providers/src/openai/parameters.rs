//! The members of a request beside messages and tools.

use super::options::{Options, SchemaMode, StreamUsage};
use super::strict;
use crate::protocol::json_object::JsonObject;
use crate::protocol::request_body::ListPrefix;
use crate::protocol::request_prefix::Delivery;
use ai_services_core::model::{ChatRequestParameters, ResponseFormat, ToolChoice};
use ai_services_core::schema::Ordered;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::{Value, json};

/// Encodes parameters. Members of `extra` replace the members with their names.
pub(super) fn prefix(
    parameters: &ChatRequestParameters,
    default_model: &str,
    options: &Options,
    delivery: Delivery,
) -> ListPrefix {
    let extra = parameters.extra.as_deref();
    let mut head = JsonObject::new(extra, b'{');
    head.add("model", Some(parameters.model.as_deref().unwrap_or(default_model)));
    head.add("temperature", parameters.temperature);
    head.add("top_p", parameters.top_p);
    head.add("top_k", parameters.top_k);
    head.add("frequency_penalty", parameters.frequency_penalty);
    head.add("presence_penalty", parameters.presence_penalty);
    head.add(options.max_tokens.name(), parameters.max_output_tokens);
    head.add("stop", Some(&parameters.stop).filter(|stop| !stop.is_empty()));
    head.add("seed", parameters.seed);
    head.add("reasoning_effort", parameters.reasoning_effort.as_ref().map(|e| e.as_str()));
    options.cache.add_to(&mut head);
    let format = parameters.response_format.as_ref();
    head.add("response_format", format.map(|format| Format(format, options.answers)));
    if delivery == Delivery::Stream {
        head.add("stream", Some(true));
        let asks_for_usage = options.stream_usage == StreamUsage::Requested;
        head.add("stream_options", asks_for_usage.then(|| json!({ "include_usage": true })));
    }
    head.add_extra();
    let mut choice = JsonObject::new(extra, b',');
    choice.add("tool_choice", parameters.tool_choice.as_ref().map(tool_choice));
    ListPrefix::new(head, choice, "messages", extra)
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

/// The member `response_format`, with the members of its schema in their declared order.
struct Format<'a>(&'a ResponseFormat, SchemaMode);

impl Serialize for Format<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, schema) = match self.0 {
            ResponseFormat::Text => return json!({ "type": "text" }).serialize(serializer),
            ResponseFormat::JsonObject => {
                return json!({ "type": "json_object" }).serialize(serializer);
            }
            ResponseFormat::JsonSchema { name, schema } => (&**name, schema.as_value()),
        };
        let closed = Named::closed(schema, self.1);
        let json_schema = Named::of(name, schema, closed.as_ref());
        let mut format = serializer.serialize_struct("Format", 2)?;
        format.serialize_field("type", "json_schema")?;
        format.serialize_field("json_schema", &json_schema)?;
        format.end()
    }
}

/// A schema with its name and its mode.
#[derive(Serialize)]
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) strict: bool,
    pub(super) schema: Ordered<'a>,
}

impl<'a> Named<'a> {
    /// Returns the schema for strict mode, if that mode is set and can express the schema.
    pub(super) fn closed(schema: &Value, mode: SchemaMode) -> Option<Value> {
        if mode == SchemaMode::Strict { strict::closed(schema) } else { None }
    }

    /// Names a schema. A schema that cannot be strict is sent unchanged and marked as not strict.
    pub(super) fn of(name: &'a str, schema: &'a Value, closed: Option<&'a Value>) -> Self {
        Self { name, strict: closed.is_some(), schema: Ordered(closed.unwrap_or(schema)) }
    }
}
