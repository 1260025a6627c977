//! The members of a request beside messages and tools.

use super::ParallelToolCalls;
use super::block::Block;
use super::options::{Options, Thinking};
use super::schema;
use crate::protocol::json_object::JsonObject;
use crate::protocol::request_prefix::Delivery;
use ai_services_core::model::{ChatRequestParameters, ReasoningEffort, ResponseFormat, ToolChoice};
use ai_services_core::schema::{Ordered, Schema, in_order};
use ai_services_core::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::{Value, json};

/// The encoded parameters of a request.
pub(super) struct MessagesPrefix {
    /// `{"model":"…"` and all other members that do not depend on tools, without a trailing comma.
    pub(super) head: Vec<u8>,
    /// A block of the system prompt with the schema of the answer, if the API cannot enforce the schema.
    pub(super) instruction: Vec<u8>,
    /// `,"tool_choice":…` or nothing. Sent only with tools.
    pub(super) tool_choice: Vec<u8>,
    /// `true` if `extra` has its own system prompt.
    pub(super) has_system: bool,
    /// `true` if `extra` has its own messages.
    pub(super) has_messages: bool,
    /// `true` if `extra` has its own tools.
    pub(super) has_tools: bool,
}

impl MessagesPrefix {
    /// Encodes parameters. Members of `extra` replace the members with their names.
    pub(super) fn new(
        parameters: &ChatRequestParameters,
        default_model: &str,
        options: &Options,
        delivery: Delivery,
    ) -> Self {
        let extra = parameters.extra.as_deref();
        let has = |name| extra.is_some_and(|extra| extra.contains_key(name));
        let requested = match &parameters.response_format {
            Some(ResponseFormat::JsonSchema { schema, .. }) => Some(&**schema),
            _ => None,
        };
        let enforced = requested.and_then(schema::enforced);
        let described = requested.filter(|_| enforced.is_none() && !has("output_config"));
        let mut head = JsonObject::new(extra, b'{');
        head.add("model", Some(parameters.model.as_deref().unwrap_or(default_model)));
        head.add("max_tokens", Some(parameters.max_output_tokens.unwrap_or(options.max_tokens)));
        head.add("temperature", parameters.temperature);
        head.add("top_p", parameters.top_p);
        head.add("top_k", parameters.top_k);
        head.add("stop_sequences", Some(&parameters.stop).filter(|stop| !stop.is_empty()));
        head.add("thinking", options.thinking.map(thinking));
        let effort = parameters.reasoning_effort.as_ref().map(effort);
        head.add("output_config", OutputConfig::of(effort, enforced.as_ref()));
        head.add("stream", (delivery == Delivery::Stream).then_some(true));
        head.add_extra();
        let mut choice = JsonObject::new(extra, b',');
        choice.add("tool_choice", tool_choice(parameters.tool_choice.as_ref(), options.parallel));
        Self {
            head: head.into_bytes(),
            instruction: described.map(instruction).unwrap_or_default(),
            tool_choice: choice.into_bytes(),
            has_system: has("system"),
            has_messages: has("messages"),
            has_tools: has("tools"),
        }
    }
}

/// Fails for parameters that neither the API nor `extra` has.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`], naming the first such parameter.
pub(super) fn check(own: &ChatRequestParameters, defaults: &ChatRequestParameters) -> Result<()> {
    let has_extra = |name: &str| {
        let both = [own, defaults].map(|own| own.extra.as_deref());
        both.into_iter().flatten().any(|extra| extra.contains_key(name))
    };
    // A penalty of 0 has no effect.
    let is_set = |penalty: Option<f64>| penalty.is_some_and(|penalty| penalty != 0.0);
    let parameters = [
        ("frequency_penalty", is_set(own.frequency_penalty.or(defaults.frequency_penalty))),
        ("presence_penalty", is_set(own.presence_penalty.or(defaults.presence_penalty))),
        ("seed", own.seed.or(defaults.seed).is_some()),
    ];
    match parameters.into_iter().find(|(name, is_set)| *is_set && !has_extra(name)) {
        None => Ok(()),
        Some((name, _)) => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "Anthropic's API has no `{name}`: leave it out, or add it with `extra` for a server that supports it"
            ),
        )),
    }
}

fn thinking(thinking: Thinking) -> Value {
    match thinking {
        Thinking::Adaptive => json!({ "type": "adaptive" }),
        Thinking::Budget(tokens) => json!({ "type": "enabled", "budget_tokens": tokens }),
        Thinking::Disabled => json!({ "type": "disabled" }),
    }
}

/// Returns the API's name of a level. The lowest is `low`.
fn effort(effort: &ReasoningEffort) -> &str {
    match effort {
        ReasoningEffort::Minimal => "low",
        other => other.as_str(),
    }
}

fn tool_choice(choice: Option<&ToolChoice>, parallel: ParallelToolCalls) -> Option<Value> {
    let is_disabled = parallel == ParallelToolCalls::Disabled;
    let mut choice = match choice {
        None if is_disabled => json!({ "type": "auto" }),
        None => return None,
        Some(ToolChoice::None) => return Some(json!({ "type": "none" })),
        Some(ToolChoice::Auto) => json!({ "type": "auto" }),
        Some(ToolChoice::Required) => json!({ "type": "any" }),
        Some(ToolChoice::Tool(name)) => json!({ "type": "tool", "name": name }),
    };
    if let (true, Value::Object(choice)) = (is_disabled, &mut choice) {
        choice.insert("disable_parallel_tool_use".to_owned(), true.into());
    }
    Some(choice)
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    schema: Ordered<'a>,
}

impl<'a> OutputConfig<'a> {
    fn of(effort: Option<&'a str>, schema: Option<&'a Value>) -> Option<Self> {
        let format = schema.map(|schema| Format { r#type: "json_schema", schema: Ordered(schema) });
        (effort.is_some() || format.is_some()).then_some(Self { effort, format })
    }
}

/// Returns a block that describes a schema.
fn instruction(schema: &Schema) -> Vec<u8> {
    // A schema is JSON, which always serializes.
    let schema = serde_json::to_string(&in_order(schema)).unwrap_or_default();
    let text = format!(
        "Your final answer must be JSON that follows this JSON Schema, with nothing before or after it:\n{schema}"
    );
    serde_json::to_vec(&Block::Text { text: &text }).unwrap_or_default()
}
