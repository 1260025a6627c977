//! The members of a request beside messages and tools.

use super::options::{Options, Think};
use crate::protocol::json_object::JsonObject;
use crate::protocol::request_body::ListPrefix;
use crate::protocol::request_prefix::Delivery;
use ai_services_core::model::{ChatRequestParameters, ResponseFormat};
use ai_services_core::schema::in_order;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Encodes parameters. Members of `extra` replace the members with their names; the members of its object
/// `options` do so one by one.
pub(super) fn prefix(
    parameters: &ChatRequestParameters,
    default_model: &str,
    options: &Options,
    delivery: Delivery,
) -> ListPrefix {
    let mut extra = parameters.extra.as_deref().cloned().unwrap_or_default();
    let own = extra.remove("options").unwrap_or_default();
    let think = parameters.reasoning_effort.clone().map(Think::Effort);
    let think = think.as_ref().or(options.think.as_ref());
    let format = parameters.response_format.as_ref();
    let format = format.filter(|format| **format != ResponseFormat::Text);
    let sampling = sampling(parameters, &options.own, own);

    let mut head = JsonObject::new(Some(&extra), b'{');
    head.add("model", Some(parameters.model.as_deref().unwrap_or(default_model)));
    // The server streams by default.
    head.add("stream", Some(delivery == Delivery::Stream));
    head.add("format", format.map(Format));
    head.add("think", think.map(Think::to_json));
    head.add("keep_alive", options.keep_alive.map(|keep| keep.to_json()));
    head.add("options", Some(sampling).filter(|options| !options.is_empty()));
    head.add_extra();
    // The API has no tool choice.
    let tool_choice = JsonObject::new(None, b',');
    ListPrefix::new(head, tool_choice, "messages", Some(&extra))
}

/// Returns the member `options`. The members of `extra` win over the parameters, which win over the options
/// of the client.
fn sampling(
    parameters: &ChatRequestParameters,
    client: &Map<String, Value>,
    extra: Value,
) -> Map<String, Value> {
    let stop = Some(&parameters.stop).filter(|stop| !stop.is_empty());
    let named: [(&str, Option<Value>); 8] = [
        ("temperature", parameters.temperature.map(Into::into)),
        ("top_p", parameters.top_p.map(Into::into)),
        ("top_k", parameters.top_k.map(Into::into)),
        ("frequency_penalty", parameters.frequency_penalty.map(Into::into)),
        ("presence_penalty", parameters.presence_penalty.map(Into::into)),
        ("num_predict", parameters.max_output_tokens.map(Into::into)),
        ("seed", parameters.seed.map(Into::into)),
        ("stop", stop.map(|stop| stop.iter().map(|text| Value::from(&**text)).collect())),
    ];
    let mut options = client.clone();
    for (name, value) in named {
        if let Some(value) = value {
            options.insert(name.to_owned(), value);
        }
    }
    if let Value::Object(extra) = extra {
        options.extend(extra);
    }
    options
}

/// The member `format`, with the members of its schema in their declared order.
struct Format<'a>(&'a ResponseFormat);

impl Serialize for Format<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ResponseFormat::JsonSchema { schema, .. } => in_order(schema).serialize(serializer),
            ResponseFormat::JsonObject => serializer.serialize_str("json"),
            ResponseFormat::Text => serializer.serialize_str(""),
        }
    }
}
