//! Provider-independent JSON of requests and answers.
//!
//! The JSON of a request contains only content that a model receives: messages without the application's
//! attributes, tools, parameters. Equal requests have equal JSON, byte for byte: members are sorted, and
//! unset values are left out.

use crate::error::{Error, ErrorKind, Result};
use crate::message::{AiMessage, ChatMessage, ToolResult, UserMessage};
use crate::model::{
    AnswerOrigin, Capability, ChatRequest, ChatRequestParameters, ChatResponse, FinishReason,
    ModelUsage, ResponseFormat, TokenUsage, ToolChoice, ToolLoading, ToolSpecification,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The names of capabilities in the header of a cassette.
#[doc(hidden)]
pub const CAPABILITY_NAMES: [(Capability, &str); 12] = [
    (Capability::Tools, "tools"),
    (Capability::JsonSchema, "json_schema"),
    (Capability::JsonSchemaWithTools, "json_schema_with_tools"),
    (Capability::JsonObject, "json_object"),
    (Capability::Streaming, "streaming"),
    (Capability::Images, "images"),
    (Capability::Audio, "audio"),
    (Capability::Videos, "videos"),
    (Capability::Pdfs, "pdfs"),
    (Capability::ToolChoice, "tool_choice"),
    (Capability::ForbidTools, "forbid_tools"),
    (Capability::DeferredTools, "deferred_tools"),
];

/// Appends the JSON of a request to `out`.
#[doc(hidden)]
pub fn write_request(request: &ChatRequest, out: &mut Vec<u8>) -> Result<()> {
    let wire = WireRequest {
        messages: request.messages().map(WireMessage::of).collect(),
        tools: request.tools().as_slice().iter().map(WireTool::of).collect(),
        parameters: WireParameters::of(request.parameters()),
    };
    serde_json::to_writer(out, &wire).map_err(|source| {
        Error::new(ErrorKind::Configuration, "the request cannot be written as JSON")
            .with_source(source)
    })
}

#[derive(Serialize)]
struct WireRequest<'a> {
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "WireParameters::is_empty")]
    parameters: WireParameters<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireMessage<'a> {
    Plain(Cow<'a, ChatMessage>),
    /// A custom message, which consists only of its attributes.
    Custom {
        r#type: &'static str,
        attributes: SortedMap<'a>,
    },
}

impl<'a> WireMessage<'a> {
    fn of(message: &'a ChatMessage) -> Self {
        let bare: ChatMessage = match message {
            ChatMessage::Custom(message) => {
                let attributes = SortedMap(message.attributes());
                return Self::Custom { r#type: "CUSTOM", attributes };
            }
            ChatMessage::User(message) if message.attributes().is_some() => {
                let bare = UserMessage::from_contents(message.contents().iter().cloned());
                let name = message.name();
                name.map_or(bare.clone(), |name| bare.with_name(name)).into()
            }
            ChatMessage::Ai(message) if message.attributes().is_some() => {
                answer_without_attributes(message).into()
            }
            ChatMessage::ToolResult(result) if result.attributes().is_some() => {
                let contents = result.contents().iter().cloned();
                let bare = ToolResult::from_contents(result.id(), result.tool_name(), contents);
                if result.is_error() { bare.into_error() } else { bare }.into()
            }
            message => return Self::Plain(Cow::Borrowed(message)),
        };
        Self::Plain(Cow::Owned(bare))
    }
}

fn answer_without_attributes(message: &AiMessage) -> AiMessage {
    let mut bare = AiMessage::builder().tool_calls(message.tool_calls().iter().cloned());
    if let Some(text) = message.text() {
        bare = bare.text(text);
    }
    if let Some(thinking) = message.thinking() {
        bare = bare.thinking(thinking);
    }
    if let Some(refusal) = message.refusal() {
        bare = bare.refusal(refusal);
    }
    if let Some(content) = message.provider_content() {
        bare = bare.provider_content(content.clone());
    }
    bare.build()
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Sorted<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deferred: bool,
}

impl<'a> WireTool<'a> {
    fn of(tool: &'a ToolSpecification) -> Self {
        let parameters = tool.parameters.as_ref().map(|schema| Sorted(schema.as_value()));
        let deferred = tool.loading == ToolLoading::Deferred;
        Self { name: &tool.name, description: &tool.description, parameters, deferred }
    }
}

#[derive(Default, PartialEq, Serialize)]
struct WireParameters<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [Box<str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<WireFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<SortedMap<'a>>,
}

#[derive(PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum WireToolChoice<'a> {
    Auto,
    None,
    Required,
    Tool(&'a str),
}

#[derive(PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum WireFormat<'a> {
    Text,
    JsonObject,
    JsonSchema { name: &'a str, schema: Sorted<'a> },
}

