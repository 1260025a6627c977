//! The members of a request beside contents and tools.

use super::name::Generation;
use super::options::{Options, SchemaDialect, ThoughtSummaries};
use super::schema;
use crate::protocol::json_object::JsonObject;
use ai_services_core::model::{ChatRequestParameters, ReasoningEffort, ResponseFormat, ToolChoice};
use serde::Serialize;
use serde_json::{Value, json};

/// The encoded parameters of a request.
pub(super) struct ContentsPrefix {
    /// The generation of the model that the request is for.
    pub(super) generation: Generation,
    /// `{"generationConfig":…` and all other members that do not depend on tools, without a trailing
    /// comma. May be empty.
    pub(super) head: Vec<u8>,
    /// `,"toolConfig":…` or nothing. Sent only with tools.
    pub(super) tool_config: Vec<u8>,
    /// `true` if `extra` has its own messages.
    pub(super) has_contents: bool,
    /// `true` if `extra` has its own system prompt.
    pub(super) has_system: bool,
    /// `true` if `extra` has its own tools.
    pub(super) has_tools: bool,
}

impl ContentsPrefix {
    /// Encodes parameters. Members of `extra` replace the members with their names.
    pub(super) fn new(
        parameters: &ChatRequestParameters,
        default_model: &str,
        options: &Options,
    ) -> Self {
        let generation = Generation::of(parameters.model.as_deref().unwrap_or(default_model));
        let extra = parameters.extra.as_deref();
        let config = generation_config(parameters, generation, options);
        let mut head = JsonObject::new(extra, b'{');
        head.add("generationConfig", (config != json!({})).then_some(config));
        head.add("safetySettings", Some(&options.safety).filter(|all| !all.is_empty()));
        head.add("cachedContent", options.cached_content.as_deref());
        head.add_extra();
        let mut tool_config = JsonObject::new(extra, b',');
        tool_config.add("toolConfig", parameters.tool_choice.as_ref().map(tool_choice));
        let has = |name| extra.is_some_and(|extra| extra.contains_key(name));
        Self {
            generation,
            head: head.into_bytes(),
            tool_config: tool_config.into_bytes(),
            has_contents: has("contents"),
            has_system: has("systemInstruction"),
            has_tools: has("tools"),
        }
    }
}

fn tool_choice(choice: &ToolChoice) -> Value {
    let config = match choice {
        ToolChoice::Auto => json!({ "mode": "AUTO" }),
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    };
    json!({ "functionCallingConfig": config })
}

fn generation_config(
    parameters: &ChatRequestParameters,
    generation: Generation,
    options: &Options,
) -> Value {
    let mut config = serde_json::Map::new();
    let mut add = |name: &str, value: Value| {
        if !value.is_null() {
            config.insert(name.to_owned(), value);
        }
    };
    add("temperature", json!(parameters.temperature));
    add("topP", json!(parameters.top_p));
    add("topK", json!(parameters.top_k));
    add("maxOutputTokens", json!(parameters.max_output_tokens));
    add("presencePenalty", json!(parameters.presence_penalty));
    add("frequencyPenalty", json!(parameters.frequency_penalty));
    add("seed", json!(parameters.seed));
    if !parameters.stop.is_empty() {
        add("stopSequences", json!(parameters.stop));
    }
    match &parameters.response_format {
        None | Some(ResponseFormat::Text) => {}
        Some(ResponseFormat::JsonObject) => add("responseMimeType", "application/json".into()),
        Some(ResponseFormat::JsonSchema { schema, .. }) => {
            add("responseMimeType", "application/json".into());
            let (dialect, schema) = in_dialect(schema.as_value(), options.schemas);
            let name = match dialect {
                SchemaDialect::OpenApi => "responseSchema",
                SchemaDialect::JsonSchema => "responseJsonSchema",
            };
            add(name, schema);
        }
    }
    let effort = parameters.reasoning_effort.as_ref();
    add("thinkingConfig", thinking(effort, generation, options));
    Value::Object(config)
}

/// Converts a schema to a dialect, or to JSON Schema if the dialect cannot express the schema.
pub(super) fn in_dialect(schema: &Value, dialect: SchemaDialect) -> (SchemaDialect, Value) {
    let converted = match dialect {
        SchemaDialect::OpenApi => schema::open_api(schema),
        SchemaDialect::JsonSchema => None,
    };
    match converted {
        Some(converted) => (SchemaDialect::OpenApi, converted),
        None => (SchemaDialect::JsonSchema, schema::json_schema(schema)),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    include_thoughts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'a str>,
}

/// Returns the thinking configuration. Newer models have levels, older ones a number of tokens.
fn thinking(effort: Option<&ReasoningEffort>, generation: Generation, options: &Options) -> Value {
    let level = effort.map(|effort| effort.as_str().to_ascii_uppercase());
    let (budget, level) = match (options.thinking_budget, generation) {
        (Some(budget), _) => (Some(budget), None),
        (None, Generation::Second) => (effort.and_then(budget), None),
        (None, Generation::Third) => match effort.and_then(number) {
            Some(budget) => (Some(budget), None),
            None => (None, level),
        },
    };
    let thinking = Thinking {
        include_thoughts: (options.thoughts == ThoughtSummaries::Requested).then_some(true),
        thinking_budget: budget,
        thinking_level: level.as_deref(),
    };
    let value = json!(thinking);
    if value == json!({}) { Value::Null } else { value }
}

/// Returns the tokens of a level, as Google's OpenAI-compatible endpoint translates levels.
fn budget(effort: &ReasoningEffort) -> Option<i32> {
    match effort {
        ReasoningEffort::Minimal | ReasoningEffort::Low => Some(1024),
        ReasoningEffort::Medium => Some(8192),
        ReasoningEffort::High => Some(24_576),
        ReasoningEffort::Other(level) if level.eq_ignore_ascii_case("none") => Some(0),
        ReasoningEffort::Other(_) => number(effort),
    }
}

/// Parses a level that is a number of tokens.
fn number(effort: &ReasoningEffort) -> Option<i32> {
    effort.as_str().parse().ok()
}
