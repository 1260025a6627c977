//! The members of a request beside contents and tools.

use super::name::Generation;
use super::options::{Options, SchemaDialect, ThoughtSummaries};
use super::schema;
use crate::protocol::members::Members;
use ai_services_core::model::{ChatRequestParameters, ReasoningEffort, ResponseFormat, ToolChoice};
use serde::Serialize;
use serde_json::{Value, json};

/// The encoded parameters of a request, ready for its contents and tools.
pub(super) struct Frame {
    /// `{"generationConfig":…` and all that does not depend on tools, without a comma at the end; may be
    /// empty.
    pub(super) head: Vec<u8>,
    /// `,"toolConfig":…`, which is sent only with tools, or nothing.
    pub(super) tool_config: Vec<u8>,
    /// What `extra` brings itself.
    pub(super) own_contents: bool,
    pub(super) own_system: bool,
    pub(super) own_tools: bool,
}

impl Frame {
    /// Encodes parameters for a model of this generation. Members of `extra` replace what is written
    /// here.
    pub(super) fn new(
        parameters: &ChatRequestParameters,
        generation: Generation,
        options: &Options,
    ) -> Self {
        let extra = parameters.extra.as_deref();
        let config = generation_config(parameters, generation, options);
        let mut head = Members::new(extra, b'{');
        head.add("generationConfig", (config != json!({})).then_some(config));
        head.add("safetySettings", Some(&options.safety).filter(|all| !all.is_empty()));
        head.add("cachedContent", options.cached_content.as_deref());
        head.add_extra();
        let mut tool_config = Members::new(extra, b',');
        tool_config.add("toolConfig", parameters.tool_choice.as_ref().map(tool_choice));
        let is_own = |name| extra.is_some_and(|extra| extra.contains_key(name));
        Self {
            head: head.into_bytes(),
            tool_config: tool_config.into_bytes(),
            own_contents: is_own("contents"),
            own_system: is_own("systemInstruction"),
            own_tools: is_own("tools"),
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
            let (dialect, schema) = written(schema.as_value(), options.schemas);
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

/// A schema in the dialect that is wanted, or in the one that can say it.
pub(super) fn written(schema: &Value, dialect: SchemaDialect) -> (SchemaDialect, Value) {
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

/// How the model is to think: newer models know levels, older ones a number of tokens.
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

/// The tokens of a level, as Google itself translates the levels of OpenAI's protocol.
fn budget(effort: &ReasoningEffort) -> Option<i32> {
    match effort {
        ReasoningEffort::Minimal | ReasoningEffort::Low => Some(1024),
        ReasoningEffort::Medium => Some(8192),
        ReasoningEffort::High => Some(24_576),
        ReasoningEffort::Other(level) if level.eq_ignore_ascii_case("none") => Some(0),
        other => number(other),
    }
}

/// A level that is given as a number of tokens.
fn number(effort: &ReasoningEffort) -> Option<i32> {
    effort.as_str().parse().ok()
}