impl<'a> WireParameters<'a> {
    fn of(parameters: &'a ChatRequestParameters) -> Self {
        // All fields are listed, so that the compiler reports a new one here.
        let ChatRequestParameters {
            model,
            temperature,
            top_p,
            top_k,
            frequency_penalty,
            presence_penalty,
            max_output_tokens,
            stop,
            seed,
            tool_choice,
            response_format,
            reasoning_effort,
            extra,
        } = parameters;
        Self {
            model: model.as_deref(),
            temperature: *temperature,
            top_p: *top_p,
            top_k: *top_k,
            frequency_penalty: *frequency_penalty,
            presence_penalty: *presence_penalty,
            max_output_tokens: *max_output_tokens,
            stop,
            seed: *seed,
            tool_choice: tool_choice.as_ref().map(WireToolChoice::of),
            response_format: response_format.as_ref().map(WireFormat::of),
            reasoning_effort: reasoning_effort.as_ref().map(|effort| effort.as_str()),
            extra: extra.as_deref().filter(|extra| !extra.is_empty()).map(SortedMap),
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl<'a> WireToolChoice<'a> {
    fn of(choice: &'a ToolChoice) -> Self {
        match choice {
            ToolChoice::Auto => Self::Auto,
            ToolChoice::None => Self::None,
            ToolChoice::Required => Self::Required,
            ToolChoice::Tool(name) => Self::Tool(name),
        }
    }
}

impl<'a> WireFormat<'a> {
    fn of(format: &'a ResponseFormat) -> Self {
        match format {
            ResponseFormat::Text => Self::Text,
            ResponseFormat::JsonObject => Self::JsonObject,
            ResponseFormat::JsonSchema { name, schema } => {
                Self::JsonSchema { name, schema: Sorted(schema.as_value()) }
            }
        }
    }
}

/// JSON with the members of objects sorted by name: another crate may enable the feature of `serde_json` that
/// keeps their insertion order.
#[derive(PartialEq)]
struct Sorted<'a>(&'a Value);

#[derive(PartialEq)]
struct SortedMap<'a>(&'a Map<String, Value>);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => SortedMap(members).serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            plain => plain.serialize(serializer),
        }
    }
}

impl Serialize for SortedMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members: Vec<_> = self.0.iter().collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        serializer.collect_map(members.into_iter().map(|(name, value)| (name, Sorted(value))))
    }
}

/// An answer with a JSON format.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Answer(pub ChatResponse);

#[derive(Serialize, Deserialize)]
struct WireAnswer {
    message: ChatMessage,
    #[serde(default, skip_serializing_if = "WireUsage::is_empty")]
    usage: WireUsage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finish_reason: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    /// Usages of all attempts, if there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attempted: Vec<WireModelUsage>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cached: bool,
}

#[derive(Serialize, Deserialize)]
struct WireModelUsage {
    model: Box<str>,
    usage: WireUsage,
}

/// Token usage of an answer.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireUsage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cached_input: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_write_input: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

impl WireUsage {
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl From<TokenUsage> for WireUsage {
    fn from(usage: TokenUsage) -> Self {
        let total = usage.reported_total();
        let TokenUsage { input, output, cached_input, cache_write_input, reasoning, .. } = usage;
        Self { input, output, cached_input, cache_write_input, reasoning, total }
    }
}

impl From<WireUsage> for TokenUsage {
    fn from(wire: WireUsage) -> Self {
        let mut usage = Self::default()
            .with_cached_input(wire.cached_input)
            .with_cache_write_input(wire.cache_write_input)
            .with_reasoning(wire.reasoning)
            .with_total(wire.total);
        (usage.input, usage.output) = (wire.input, wire.output);
        usage
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(response) = self;
        let attempted = match &response.origin {
            AnswerOrigin::Attempts(usages) => usages.as_slice(),
            _ => &[],
        };
        let attempted = attempted
            .iter()
            .map(|one| WireModelUsage { model: one.model.clone(), usage: one.usage.into() });
        let wire = WireAnswer {
            message: response.message.clone().into(),
            usage: response.usage.into(),
            finish_reason: response.finish_reason.as_ref().map(|reason| reason.as_str().into()),
            model: response.model.clone(),
            id: response.id.clone(),
            attempts: response.attempts,
            attempted: attempted.collect(),
            cached: response.origin == AnswerOrigin::Cache,
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireAnswer::deserialize(deserializer)?;
        let ChatMessage::Ai(message) = wire.message else {
            return Err(D::Error::custom("an answer must be an AI message"));
        };
        let mut response = ChatResponse::new(message).with_usage(wire.usage.into());
        response.finish_reason = wire.finish_reason.map(finish_reason);
        (response.model, response.id) = (wire.model, wire.id);
        response.attempts = wire.attempts;
        let attempted = wire.attempted.into_iter();
        let attempted: Vec<_> =
            attempted.map(|one| ModelUsage::new(one.model, one.usage.into())).collect();
        response.origin = match (wire.cached, attempted.is_empty()) {
            (true, _) => AnswerOrigin::Cache,
            (false, false) => AnswerOrigin::Attempts(attempted),
            (false, true) => AnswerOrigin::Model,
        };
        Ok(Self(response))
    }
}

fn finish_reason(text: Box<str>) -> FinishReason {
    let known = [
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ToolExecution,
        FinishReason::ContentFilter,
    ];
    let found = known.into_iter().find(|reason| reason.as_str() == &*text);
    found.unwrap_or(FinishReason::Other(text))
}
